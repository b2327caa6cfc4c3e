"""Measure the time, peak memory and output size of `memory report` over made-up ledgers.

    python3 benchmarks/report_ledgers.py --lines 36000     24 MB, a little more than the default limits keep

Each output form runs in its own process. Prints JSON; the exit code is 1 above 3 s of CPU time for 20 MB, or 1 MB of HTML.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPT = os.path.join(ROOT, "scripts", "memory.py")
MOST_PAGE, MOST_SECONDS = 1 << 20, 3.0  # seconds for 20 MB
DAY = 86400
# Shares of the lines by ledger, as a year of use leaves them.
SHARES = {
    "recalls": 0.55,
    "scores": 0.3,
    "judge-calls": 0.08,
    "feedback": 0.04,
    "drift": 0.02,
    "sessions": 0.01,
}
KEYS = [
    "project:decision/%s-%d" % (word, n)
    for n in range(60)
    for word in ("deploy", "billing", "schema", "retry", "staging")
]
REASONS = ["no_match"] * 5 + ["below_threshold"] * 4 + ["already_injected"]
SKIPS = ["confirmation"] * 3 + ["command", "short", "not_typed"]
RULES = ["praise-opening", "offer", "exclamation", "affirmation-first", "summary-lead", "of-course-first"]
SIGNALS = ["retries", "errors", "tests", "commits", "repeated_reads"]
DIMENSIONS = ["goal_achievement", "tool_efficiency", "process_adherence", "context_efficiency"]


def main() -> int:
    """Write the ledgers, make the page and the JSON, compare with the bounds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=36_000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--keep", metavar="DIR", help="write the ledgers here, and keep them")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ledgers = os.path.abspath(chosen.keep or os.path.join(folder, "ledgers"))
        write(ledgers, chosen.lines, chosen.days)
        page = os.path.join(folder, "report.html")
        forms = {"html": ["--out", page], "json": ["--json"]}
        found = {name: measured(folder, ledgers, chosen.days, *words) for name, words in forms.items()}
        html = os.path.getsize(page)
        size = sum(os.path.getsize(os.path.join(ledgers, name)) for name in os.listdir(ledgers))
    seconds = max(one["cpu_s"] for one in found.values()) * 2e7 / size
    print(
        json.dumps({"bytes": size, **found, "html_bytes": html, "cpu_s_20_mb": round(seconds, 2)}, indent=2)
    )
    return int(html > MOST_PAGE or seconds > MOST_SECONDS)


def measured(folder: str, ledgers: str, days: int, *words: str) -> dict[str, float]:
    """Return wall time, processor time and peak memory of one report, in a home and a project of its own."""
    project = os.path.join(folder, "project")
    os.makedirs(os.path.join(folder, "home", ".claude"), exist_ok=True)
    os.makedirs(project, exist_ok=True)
    arguments = ["report", "--ledgers", ledgers, "--days", str(days + 2), *words]
    command = [sys.executable, "-I", "-S", SCRIPT, *arguments]
    environment = {"HOME": os.path.join(folder, "home"), "PATH": os.environ.get("PATH", os.defpath)}
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, cwd=project, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    wall = time.monotonic() - start
    return {"seconds": round(wall, 2), "cpu_s": round(cpu, 2), "peak_mb": round(after.ru_maxrss / 1024, 1)}


def write(folder: str, lines: int, days: int) -> None:
    """Write the ledgers; the same numbers give the same files, apart from the dates."""
    os.makedirs(folder, exist_ok=True)
    chance = random.Random(1)
    start = time.time() - days * DAY
    for name, share in SHARES.items():
        number = int(lines * share)
        with open(os.path.join(folder, name + ".jsonl"), "w", encoding="ascii") as file:
            for at in range(number):
                when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start + days * DAY * at / number))
                session = "%08x-0000-4000-8000-000000000000" % (at // 40 if name != "sessions" else at)
                head = {"schema": 1, "time": when, "session": session, "project": "shop-%d" % (at % 3)}
                file.write(json.dumps({**head, **row(name, at, chance)}, separators=(",", ":")) + "\n")


def row(name: str, at: int, chance: random.Random) -> dict[str, object]:
    """Return the fields of one record."""
    if name == "recalls":
        return _recall(at, chance)
    if name == "scores":
        return _score(at, chance)
    if name == "judge-calls":
        return {
            "feature": chance.choice(["retrieval", "scoring", "sessions"]),
            "question": "relevance",
            "model": "small",
            "outcome": "ok",
            "cached": chance.random() < 0.2,
            "latency_ms": round(chance.uniform(200, 900), 1),
            "tokens_in": 800,
            "tokens_out": 12,
            "cost_usd": 0.0001,
        }
    if name == "feedback":
        return {"kind": "used", "memories": [chance.choice(KEYS)], "prompt_id": "p%d" % at}
    if name == "drift":
        arm = "control" if chance.random() < 0.2 else "corrected"
        return {
            "kind": "drift" if at % 2 else "said",
            "id": "r%d" % (at // 2 * 9),
            "arm": arm,
            "categories": ["padding"],
        }
    scores = {dimension: {"score": round(chance.random(), 2)} for dimension in DIMENSIONS}
    return {
        "kind": "score",
        "dimensions": scores,
        "overall_quality": round(chance.random(), 3),
        "signals": {chance.choice(SIGNALS): 1},
    }


def _recall(at: int, chance: random.Random) -> dict[str, object]:
    draw = chance.random()
    outcome = (
        "injected" if draw < 0.12 else "pointed" if draw < 0.2 else "silent" if draw < 0.7 else "skipped"
    )
    reason = "" if draw < 0.2 else chance.choice(REASONS if draw < 0.7 else SKIPS)
    found = [] if outcome == "skipped" or reason == "no_match" else chance.sample(KEYS, 5)
    scores = {"pointer_confidence": 0.2, "score": 19.5}
    candidates = [
        {"key": key, "confidence": round(0.4 / (n + 1), 4), **scores} for n, key in enumerate(found)
    ]
    told = found[:1] if outcome == "injected" else []
    pointed = found[:1] if outcome == "pointed" else []
    return {
        "place": "prompt",
        "outcome": outcome,
        "reason": reason,
        "answered_by": "fts5",
        "candidates": candidates,
        "injected": told,
        "pointed": pointed,
        "tokens": 110 if told else 0,
        "characters": 400,
        "found": 9,
        "inject_threshold": 0.5,
        "pointer_threshold": 0.35,
        "refreshed": 0,
        "problem": "",
        "prompt_id": "3c1e9a52-%d" % at,
        "ms": round(chance.uniform(5, 45), 1),
    }


def _score(at: int, chance: random.Random) -> dict[str, object]:
    padding = 0 if chance.random() < 0.6 else chance.randint(1, 3)
    matches = [[n * 20, n * 20 + 9, chance.choice(RULES)] for n in range(padding)]
    return {
        "kind": "score",
        "id": "r%d" % at,
        "padding_count": padding,
        "preamble_words": 2,
        "density": round(chance.uniform(0.4, 0.7), 3),
        "query_type": "directive",
        "threshold": 0.52,
        "gate": "padding_range",
        "escalate": False,
        "drift": ["padding"] if padding > 2 else [],
        "matches": matches,
        "words": 120,
        "audit": False,
        "mode": "rules",
        "prompt_id": "p%d" % at,
        "model": "claude-opus-5-5",
        "transcript": "/home/ada/.claude/projects/-shop/a.jsonl",
        "record": "a1",
        "turn": 1,
    }


if __name__ == "__main__":
    sys.exit(main())
