"""Measure what a change costs in stores of different sizes: CPU of whole processes, as multiples of `python3 -S -c pass`.

    python3 benchmarks/growth.py [--sizes 1000,10000] [--rounds 5]

For each size: prompts at rest, beside a running refresh, of 200 kB, and after one file was changed, removed, saved or accepted; a session
start; and the commands that read a store. A figure is the median of the rounds; children that a process leaves running,
such as a background refresh, are not counted. `rss` is the largest peak of resident memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.cold_start import COMMAND, HOOK, STARTS, prepare

if TYPE_CHECKING:
    from collections.abc import Callable

# A process is born with the memory of the one that starts it in its record (getrusage(2)), so a small one starts it.
_RUN = """
import os, sys
null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=null), 0)
print(usage[1], usage[2].ru_utime + usage[2].ru_stime, usage[2].ru_maxrss)
"""
_COMMANDS = ("show m7", "list", "search staging database", "status", "edit m8 --add-tag @", "save @")


class Store:
    """A prepared store, its environment, and a counter that makes each run different."""

    def __init__(self, folder: str, size: int) -> None:
        self.size = size
        self.environment, self.root, self.prompts, self.facts = prepare(folder, size, random.Random(7))
        self._runs = 0

    def run(self, command: list[str], event: str = "") -> tuple[float, float]:
        """Return the CPU seconds and the peak MB of one process. Raises ValueError if it fails."""
        self._runs += 1
        process = [sys.executable, "-S", "-c", _RUN, sys.executable, *command]
        done = subprocess.run(
            process, env=self.environment, input=event.encode(), capture_output=True, check=True
        )
        status, seconds, peak = done.stdout.split()
        if int(status):
            raise ValueError("%s failed" % command)
        return float(seconds), int(peak) / 1024

    def interpreter(self) -> list[float]:
        """Return the CPU seconds of a few empty interpreters, run beside each round because other work changes the speed of a machine."""
        return [self.run(["-S", "-c", "pass"])[0] for _ in range(3)]

    def command(self, *words: str) -> tuple[float, float]:
        """Run `memory` with these words, in which `@` stands for a text that differs in every run."""
        text = "Topic %d of run %d is settled" % (time.time_ns(), self._runs)
        return self.run([COMMAND, *(text if word == "@" else word for word in words), "--root", self.root])

    def prompt(self, text: str = "", hook: str = HOOK) -> tuple[float, float]:
        """Run a hook in a new session."""
        event = {
            "session_id": "g%d" % self._runs,
            "prompt_id": "p",
            "source": "startup",
            "prompt": text or self.prompts[0],
        }
        return self.run(["-I", "-S", hook], json.dumps(event))

    def file(self) -> str:
        """Return the path of a memory that no earlier run has touched."""
        folder = os.path.join(self.root, ".claude", "memory", "decisions")
        return os.path.join(
            folder, sorted(name for name in os.listdir(folder) if name.startswith("m"))[self._runs % 50]
        )

    def change(self) -> None:
        """Replace a file as an editor does."""
        path = self.file()
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({**data, "tags": ["t%d" % self._runs]}, file)
        os.replace(path + ".new", path)

    def accept(self) -> None:
        """Change a file and accept it."""
        self.change()
        self.command("accept", "--all")

    def after(self, act: Callable[[], object]) -> tuple[float, float]:
        """Measure a prompt after a change; the background refresh of the prompt before is over by then."""
        self.command("refresh")
        act()
        time.sleep(0.1)
        return self.prompt()

    def beside_a_refresh(self) -> tuple[float, float]:
        """Measure a prompt while another process holds the lock of the index and files are due."""
        lock = (
            "import fcntl, glob, sys, time; file = open(glob.glob(sys.argv[1])[0], 'ab'); fcntl.flock(file, 2);"
            " print(flush=True); time.sleep(60)"
        )
        path = os.path.join(self.environment["HOME"], ".claude", "lcars", "memory", "index", "*.lock")
        self.command("refresh")
        self.change()
        with subprocess.Popen([sys.executable, "-c", lock, path], stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            try:
                return self.prompt()
            finally:
                other.kill()


def cases(store: Store) -> dict[str, Callable[[], tuple[float, float]]]:
    """Return what is measured, by name."""
    log = "\n".join(
        "2026-01-01 12:00:%02d worker %d: %s" % (n % 60, n, store.prompts[0]) for n in range(2000)
    )
    found: dict[str, Callable[[], tuple[float, float]]] = {
        "prompt at rest": store.prompt,
        "prompt of 200 kB": lambda: store.prompt(log[:200_000]),
        "prompt beside a refresh": store.beside_a_refresh,
        "prompt after a changed file": lambda: store.after(store.change),
        "prompt after a removed file": lambda: store.after(lambda: os.unlink(store.file())),
        "prompt after a save": lambda: store.after(lambda: store.command("save", "@")),
        "prompt after an accept": lambda: store.after(store.accept),
        "session start": lambda: store.prompt(hook=STARTS["session start"]),
    }
    for words in _COMMANDS:
        found["memory " + words.split()[0]] = lambda words=words: store.command(*words.split())  # type: ignore[misc]
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--sizes", default="1000,10000", help="store sizes, comma-separated (default: 1000,10000)"
    )
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-growth-", ignore_cleanup_errors=True) as folder:
        for size in map(int, arguments.sizes.split(",")):
            store = Store(folder, size)
            print("%d memories, accepted and indexed in %.1f s" % (size, store.facts["accept_and_index_s"]))
            for name, measure in cases(store).items():
                rounds = [(*measure(), *store.interpreter()) for _ in range(arguments.rounds)]
                seconds, peaks, *empty = zip(*rounds)
                cpu, base = statistics.median(seconds), statistics.median(sum(empty, ()))
                print(
                    "  %-30s %8.1f ms  x%-6.1f %5.0f MB" % (name, cpu * 1000, cpu / base, max(peaks)),
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
