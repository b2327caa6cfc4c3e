"""Measure how long a prompt waits for the hook: cold processes, as multiples of `python3 -S -c pass`, cases interleaved in one run.

    python3 benchmarks/cold_start.py [--sizes 1000,10000] [--rounds 31] [--json]

Cases: a skipped prompt, a recalled prompt for each store size, and on the largest store a prompt of 2.5 kB, a session start and a sub-agent
start with the session catalog. The stores hold made-up memories of about 70 words with Zipf word frequencies. A ratio is the median of a
case over the median of the empty interpreter; `rss` is the peak resident memory of a case's processes, `index` the index size per memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOOK = os.path.join(ROOT, "hooks", "user_prompt_submit.py")
STARTS = {
    "session start": os.path.join(ROOT, "hooks", "session_start.py"),
    "sub-agent": os.path.join(ROOT, "hooks", "subagent_start.py"),
}
COMMAND = os.path.join(ROOT, "scripts", "memory.py")
CATEGORIES = {
    "decision": "decisions",
    "constraint": "constraints",
    "preference": "preferences",
    "runbook": "runbooks",
}
PRIMARY = {"decision": "decision", "constraint": "rule", "preference": "value", "runbook": "steps"}
LONG_PROMPT = 2500
_MAX_WAIT = 1200  # seconds for the index of a new store


# A process is born with the memory of the one that starts it in its record (getrusage(2)), so that it has to be a small one.
_WEIGH = """
import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
status, usage = os.wait4(process, 0)[1:]
sys.stderr.write("%d\\n" % usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Case(NamedTuple):
    """A command to time, with its standard input (`@` stands for a number that differs in every run) and its environment."""

    name: str
    command: list[str]
    event: str
    environment: dict[str, str]


def words(count: int, seed: random.Random) -> list[str]:
    """Return made-up words of two to four syllables, all different."""
    syllables = [c + v + e for c in "bcdfghklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "s", "l")]
    found: set[str] = set()
    while len(found) < count:
        found.add("".join(seed.choice(syllables) for _ in range(seed.randint(2, 4))))
    return sorted(found)


def make_store(root: str, size: int, seed: random.Random) -> list[str]:
    """Write a store of `size` memories and return two prompts about one of them: one of usual length and one of 2.5 kB."""
    vocabulary = words(30_000, seed)
    seed.shuffle(vocabulary)
    weights = [1.0 / rank for rank in range(1, len(vocabulary) + 1)]
    cumulative = [sum(weights[:1])]
    for weight in weights[1:]:
        cumulative.append(cumulative[-1] + weight)

    def text(count: int) -> list[str]:
        return seed.choices(vocabulary, cum_weights=cumulative, k=count)

    for folder in CATEGORIES.values():
        os.makedirs(os.path.join(root, ".claude", "memory", folder))
    titles = []
    for number in range(size):
        category = seed.choice(list(CATEGORIES))
        title, body = text(8), text(seed.randint(40, 80))
        titles.append(" ".join([*title, *body[:4]]))
        memory = {
            "schema_version": "1.0", "category": category, "id": "m%d" % number, "title": " ".join(title), "tags": text(3),
            "related_files": [], "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z", "record_status": "active",
            "content": {PRIMARY[category]: " ".join(body)},
        }  # fmt: skip
        with open(
            os.path.join(root, ".claude", "memory", CATEGORIES[category], "m%d.json" % number),
            "w",
            encoding="utf-8",
        ) as handle:
            json.dump(memory, handle)
    usual = "why does %s fail" % seed.choice(titles)
    return [usual, (usual + " " + " ".join(text(500)))[:LONG_PROMPT]]


def timed(case: Case, number: int) -> float:
    """Return the milliseconds of one cold process. Raises CalledProcessError if it fails."""
    start = time.perf_counter()
    event = case.event.replace("@", str(number)).encode()
    subprocess.run(case.command, env=case.environment, input=event, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1000


def resident(case: Case, number: int) -> float:
    """Return the peak resident memory of one cold process, in MB. Raises CalledProcessError if it fails."""
    command = [sys.executable, "-S", "-c", _WEIGH, *case.command]
    event = case.event.replace("@", str(number)).encode()
    done = subprocess.run(command, env=case.environment, input=event, capture_output=True, check=True)
    return int(done.stderr.split()[-1]) / 1024


def prepare(
    folder: str, size: int, seed: random.Random
) -> tuple[dict[str, str], str, list[str], dict[str, Any]]:
    """Return a home and a project with `size` accepted and indexed memories."""
    home, root = os.path.join(folder, "home%d" % size), os.path.join(folder, "project%d" % size)
    os.makedirs(os.path.join(home, ".claude"))
    os.makedirs(os.path.join(root, ".git"))
    prompts = make_store(root, size, seed)
    environment = {
        "HOME": home,
        "CLAUDE_CONFIG_DIR": os.path.join(home, ".claude"),
        "CLAUDE_PROJECT_DIR": root,
        "PATH": os.environ["PATH"],
    }
    start = time.perf_counter()
    command = [sys.executable, COMMAND, "accept", "--all", "--root", root]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    # An accept leaves the index of a large store to the background, which holds the lock of the index meanwhile.
    command = [sys.executable, COMMAND, "refresh", "--root", root]
    while subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False).returncode:
        if time.perf_counter() - start > _MAX_WAIT:
            raise TimeoutError("the index was not refreshed in %d s" % _MAX_WAIT)
    seconds = time.perf_counter() - start
    folder = os.path.join(home, ".claude", "lcars", "memory", "index")
    size_of_index = sum(
        entry.stat().st_size for entry in os.scandir(folder) if entry.name.endswith(".sqlite3")
    )
    return (
        environment,
        root,
        prompts,
        {
            "memories": size,
            "accept_and_index_s": round(seconds, 2),
            "index_bytes_per_memory": round(size_of_index / size),
        },
    )


def cases_for(folder: str, sizes: list[int]) -> tuple[list[Case], list[dict[str, Any]]]:
    """Return all cases and the figures of each store."""
    hook = [sys.executable, "-I", "-S", HOOK]
    seed = random.Random(7)
    cases, stores = (
        [Case("python -S -c pass", [sys.executable, "-S", "-c", "pass"], "", dict(os.environ))],
        [],
    )

    def event(prompt: str) -> str:
        return json.dumps({"session_id": "bench-@", "prompt_id": "@", "prompt": prompt})

    for size in sizes:
        print("preparing %d memories ..." % size, file=sys.stderr)
        environment, _, prompts, facts = prepare(folder, size, seed)
        stores.append(facts)
        if len(cases) == 1:
            cases.append(Case("skipped prompt", hook, event("yes, go on"), environment))
        cases.append(Case("recall, %d memories" % size, hook, event(prompts[0]), environment))
    cases.append(Case("2.5 kB prompt, %d memories" % sizes[-1], hook, event(prompts[1]), environment))
    start = json.dumps({"session_id": "bench-@", "source": "startup", "agent_id": "a", "agent_type": "x"})
    for name, script in STARTS.items():
        command = [sys.executable, "-I", "-S", script]
        cases.append(Case("%s, %d memories" % (name, sizes[-1]), command, start, environment))
    return cases, stores


def measure(cases: list[Case], rounds: int) -> list[dict[str, Any]]:
    """Return one row per case: median milliseconds, ratio to the first case, peak resident memory in MB."""
    times: dict[str, list[float]] = {case.name: [] for case in cases}
    memory = {case.name: resident(case, -3) for case in cases}
    for number in range(-2, rounds):  # two rounds to warm the disk cache and write the bytecode
        for case in cases:
            took = timed(case, number)
            if number >= 0:
                times[case.name].append(took)
    base = statistics.median(times[cases[0].name])
    return [
        {
            "case": name,
            "ms": round(statistics.median(found), 2),
            "ratio": round(statistics.median(found) / base, 2),
            "rss_mb": round(memory[name], 1),
        }
        for name, found in times.items()
    ]


def outcomes(cases: list[Case]) -> dict[str, int]:
    """Return the outcomes of the timed prompts from the ledgers, so that nobody mistakes a failure for speed."""
    found: dict[str, int] = {}
    for home in {case.environment.get("CLAUDE_CONFIG_DIR", "") for case in cases[1:]}:
        with open(os.path.join(home, "lcars", "memory", "recalls.jsonl"), encoding="utf-8") as handle:
            for line in handle:
                row = json.loads(line)
                name = "%s %s" % (row["outcome"], row["reason"])
                found[name.strip()] = found.get(name.strip(), 0) + 1
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--sizes", default="1000,10000", help="store sizes, comma-separated (default: 1000,10000)"
    )
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="memory-bench-", ignore_cleanup_errors=True) as folder:
        cases, stores = cases_for(folder, [int(size) for size in arguments.sizes.split(",")])
        rows = measure(cases, arguments.rounds)
        ended = outcomes(cases)
    if arguments.json:
        print(
            json.dumps(
                {"python": sys.version.split()[0], "cases": rows, "stores": stores, "outcomes": ended},
                indent=2,
            )
        )
        return 0
    print("Python %s, %d rounds" % (sys.version.split()[0], arguments.rounds))
    for row in rows:
        print("%-32s %8.2f ms  x%-6.2f %6.1f MB" % (row["case"], row["ms"], row["ratio"], row["rss_mb"]))
    for facts in stores:
        print(
            "%(memories)d memories: accepted and indexed in %(accept_and_index_s).1f s, %(index_bytes_per_memory)d bytes of index each"
            % facts
        )
    print("outcomes: %s" % ", ".join("%s %d" % pair for pair in sorted(ended.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
