"""Measure the hygiene rules on written sentences: how many secrets are found, and how many lookalikes are taken for secrets.

    python3 benchmarks/hygiene_sentences.py [--half first|second|both] [--show]

Lines with an odd number are the first half, which the rules were written with; the others are the second half, which was run at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.kernel.hygiene import redact

SENTENCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "made_secrets.jsonl")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=("first", "second", "both"), default="both")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    with open(SENTENCES, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    for number, row in enumerate(rows, 1):
        if options.half != "both" and (number % 2 == 1) != (options.half == "first"):
            continue
        text, secret = row["text"], row["secret"]
        redacted = redact(text).text
        right = secret not in redacted if secret else redacted == text
        for name in (row["language"], "all"):
            tally = counts[name]
            tally[0 if secret else 2] += right if secret else not right
            tally[1 if secret else 3] += 1
        if options.show and not right:
            print("%s: %s" % ("missed" if secret else "wrong", redacted))
    for name, (found, secrets, wrong, others) in counts.items():
        print(
            "%-4s %d of %d secrets found, %d of %d lookalikes redacted"
            % (name, found, secrets, wrong, others)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
