"""Measure how well guards match the command lines in `tests/memories/guard_commands.jsonl`, for each of its parts.

The table was written before the matcher, and the part "held out" was not read during its development.
"""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.memories.guarded_commands import guard_words, run_by

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main() -> int:
    """Print the shares and the wrong rows."""
    with open(os.path.join(ROOT, "tests", "memories", "guard_commands.jsonl"), encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    for half in ("development", "held out", "inside words"):
        own = [
            (row, bool(run_by(row["command"], [guard_words(row["guard"])])))
            for row in rows
            if row["half"] == half
        ]
        right = [found for row, found in own if row["match"]]
        wrong = [found for row, found in own if not row["match"]]
        facts = (half, sum(right), len(right), sum(right) / len(right), sum(wrong), len(wrong))
        print("%-12s matched %d of %d (%.3f), %d of %d falsely" % facts)
        for row, found in own:
            if found != row["match"]:
                print("  %s: %r: %s" % (row["id"], row["command"], row["why"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
