"""Measure the wait for a prompt, and its peak memory, while a hostile store is indexed.

    python3 benchmarks/hostile_refresh.py [--shapes near-secrets,tags] [--short] [--scope project|user|both] [--json]

For each shape, a project with twenty accepted memories gets hostile files of that shape and then a prompt about one of the good memories.
`without` is the slowest of three prompts before the hostile files arrive. `first`, `second` and `third` are the next prompts, while the
background process indexes them; `cold` is the first prompt after the index was deleted too; `end` is a prompt after the background process
has ended. `recalled` counts how many of these five prompts got the good memory. `accept` is `memory accept --all`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOOK = os.path.join(ROOT, "hooks", "user_prompt_submit.py")
COMMAND = os.path.join(ROOT, "scripts", "memory.py")
ASK = "Which database does the billing service store its invoices in?"
TOLD = "Postgres 15"
GOOD = 20
MAX_SECONDS = 900
# A process is born with the memory of the one that starts it in its record (getrusage(2)), so that it has to be a small one.
_WEIGH = """
import os, sys
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
status, usage = os.wait4(process, 0)[1:]
sys.stderr.write("\\n%d %f\\n" % (usage.ru_maxrss, usage.ru_utime + usage.ru_stime))
sys.exit(os.waitstatus_to_exitcode(status))
"""
Files = Iterator[tuple[str, bytes]]


class Run(NamedTuple):
    """One process: its seconds, its seconds of processor time, its peak resident memory in MB, and its output."""

    seconds: float
    cpu: float
    rss_mb: float
    output: str


def _memory(title: str, body: str = "Nothing.", **fields: object) -> bytes:
    data = {"title": title, "record_status": "active", "content": {"decision": body}, **fields}
    return json.dumps(data).encode()


def _many(count: int, make: Callable[[int], bytes]) -> Files:
    for number in range(count):
        yield "hostile%d" % number, make(number)


def _raw(count: int, content: str) -> Files:
    text = '{"title":"t","record_status":"active","content":{"decision":"d","x":%s}}' % content
    return _many(count, lambda _: text.encode())


def _filled(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


_KEYS = ["key=%d" % number for number in range(104)]
# Cyrillic, a full-width colon, marks, and what nobody sees.
_UNICODE = "\u043f\u0430\u0440\u043e\u043b\u044c\uff1a \u043a\u043b\u044e\u0447=\u0430@\u0431.\u0301\u200b"

# Each shape by its name: the number of files is scaled by `share`, in (0, 1].
SHAPES: dict[str, Callable[[float], Files]] = {
    "near-secrets": lambda share: _many(int(60 * share), lambda n: _memory("h%d" % n, "xoxd-/" * 41_666)),
    "tags": lambda share: _many(max(1, int(9 * share)), lambda n: _memory("h%d" % n, tags=["t%d" % i for i in range(25_000)])),
    "9000-tags": lambda share: _many(max(1, int(9 * share)), lambda n: _memory("h%d" % n, tags=["key=%d" % i for i in range(9_000)])),
    "small-lists": lambda share: _many(int(600 * share), lambda n: _memory("h%d" % n, tags=_KEYS[:64], related_files=_KEYS[64:])),
    "nested-250kB": lambda share: _raw(int(200 * share), '{"l":[%s[]]}' % ("[]," * 83_000)),
    "nested-2MB": lambda share: _raw(int(200 * share), '{"l":[%s[]]}' % ("[]," * 680_000)),
    "small": lambda share: _many(int(10_000 * share), lambda n: _memory("Hostile %d" % n, "Arrived with a pull.")),
    "tiny-broken": lambda share: _many(int(10_000 * share), lambda _: b"{"),
    "mail": lambda share: _many(max(1, int(3 * share)), lambda n: _memory("h%d" % n, "a@" * 125_000)),
    "unicode": lambda share: _raw(int(60 * share), json.dumps(_filled(_UNICODE, 90_000), ensure_ascii=False)),
    "headers": lambda share: _many(int(60 * share), lambda n: _memory("h%d" % n, _filled("authorization=1a", 250_000))),
    "addresses": lambda share: _many(int(60 * share), lambda n: _memory("h%d" % n, _filled("::@ address ", 250_000))),
    "assignments": lambda share: _many(int(60 * share), lambda n: _memory("h%d" % n, _filled("_pwd==", 250_000))),
    "small-secrets": lambda share: _many(int(3000 * share), lambda n: _memory("h%d" % n, _filled("xoxd-/", 3_000))),
    "asked-as": lambda share: _many(int(9 * share) + 1, lambda n: _memory("h%d" % n, asked_as=["q%d" % i for i in range(25_000)])),
    "deep": lambda share: _raw(int(200 * share), "[" * 120_000 + "]" * 120_000),
    "numbers": lambda share: _raw(int(60 * share), "9" * 250_000),
    "many-numbers": lambda share: _raw(int(60 * share), "[" + ",".join(["9" * 4000] * 60) + "]"),
    "same-keys": lambda share: _raw(int(60 * share), "{" + ",".join(['"a":1'] * 9_000) + "}"),
    "escapes": lambda share: _raw(int(60 * share), '"' + "\\u0430\\u0040" * 20_000 + '"'),
    "one-word": lambda share: _many(int(60 * share), lambda _: _memory("w" * 100_000, "aB" * 60_000)),
    "titles": lambda share: _many(int(60 * share), lambda _: _memory(_filled("xoxd-/", 250_000))),
    "at-the-cap": lambda share: _many(int(5_000 * share), lambda n: _memory("h%d" % n, _filled("words and more words %d " % n, 262_000))),
}  # fmt: skip


class Bench:
    """A project with good memories in a folder of its own."""

    def __init__(self, folder: str) -> None:
        self.root, self.home = os.path.join(folder, "project"), os.path.join(folder, "home")
        self.config = os.path.join(self.home, ".claude")
        os.makedirs(self.config)
        os.makedirs(self.root)
        self.environment = {
            "HOME": self.home,
            "CLAUDE_CONFIG_DIR": self.config,
            "CLAUDE_PROJECT_DIR": self.root,
            "PATH": os.environ["PATH"],
        }
        subprocess.run(["git", "init", "-q", self.root], check=True, env=self.environment)
        self._asked = 0

    def folder(self, scope: str) -> str:
        """Return the folder of decisions in a store."""
        base = self.config if scope == "user" else os.path.join(self.root, ".claude")
        return os.path.join(base, "memory", "decisions")

    def put(self, scope: str, files: Files) -> None:
        """Write files past the command line, as git does it."""
        os.makedirs(self.folder(scope), exist_ok=True)
        for name, data in files:
            with open(os.path.join(self.folder(scope), name + ".json"), "wb") as file:
                file.write(data)

    def command(self, *words: str) -> Run:
        """Run one command."""
        return self._run([sys.executable, COMMAND, *words, "--root", self.root], b"")

    def prompt(self) -> Run:
        """Ask the good question in a new session."""
        self._asked += 1
        event = {"session_id": "bench-%d" % self._asked, "prompt_id": "p", "prompt": ASK, "cwd": self.root}
        return self._run([sys.executable, "-I", "-S", HOOK], json.dumps(event).encode())

    def _run(self, command: list[str], data: bytes) -> Run:
        start = time.perf_counter()
        weigh = [sys.executable, "-S", "-c", _WEIGH, *command]
        done = subprocess.run(
            weigh, env=self.environment, input=data, capture_output=True, check=False, timeout=MAX_SECONDS
        )
        seconds = time.perf_counter() - start
        kilobytes, cpu = done.stderr.split()[-2:]
        return Run(seconds, float(cpu), int(kilobytes) / 1024, done.stdout.decode("utf-8", "replace"))

    def missed(self) -> str:
        """Return the outcomes of the prompts that got nothing."""
        path = os.path.join(self.config, "lcars", "memory", "recalls.jsonl")
        with open(path, encoding="utf-8") as file:
            rows = list(map(json.loads, file))
        return ", ".join(
            "%d: %s" % (at, row["reason"]) for at, row in enumerate(rows) if row["outcome"] != "injected"
        )

    def forget_index(self) -> None:
        """Delete the index as soon as no background process works on it."""
        self.wait()
        shutil.rmtree(os.path.join(self.config, "lcars", "memory", "index"), ignore_errors=True)

    def wait(self) -> None:
        """Wait until all our processes have ended."""
        end = time.monotonic() + MAX_SECONDS
        while time.monotonic() < end and any(map(self._is_ours, filter(str.isdigit, os.listdir("/proc")))):
            time.sleep(0.2)

    def _is_ours(self, process: str) -> bool:
        try:
            with open("/proc/%s/cmdline" % process, "rb") as file:
                return os.fsencode(self.root) in file.read()
        except OSError:
            return False


def measure(shape: str, scopes: list[str], share: float, folder: str) -> dict[str, object]:
    """Return all results for one shape."""
    bench = Bench(folder)
    good = [
        ("good%d" % n, _memory("How we do task number %d" % n, "With tool %d." % n)) for n in range(GOOD - 1)
    ]
    good.append(
        (
            "database",
            _memory(
                "Use Postgres for the billing database", "The billing service stores invoices in %s." % TOLD
            ),
        )
    )
    bench.put("project", iter(good))
    bench.command("accept", "--all")
    without = [bench.prompt() for _ in range(3)]
    for scope in scopes:
        bench.put(scope, SHAPES[shape](share))
    after = [bench.prompt() for _ in range(3)]
    bench.forget_index()
    cold = bench.prompt()
    bench.wait()
    start = time.perf_counter()
    bench.command("refresh")
    refreshed = time.perf_counter() - start
    end = bench.prompt()
    bench.wait()
    accept = bench.command("accept", "--all")
    listed = bench.command("list", "--json")
    prompts = [*after, cold, end]
    return {
        "shape": shape,
        "without": round(max(run.seconds for run in without), 2),
        **{
            name: round(run.seconds, 2)
            for name, run in zip(("first", "second", "third", "cold", "end"), prompts)
        },
        "cpu_without": round(max(run.cpu for run in without), 2),
        "cpu": round(max(run.cpu for run in prompts), 2),
        "rss_mb": round(max(run.rss_mb for run in prompts)),
        "recalled": sum(TOLD in run.output for run in prompts),
        "missed": bench.missed(),
        "refresh": round(refreshed, 1),
        "accept": round(accept.seconds, 1),
        "accept_rss_mb": round(accept.rss_mb),
        "list": round(listed.seconds, 1),
        "list_rss_mb": round(listed.rss_mb),
    }


def main() -> int:
    """Measure and print; exit code 1 when a prompt took a second of processor time more, 100 MB, or did not recall.

    How long it took says little on a machine with other work on it, so that is only printed.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--shapes", default=",".join(SHAPES), help="some of %s" % ", ".join(SHAPES))
    parser.add_argument("--short", action="store_true", help="a tenth of the files of three shapes")
    parser.add_argument("--scope", choices=("project", "user", "both"), default="project")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    shapes = ["near-secrets", "tags", "nested-250kB"] if arguments.short else arguments.shapes.split(",")
    scopes = ["project", "user"] if arguments.scope == "both" else [arguments.scope]
    failed = False
    for shape in shapes:
        with tempfile.TemporaryDirectory(prefix="memory-bench-", ignore_cleanup_errors=True) as folder:
            row = measure(shape, scopes, 0.1 if arguments.short else 1.0, folder)
        failed |= float(str(row["cpu"])) > float(str(row["cpu_without"])) + 1
        failed |= int(str(row["rss_mb"])) > 100 or row["recalled"] != 5
        print(
            json.dumps(row) if arguments.json else "  ".join("%s %s" % pair for pair in row.items()),
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
