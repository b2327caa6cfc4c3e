"""Measure the agreement of two sets of scores for the same sessions: two readings, or a reading and the scorer.

`labels/first_reading.csv` holds one reader's scores of 20 sessions, given before any scorer was run on them: ids and scores, no text.
One reader's labels show whether a scorer is consistent with that reader, not whether either is right.

Usage: session_agreement.py TRANSCRIPTS [--scores FILE]
TRANSCRIPTS is a folder with the sessions' transcripts. If a labeled session is missing there, its name is printed and the exit code is 1.
FILE holds other scores, in a format that `memory session calibrate` reads.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "scripts"))

from memory_plugin.sessions.material import prepare  # noqa: E402
from memory_plugin.sessions.rows import compare, read_labels, session_id  # noqa: E402

LABELS = os.path.join(HERE, "labels", "first_reading.csv")


def main() -> int:
    """Print the agreement; return 1 if a labeled session is missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("transcripts")
    parser.add_argument("--scores", default=LABELS)
    arguments = parser.parse_args()
    labels = read_labels(LABELS)
    present = {session_id(prepare(str(path))) for path in Path(arguments.transcripts).rglob("*.jsonl")}
    missing = sorted(labels.keys() - present)
    print(
        "%d labeled sessions, %d of them in %s"
        % (len(labels), len(labels) - len(missing), arguments.transcripts)
    )
    for name in missing:
        print("missing: %s" % name)
    for one in compare(read_labels(arguments.scores), labels):
        for name, figure in one.figures.items():
            value = "not determined" if figure.value is None else "%.2f" % figure.value
            interval = (
                ""
                if figure.low is None or figure.high is None
                else " [%.2f, %.2f]" % (figure.low, figure.high)
            )
            print("%-20s n %2d  %-15s %s%s" % (one.dimension, one.n, name, value, interval))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
