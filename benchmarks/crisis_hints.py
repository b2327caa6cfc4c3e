"""Fit the weights of letters that hint at a crisis, on the tables of sentences; `--check` measures them on tables that were left out.

    crisis_hints.py            writes config/evaluation/hints.json
    crisis_hints.py --check    writes nothing

It needs scikit-learn (`pip install '.[train]'`); the same tables and version give the same weights.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))

from memory_plugin.evaluation.packs import load_pack  # noqa: E402
from memory_plugin.evaluation.rule_matching import fold_text, hint_features  # noqa: E402

TARGET = os.path.join(ROOT, "config", "evaluation", "hints.json")
MIN_TEXTS = 8  # that a sequence of letters must occur in
STRENGTH = 5.0  # the inverse of the regularization; 2 to 20 differ little
RULES = load_pack("caregiving").rules_for("crisis", "user")
THRESHOLD = next(rule.hint for rule in RULES if rule.is_hint) or 0
MIN_WEIGHT = 10  # in hundredths; smaller ones are dropped


def rows(name: str) -> list[dict[str, str]]:
    """Return the records of a table."""
    with open(os.path.join(ROOT, "tests", "evaluation", name + ".jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def features(text: str) -> set[str]:
    """Return the features of a text as at run time."""
    return hint_features(fold_text(text))


def fit(examples: list[tuple[str, bool]]) -> dict[str, int]:
    """Return a weight in hundredths for each feature, by logistic regression; the feature "" is the bias."""
    from scipy.sparse import diags
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    texts, labels = zip(*examples)
    counts = CountVectorizer(analyzer=features, min_df=MIN_TEXTS)
    matrix = counts.fit_transform(texts)
    lengths = diags([1 / math.sqrt(len(features(text)) + 1) for text in texts])
    model = LogisticRegression(C=STRENGTH, solver="liblinear", max_iter=500, random_state=1)
    model.fit(lengths @ matrix, labels)
    weights = zip(counts.get_feature_names_out(), (100 * model.coef_[0]).round().astype(int).tolist())
    return {
        "": round(100 * float(model.intercept_[0])),
        **{str(name): weight for name, weight in weights if abs(weight) >= MIN_WEIGHT},
    }


def score(weights: dict[str, int], text: str) -> float:
    """Return the score of a text as at run time."""
    found = features(text)
    return weights[""] + sum(weights.get(feature, 0) for feature in found) / math.sqrt(len(found) + 1)


def check(table: list[dict[str, str]], others: list[tuple[str, bool]]) -> None:
    """Print what weights find in each of the later tables, fitted without it."""
    halves = list(dict.fromkeys(row["half"] for row in table))
    for half in halves[halves.index("fourteenth") :]:
        weights = fit(
            others + [(row["text"], row["label"] == "signal") for row in table if row["half"] != half]
        )
        for label, verb in (("signal", "found"), ("none", "false")):
            scores = [
                score(weights, row["text"]) for row in table if (row["half"], row["label"]) == (half, label)
            ]
            number = sum(value >= THRESHOLD for value in scores)
            print("%-14s %s %d of %d" % (half, verb, number, len(scores)))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    table = rows("crisis")
    others = [(row["text"], False) for name in ("compliance", "honesty") for row in rows(name)]
    for rule in RULES:
        others += [(text, True) for text in rule.hit] + [(text, False) for text in rule.miss]
    if options.check:
        check(table, others)
        return 0
    weights = fit(others + [(row["text"], row["label"] == "signal") for row in table])
    with open(TARGET, "w", encoding="utf-8") as file:
        json.dump({"schema_version": 1, "weights": weights}, file, separators=(",", ":"))
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
