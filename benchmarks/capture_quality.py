"""Measure capture on a folder of transcripts against hand-made labels, with 95% intervals (Wilson).

    python3 benchmarks/capture_quality.py FOLDER [--show]

The labels are ids in labels/capture_labels.json; a transcript without labels counts as one without anything to keep.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.capture_kit import Session, failed_commands, prompts, sessions
from memory_plugin.capture.solved_errors import ErrorWatch
from memory_plugin.capture.statements import find_statements
from memory_plugin.kernel.stats import share

LABELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "labels", "capture_labels.json")


def statements(session: Session) -> dict[str, str]:
    """Return the statements that the rules find, by the id of the prompt."""
    return {
        identity: " | ".join(one.text for one in find_statements(text))
        for identity, _, text in prompts(session)
        if find_statements(text)
    }


def solved_errors(session: Session) -> dict[str, str]:
    """Return the solved errors that the rules find, by session and turn of the failure."""
    watch = ErrorWatch()
    found = [error for turn in session.turns for error in watch.solved(turn)]
    return {"%s:%d" % (session.id, error.failed): error.title for error in found}


def line(kind: str, half: str, found: set[str], wanted: set[str]) -> str:
    """Return the figures of one kind in one half."""
    right = len(found & wanted)
    parts = ["%-14s %-6s found %d, right %d, positives %d" % (kind, half, len(found), right, len(wanted))]
    for name, of in (("P", found), ("R", wanted)):
        parts.append("%s %s" % (name, share(right, len(of))))
    return "  ".join(parts)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder")
    parser.add_argument("--show", action="store_true", help="print what was found")
    arguments = parser.parse_args()
    with open(LABELS, encoding="utf-8") as file:
        labels = json.load(file)
    found: dict[tuple[str, str], dict[str, str]] = {}
    counts = {"prompts": 0, "failed commands": 0}
    read: set[str] = set()
    for session in sessions(arguments.folder):
        read.add(session.id)
        counts["prompts"] += sum(1 for _ in prompts(session))
        counts["failed commands"] += sum(1 for _ in failed_commands(session))
        found.setdefault(("statements", session.half), {}).update(statements(session))
        found.setdefault(("solved_errors", session.half), {}).update(solved_errors(session))
    print(", ".join("%d %s" % (number, name) for name, number in counts.items()))
    for (kind, half), texts in sorted(found.items()):
        wanted = {identity for identity in labels[kind][half] if identity.partition(":")[0] in read}
        print(line(kind, half, set(texts), wanted))
        for identity, text in texts.items() if arguments.show else ():
            print("   %s %s %s" % ("+" if identity in wanted else "-", identity, text[:150]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
