"""Measure time and peak memory of the transcript reader and of `memory session signals`, compared with `json.loads` on each line.

    python3 benchmarks/transcript_reader.py --megabytes 500
    python3 benchmarks/transcript_reader.py --megabytes 20 --like FILE   # repeats the rows of a real transcript

Each variant runs in its own process and is measured in CPU time. `turns` reads the turns; `signals` also collects the signals. Prints
JSON; the exit code is 1 if memory or ratio of either exceeds its bound.
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.kernel.transcript.reader import Reader, open_transcript

MOST_MEGABYTES, MOST_RATIO = 60.0, 2.5
WORDS = [
    "the",
    "build",
    "fails",
    "because",
    "a",
    "lock",
    "file",
    "is",
    "missing",
    "so",
    "we",
    "read",
    "it",
    "again",
]


def main() -> int:
    """Write the file, measure the variants, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3, help="how often; the least time of each counts")
    parser.add_argument("--like")
    parser.add_argument("--measure", choices=["json", "turns", "signals"])
    parser.add_argument("--file")
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measured(chosen.measure, chosen.file)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "large.jsonl")
        write(path, chosen.megabytes << 20, chosen.like)
        rounds = [
            {way: child(way, path) for way in ("json", "turns", "signals")} for _ in range(chosen.rounds)
        ]
        found = {way: min((one[way] for one in rounds), key=lambda it: it["seconds"]) for way in rounds[0]}
        found["size"] = {"megabytes": round(os.path.getsize(path) / (1 << 20), 1)}
    found["ratio"] = {
        way: round(found[way]["seconds"] / found["json"]["seconds"], 2) for way in ("turns", "signals")
    }
    found["holds"] = {
        way: found[way]["peak_mb"] <= MOST_MEGABYTES and found["ratio"][way] <= MOST_RATIO
        for way in ("turns", "signals")
    }
    print(json.dumps(found, indent=2))
    return 0


def child(way: str, path: str) -> dict[str, float]:
    """Measure one variant in its own process and return the results."""
    command = [sys.executable, os.path.abspath(__file__), "--measure", way, "--file", path]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def measured(way: str, path: str) -> dict[str, float]:
    """Return the CPU seconds, the peak memory of this process, and the count."""
    started = time.process_time()
    count = {"json": by_lines, "turns": by_turns, "signals": by_signals}[way](path)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": round(seconds, 2), "peak_mb": round(peak, 1), "count": count}


def by_lines(path: str) -> int:
    """Return the number of lines that are JSON."""
    count = 0
    with open(path, "rb") as file:
        for line in file:
            try:
                json.loads(line)
            except ValueError:
                continue
            count += 1
    return count


def by_turns(path: str) -> int:
    """Return the number of turns."""
    with open_transcript(path) as file:
        return sum(1 for _ in Reader(file))


def by_signals(path: str) -> int:
    """Return the number of turns after collecting their signals, as the command does."""
    from memory_plugin.sessions.signals import collect_signals

    signals = collect_signals(path)
    return signals.totals.turns


def write(path: str, size: int, like: str | None) -> None:
    """Write a transcript of about `size` bytes: made-up rows, or those of a real one with new ids."""
    chance = random.Random(7)
    rows = real(like) if like else None
    with open(path, "wb") as file:
        number = 0
        while file.tell() < size:
            number += 1
            for row in rows or made_up(number, chance):
                text = json.dumps(row, ensure_ascii=False)
                file.write((text.replace("@@", "%d-" % number) + "\n").encode("utf-8", "replace"))


def real(path: str) -> list[dict[str, object]]:
    """Return the rows of a transcript, with ids marked so that each round has its own."""
    rows = []
    with open(path, "rb") as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            for key in ("uuid", "timestamp"):
                if isinstance(row.get(key), str):
                    row[key] = "@@" + row[key]
            message = row.get("message")
            if isinstance(message, dict) and isinstance(message.get("id"), str):
                message["id"] = "@@" + message["id"]
            rows.append(json.loads(json.dumps(row).replace('"toolu_', '"@@toolu_')))
    return rows


def made_up(number: int, chance: random.Random) -> list[dict[str, object]]:
    """Return five turns with calls and results of realistic sizes."""

    def text(size: int) -> str:
        return " ".join(chance.choices(WORDS, k=max(1, size // 5)))

    rows: list[dict[str, object]] = [user("u%d" % number, text(200))]
    for step in range(5):
        name = "%d-%d" % (number, step)
        usage = {"input_tokens": 5, "output_tokens": 90, "cache_read_input_tokens": 40_000}
        call = {"type": "tool_use", "id": "c" + name, "name": "Bash", "input": {"command": text(80)}}
        message = {
            "id": "m" + name,
            "role": "assistant",
            "model": "claude-x",
            "content": [call],
            "usage": usage,
        }
        rows.append({**common("a" + name), "type": "assistant", "message": message})
        output = text(chance.choice((300, 2000, 12_000)))
        result = {"type": "tool_result", "tool_use_id": "c" + name, "content": output}
        rows.append(
            {
                **user("r" + name, [result]),
                "toolUseResult": {"stdout": output, "stderr": "", "interrupted": False},
            }
        )
    return rows


def common(name: str) -> dict[str, object]:
    """Return the fields that every row has."""
    return {
        "uuid": name,
        "sessionId": "s",
        "cwd": "/p",
        "version": "2.1.330",
        "isSidechain": False,
        "timestamp": "2026-03-01T08:00:00Z",
    }


def user(name: str, content: object) -> dict[str, object]:
    """Return a row with the role of the user."""
    return {**common(name), "type": "user", "message": {"role": "user", "content": content}}


if __name__ == "__main__":
    sys.exit(main())
