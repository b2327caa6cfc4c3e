"""Compare our hygiene rules with detect-secrets on the same texts: precision, recall and speed.

    python3 -m venv V && V/bin/pip install detect-secrets
    V/bin/python benchmarks/hygiene_beside_others.py KIT_FOLDER [--transcripts FOLDER]

Nothing is written.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.hygiene_kit import SECRET_KINDS, SECRET_SETS, Tally, aside, lines
from memory_plugin.kernel.hygiene import findings

MOST_BYTES = 2_000_000  # of transcripts; detect-secrets is slow on long lines


def ours(text: str) -> int:
    """Return the number of secrets that our rules find."""
    return sum(finding.kind in SECRET_KINDS for finding in findings(text))


def theirs() -> Callable[[str], int] | None:
    """Return the number of secrets that detect-secrets finds with its default settings; None if it is not installed."""
    try:
        from detect_secrets.core.scan import scan_file  # type: ignore[import-not-found, unused-ignore]
        from detect_secrets.settings import default_settings  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None

    def count(text: str) -> int:
        # As its own command line does, with all default filters: of a file, not of a single line.
        with tempfile.TemporaryDirectory() as folder, default_settings():
            path = os.path.join(folder, "sample.txt")
            with open(path, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
            return sum(1 for _ in scan_file(path))

    return count


def tally(folder: str, scan: Callable[[str], int]) -> Tally:
    """Return hits, misses and false positives over both sets of secrets."""
    total = Tally()
    for name in SECRET_SETS:
        for record in lines(os.path.join(folder, name)):
            if not aside(record):
                wanted, found = bool(record["secret"]), bool(scan(str(record["text"])))
                total = total.plus(
                    int(wanted and found), int(wanted and not found), int(found and not wanted)
                )
    return total


def speed(folder: str, scan: Callable[[str], int]) -> str:
    """Return findings, and megabytes per second of processor time, for the first 2 MB of transcripts."""
    size, found, seconds = 0, 0, 0.0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            text = file.read(MOST_BYTES - size)
        size += len(text)
        started = time.process_time()
        found += scan(text)
        seconds += time.process_time() - started
        if size >= MOST_BYTES:
            break
    return "%d findings in %.1f MB, %.2f MB/s" % (found, size / 1e6, size / 1e6 / max(seconds, 1e-9))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kit")
    parser.add_argument("--transcripts")
    options: Any = parser.parse_args()
    other = theirs()
    for name, scan in (("memory", ours), ("detect-secrets", other)):
        if scan is None:
            print("%s is not installed" % name)
            continue
        print(tally(options.kit, scan).line(name))
        if options.transcripts:
            print("%-28s %s" % (name, speed(options.transcripts, scan)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
