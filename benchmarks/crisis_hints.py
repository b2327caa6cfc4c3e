"""Fit the weights of words that hint at a crisis, on the tables of sentences; `--check` measures them on tables that were left out.

python3 benchmarks/crisis_hints.py            writes config/evaluation/hints.json
python3 benchmarks/crisis_hints.py --check    writes nothing
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from memory_plugin.evaluation.packs import load_pack  # noqa: E402
from memory_plugin.evaluation.rule_matching import fold_text, hint_features  # noqa: E402

TARGET = os.path.join(ROOT, "config", "evaluation", "hints.json")
NEW = (
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
    "twenty-second",
    "twenty-third",
    "twenty-fourth",
    "twenty-fifth",
    "twenty-sixth",
)  # mostly indirect signs
PACK = load_pack("caregiving")
EPOCHS, RATE, DECAY = 15, 0.2, 1e-3
THRESHOLD = 45  # in hundredths of log odds: above even odds, because a false alarm costs trust
MIN_WEIGHT = 5  # in hundredths; smaller ones are dropped


def rows(name: str) -> list[dict[str, str]]:
    """Return the records of a table."""
    with open(os.path.join(ROOT, "tests", "evaluation", name + ".jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def fit(examples: list[tuple[str, bool]]) -> dict[str, int]:
    """Return a weight in hundredths for each feature, by logistic regression; the feature "" is the bias."""
    generator = random.Random(1)
    counts: dict[str, int] = {}
    for text, _ in examples:
        for feature in hint_features(text):
            counts[feature] = counts.get(feature, 0) + 1
    data = [
        (
            [feature for feature in sorted(hint_features(text)) if counts[feature] > 1],
            len(hint_features(text)),
            label,
        )
        for text, label in examples
    ]
    weights, squares, bias = dict.fromkeys(counts, 0.0), dict.fromkeys(counts, 1e-6), 0.0
    for _ in range(EPOCHS):
        generator.shuffle(data)
        for features, size, label in data:
            norm = math.sqrt(size + 1)
            error = 1 / (1 + math.exp(-bias - sum(map(weights.__getitem__, features)) / norm)) - label
            bias -= 0.05 * error
            for feature in features:
                gradient = error / norm + DECAY * weights[feature]
                squares[feature] += gradient * gradient
                weights[feature] -= RATE * gradient / math.sqrt(squares[feature])
    whole = {feature: round(100 * weight) for feature, weight in weights.items()}
    return {
        "": round(100 * bias),
        **{key: whole[key] for key in sorted(whole) if abs(whole[key]) >= MIN_WEIGHT},
    }


def score(weights: dict[str, int], text: str) -> float:
    """Return the score of a text as at run time."""
    features = hint_features(text)
    return weights[""] + sum(weights.get(feature, 0) for feature in features) / math.sqrt(len(features) + 1)


def is_excused(text: str) -> bool:
    """Return whether an exception of the pack's rule applies to a text."""
    rule = next(rule for rule in PACK.rules if rule.weights)
    return any(unless.pattern.search(fold_text(text)) for unless in rule.unless)


def left_out(table: list[dict[str, str]], others: list[tuple[str, bool]]) -> tuple[list[float], list[float]]:
    """Return the scores of signals and of other sentences in each new table, by weights fitted without it."""
    signals: list[float] = []
    rest: list[float] = []
    for half in NEW:
        weights = fit(
            others + [(row["text"], row["label"] == "signal") for row in table if row["half"] != half]
        )
        for row in table:
            if row["half"] == half:
                value = -math.inf if is_excused(row["text"]) else score(weights, row["text"])
                (signals if row["label"] == "signal" else rest).append(value)
    return signals, rest


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    table = rows("crisis")
    others = [(row["text"], False) for name in ("compliance", "honesty") for row in rows(name)]
    signals, rest = left_out(table, others)
    found = sum(value > THRESHOLD for value in signals)
    print(
        "left out: found %d of %d, false %d of %d"
        % (found, len(signals), sum(v > THRESHOLD for v in rest), len(rest))
    )
    if not options.check:
        weights = fit(others + [(row["text"], row["label"] == "signal") for row in table])
        with open(TARGET, "w", encoding="utf-8") as file:
            json.dump({"schema_version": 1, "threshold": THRESHOLD, "weights": weights}, file, indent=0)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
