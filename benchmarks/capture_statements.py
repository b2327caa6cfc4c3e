"""Measure precision and recall of lasting statements on prompts written for it, with 95% intervals (Wilson).

    python3 benchmarks/capture_statements.py [--set first|second|...|eleventh] [--half tuned|held] [--show]

`made_statements.jsonl` holds prompts as developers type them: {set, lasting, form, text}. The first set has two halves, by the digest of
the text; `tuned` was used to write the rules. Each later set was written while the rules were frozen, run once, and then used for training.
benchmarks/README.md has the figures of each first run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections import Counter
from typing import NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memory_plugin.capture.statements import find_statements
from memory_plugin.kernel.stats import share

PROMPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "made_statements.jsonl")
SETS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
EXAMPLES = "examples"  # what earlier rules had to leave out, and what looked like it
UNUSED = "eleventh"  # never to fit weights


class Prompt(NamedTuple):
    """One prompt: whether it holds a lasting statement, the class of its form, and its half."""

    text: str
    lasting: bool
    form: str
    half: str


def prompts(name: str, half: str = "") -> list[Prompt]:
    """Return the prompts of a set, or of a half of it: `tuned` or `held`."""
    with open(PROMPTS, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    made = [
        Prompt(row["text"], row["lasting"], row["form"], half_of(row["text"]))
        for row in rows
        if row["set"] == name
    ]
    return [prompt for prompt in made if not half or prompt.half == half]


def half_of(text: str) -> str:
    """Return the half to which a text belongs."""
    return "held" if hashlib.sha256(text.encode()).digest()[0] % 2 else "tuned"


def is_found(text: str) -> bool:
    """Return whether capture would propose a statement of the prompt, as in the Stop hook."""
    return bool(find_statements(text))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--set", choices=(*SETS, UNUSED), default=SETS[0])
    parser.add_argument("--half", choices=("", "tuned", "held"), default="")
    parser.add_argument("--show", action="store_true", help="print what was missed and what was wrong")
    arguments = parser.parse_args()
    asked = prompts(arguments.set, arguments.half)
    found = [prompt for prompt in asked if is_found(prompt.text)]
    right = [prompt for prompt in found if prompt.lasting]
    positives = [prompt for prompt in asked if prompt.lasting]
    print("%d prompts, %d lasting, %d found" % (len(asked), len(positives), len(found)))
    print("P %s  R %s" % (share(len(right), len(found)), share(len(right), len(positives))))
    for lasting in (True, False):
        all_of = Counter(prompt.form for prompt in asked if prompt.lasting == lasting)
        hit = Counter(prompt.form for prompt in found if prompt.lasting == lasting)
        shares = ("%s %d/%d" % (form, hit[form], number) for form, number in sorted(all_of.items()))
        print("%s: %s" % ("found" if lasting else "taken for one", ", ".join(shares)))
    for prompt in asked if arguments.show else ():
        if prompt.lasting != (prompt in found):
            print("%s %-12s %s" % ("missed" if prompt.lasting else "wrong ", prompt.form, prompt.text[:150]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
