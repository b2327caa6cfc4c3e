"""Measure capture with a judge that knows the labels, and with one that errs; no model is asked.

    capture_judge.py [--set eighth,ninth] [--half held] [--errors 0,0.1] [--rounds 5] [--prompts FILE.jsonl]

The prompts are those of made_statements.jsonl, or of a file with `text` and `lasting` in each line. Sentences, question and the use of the
answer are the product's; only the answer of the model is made up. A judge that errs in 10% is wrong about one prompt in ten: it rejects
what is lasting, or picks a random sentence. asked: share of the prompts that cost a call.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.capture_statements import SETS, prompts
from memory_plugin.capture.pipeline import judge_statements
from memory_plugin.kernel.judge.question import Question
from memory_plugin.kernel.stats import share


class LabeledJudge:
    """Answers like a model that knows which prompt is lasting and errs with a probability; counts its calls."""

    def __init__(self, errors: float, seed: int) -> None:
        self.errors, self.random = errors, random.Random(seed)
        self.lasting, self.calls = False, 0

    def __call__(self, question: Question) -> dict[str, Any] | None:
        """Return the values of the answer: the likeliest sentence of a lasting prompt."""
        self.calls += 1
        text = question.message
        sentences = json.loads(text[text.index("<data>") + 6 : text.index("</data>")])["sentences"]
        picks = self.lasting != (self.random.random() < self.errors)
        at = 0 if self.lasting else self.random.randrange(len(sentences))
        keep = {"index": at, "kind": "rule", "quote": sentences[at]["text"], "title": "x"}
        return question.read({"keep": [keep] if picks else []})


def measure(rows: list[tuple[str, bool]], judge: LabeledJudge | None) -> tuple[int, int]:
    """Return how many prompts have a statement, and how many of these are lasting."""
    found = right = 0
    for text, lasting in rows:
        if judge:
            judge.lasting = lasting
        is_found = bool(judge_statements([text], judge))
        found, right = found + is_found, right + (is_found and lasting)
    return found, right


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--set", default="eighth,ninth", help="of %s" % ", ".join(SETS))
    parser.add_argument("--half", choices=("", "tuned", "held"), default="")
    parser.add_argument("--errors", default="0,0.1")
    parser.add_argument("--rounds", type=int, default=5, help="judges that err, with different seeds")
    parser.add_argument("--prompts", metavar="FILE.jsonl")
    options = parser.parse_args()
    if options.prompts:
        with open(options.prompts, encoding="utf-8") as file:
            rows = [(row["text"], row["lasting"]) for row in map(json.loads, file)]
    else:
        made = [prompt for name in options.set.split(",") for prompt in prompts(name, options.half)]
        rows = [(prompt.text, prompt.lasting) for prompt in made]
    positives = sum(lasting for _, lasting in rows)
    print("%d prompts, %d lasting" % (len(rows), positives))
    for errors in [None, *map(float, options.errors.split(","))]:
        rounds = options.rounds if errors else 1
        judges = [None if errors is None else LabeledJudge(errors, seed) for seed in range(rounds)]
        counts = [measure(rows, judge) for judge in judges]
        found, right = (sum(column) for column in zip(*counts))
        calls = sum(judge.calls for judge in judges if judge) / (rounds * len(rows))
        name = "rules" if errors is None else "wrong in %g" % errors
        shares = share(right, found), share(right, positives * rounds)
        print("%-13s P %s  R %s  asked %.2f" % (name, *shares, calls))
    return 0


if __name__ == "__main__":
    sys.exit(main())
