"""Fit `config/capture/weights.json`, the weights of words, classes of words and rules for recognizing lasting statements.

    capture_train.py                   cross-validate: for each set of `made_statements.jsonl`, fit on the others and measure on it
    capture_train.py --write           fit on all sets and write the weights
    capture_train.py --without eighth  leave out a set, for testing
    capture_train.py --typed FILE      also learn from labeled prompts of real sessions, and cross-validate them in five parts by project

A line of FILE is {text, project, lasting, sentences}: `lasting` is null if readers may differ, `sentences` are the lasting ones. Real
prompts matter because ordinary ones are hard to make up, and because few of them hold a lasting statement.

The examples of `config/capture/statements.json` are always included. The model is a logistic regression: of a prompt with a lasting
statement it learns that sentence, of others all sentences. The random seed is fixed, so the same data give the same weights.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import sys
from collections import Counter
from math import exp, inf
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.capture_statements import EXAMPLES, SETS, UNUSED, prompts
from memory_plugin.capture.statements import SEPARATOR, features, own_sentences, patterns, rules_in
from memory_plugin.kernel.paths import data_path, load_data
from memory_plugin.kernel.stats import share

_EPOCHS, _LEARNING_RATE, _DECAY = 30, 0.15, 0.2
_L2 = 0.01
_AT = (-1.6, -1.4, -1.2, -1.0, -0.8, -0.6, -0.4, -0.2, 0.0, 0.3, 0.6)  # thresholds to compare
_MIN_COUNT = 3  # sentences with a feature, for the feature to be learned
_MIN_WEIGHT = 0.15  # smaller weights are dropped
_WRITTEN = 0.5  # weight of a prompt that was written for training, beside 1 for a typed one
_EXAMPLE = 3.0  # weight of an example of a rule: the tests ask for each of them
_UNCLEAR = 0.3  # weight of a sentence about which readers may differ, as one that is not lasting
_PARTS = 5
_REASON = (
    "Weights of words, pairs of words, classes and rules, fitted by benchmarks/capture_train.py to the prompts of"
    " benchmarks/made_statements.jsonl, the examples of statements.json and labeled prompts of public sessions."
)


class Sentence(NamedTuple):
    """The features of a sentence with their values, and whether a statement that is certain or lasting is in it."""

    features: dict[str, float]
    certain: bool
    lasting: bool


class Example(NamedTuple):
    """One prompt: whether it holds a lasting statement (None: unclear), its sentences, its weight, and where it is from."""

    lasting: bool | None
    sentences: list[Sentence]
    weight: float
    source: str


def example(text: str, lasting: bool | None, statements: list[str], weight: float, source: str) -> Example:
    """Return the training example for a prompt."""
    sentences = []
    for sentence in own_sentences(text):
        values = features(sentence, has_rule=bool(rules_in(sentence)))
        certain = any(rule.matches(sentence) for rule in patterns("certain"))
        sentences.append(Sentence(values, certain, any(is_same(sentence, one) for one in statements)))
    return Example(lasting, sentences, weight, source)


def is_same(sentence: str, statement: str) -> bool:
    """Return whether a labeled statement is this sentence, a part of it, or around it."""
    words, others = (" ".join(re.findall(r"\w+", text.lower())) for text in (sentence, statement))
    return bool(words and others) and (words in others or others in words)


def written(name: str) -> list[Example]:
    """Return the prompts of a set; of the last two, only the half that shaped the rules."""
    half = "tuned" if name in SETS[-2:] else ""
    return [example(one.text, one.lasting, [], _WRITTEN, name) for one in prompts(name, half)]


def rule_examples() -> list[Example]:
    """Return the examples of the rules, and what only looks like one of them."""
    table = load_data("capture", "statements")
    rows = [
        *((text, True) for entry in table["rules"] for text in entry["hit"]),
        *((text, False) for entry in table["certain"] + table["rules"] for text in entry["miss"]),
        *((one.text, one.lasting) for one in prompts(EXAMPLES)),
    ]
    return [example(text, lasting, [text], _EXAMPLE, "rules") for text, lasting in rows]


def typed(path: str) -> list[Example]:
    """Return the labeled prompts of a file."""
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [example(row["text"], row["lasting"], row["sentences"], 1.0, row["project"]) for row in rows]


class Fit:
    """A logistic regression, fitted by stochastic gradient descent."""

    def __init__(self, examples: list[Example]) -> None:
        counts = Counter(name for row in examples for one in row.sentences for name in one.features)
        self.bias = 0.0
        self.weights = {name: 0.0 for name in sorted(counts) if counts[name] >= _MIN_COUNT}
        self._examples = [row for row in examples if row.sentences]

    def run(self) -> Fit:
        """Fit the weights and return self."""
        order = random.Random(1)  # a fixed seed, for the same weights in every run
        for epoch in range(_EPOCHS):
            order.shuffle(self._examples)
            step = _LEARNING_RATE / (1 + epoch * _DECAY)
            for row in self._examples:
                self._learn_prompt(row, step * row.weight)
        return self

    def log_odds(self, values: dict[str, float]) -> float:
        """Return the log-odds that a sentence is a lasting statement."""
        return self.bias + sum(self.weights.get(name, 0.0) * value for name, value in values.items())

    def score(self, row: Example) -> float:
        """Return the log-odds of the likeliest sentence of a prompt."""
        return max(
            (inf if one.certain else self.log_odds(one.features) for one in row.sentences), default=-inf
        )

    def _learn_prompt(self, row: Example, step: float) -> None:
        marked = [one for one in row.sentences if one.lasting]
        if row.lasting:
            for one in marked or [max(row.sentences, key=lambda one: self.log_odds(one.features))]:
                self._learn(one.features, step, lasting=True)
            return
        for one in row.sentences:
            self._learn(one.features, step * (_UNCLEAR if one.lasting else 1.0), lasting=False)

    def _learn(self, values: dict[str, float], step: float, *, lasting: bool) -> None:
        error = 1 / (1 + exp(-max(-30.0, min(30.0, self.log_odds(values))))) - lasting
        self.bias -= step * error
        for name, value in values.items():
            if name in self.weights:
                self.weights[name] -= step * (error * value + _L2 * self.weights[name])

    def to_json(self) -> dict[str, object]:
        """Return the contents of the file, which maps each weight to the features that have it."""
        groups: dict[float, list[str]] = {}
        for name, weight in self.weights.items():
            if abs(weight) >= _MIN_WEIGHT and SEPARATOR not in name:
                groups.setdefault(round(weight, 2), []).append(name)
        weights = {str(weight): SEPARATOR.join(groups[weight]) for weight in sorted(groups)}
        return {"reason": _REASON, "bias": round(self.bias, 2), "weights": weights}


def table(scored: list[tuple[float, bool | None]]) -> str:
    """Return recall, precision and precision with the unclear ones, at several thresholds."""
    positives = sum(lasting is True for _, lasting in scored)
    lines = []
    for at in _AT:
        found = [lasting for value, lasting in scored if value >= at]
        right, unclear = found.count(True), found.count(None)
        both = "%s, with unclear %s" % (share(right, len(found)), share(right + unclear, len(found)))
        lines.append("  %5.2f  R %s  P %s" % (at, share(right, positives), both))
    return "\n".join(lines)


def part_of(source: str) -> int:
    """Return the part of the cross-validation in which a project is measured."""
    return hashlib.sha256(source.encode()).digest()[0] % _PARTS


def cross_validate(real: list[Example], sets: list[Example]) -> None:
    """Print the figures of typed prompts by weights fitted to other projects, and of each set by weights fitted without it."""
    scored = []
    for part in range(_PARTS if real else 0):
        fit = Fit([*(row for row in real if part_of(row.source) != part), *sets]).run()
        scored += [(fit.score(row), row.lasting) for row in real if part_of(row.source) == part]
    print("typed, %d prompts\n%s" % (len(scored), table(scored)))
    for name in (*SETS, UNUSED):
        fit = Fit([*real, *(row for row in sets if row.source != name)]).run()
        own = [example(one.text, one.lasting, [], 1.0, name) for one in prompts(name)]
        print("%s\n%s" % (name, table([(fit.score(row), row.lasting) for row in own])))


def main() -> int:
    """Fit, and write or print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--without", action="append", choices=SETS, default=[])
    parser.add_argument("--typed", metavar="FILE", action="append", default=[])
    arguments = parser.parse_args()
    names = [name for name in SETS if name not in arguments.without]
    sets = [*rule_examples(), *(row for name in names for row in written(name))]
    real = [row for path in arguments.typed for row in typed(path)]
    if not arguments.write:
        cross_validate(real, sets)
        return 0
    fit = Fit([*sets, *real]).run()
    with open(data_path("capture", "weights") + ".json", "w", encoding="utf-8") as file:
        file.write(json.dumps(fit.to_json(), indent=0, ensure_ascii=False) + "\n")
    print("%d weights" % len(fit.weights))
    return 0


if __name__ == "__main__":
    sys.exit(main())
