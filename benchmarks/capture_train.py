"""Fit `config/capture/weights.json`, the weights of words, cues and rules for recognizing lasting statements.

    capture_train.py                   cross-validate: for each set of `made_statements.jsonl`, fit on the others and measure on it
    capture_train.py --write           fit on all sets and write the weights
    capture_train.py --without eighth  leave out a set, for testing
    capture_train.py --sessions FOLDER also learn from the labeled prompts of public sessions, and cross-validate their two halves

`config/capture/weights.json` was written with `--without eighth --write` and `--sessions` for two folders: 58 sessions, 1081 read later.
Real sessions matter because ordinary prompts without any lasting statement are hard to make up, and because few real prompts hold one.

The examples of `config/capture/statements.json` are always included. The model is a logistic regression. A prompt with a lasting statement
trains only its most likely sentence, any other prompt all its sentences. The random seed is fixed, so the same data give the same weights.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter
from math import exp
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.capture_kit import prompts as typed
from benchmarks.capture_kit import sessions
from benchmarks.capture_quality import LABELS
from benchmarks.capture_statements import SETS, prompts
from memory_plugin.capture.statements import (
    RULE,
    SEPARATOR,
    THRESHOLDS,
    cue_feature,
    cues_in,
    own_sentences,
    patterns,
    rules_in,
    word_features,
    word_scale,
)
from memory_plugin.kernel.paths import data_path, load_data
from memory_plugin.kernel.stats import share

_EPOCHS, _LEARNING_RATE, _DECAY, _L2 = 30, 0.15, 0.2, 0.03
_MIN_COUNT = 4  # sentences with a feature, for the feature to be learned
_MIN_WEIGHT = 0.08  # smaller weights are dropped
_HALVES = ("tuned", "held")
_REASON = (
    "Weights of words, pairs of words, cues and rules, fitted by benchmarks/capture_train.py to the prompts of"
    " benchmarks/made_statements.jsonl, the examples of statements.json and labeled prompts of public sessions."
)


class Example(NamedTuple):
    """One prompt: whether it holds a lasting statement, and the features of each sentence with their values."""

    lasting: bool
    sentences: list[dict[str, float]]


def features(sentence: str) -> dict[str, float]:
    """Return the features of a sentence with their values."""
    words = word_features(sentence)
    values = dict.fromkeys(words, word_scale(words))
    values.update({cue_feature(cue.id): 1.0 for cue in cues_in(sentence)})
    return {**values, RULE: 1.0} if rules_in(sentence) else values


def example(text: str, *, lasting: bool) -> Example:
    """Return the training example for a prompt."""
    return Example(lasting, [features(sentence) for sentence in own_sentences(text)])


def written_set(name: str) -> list[Example]:
    """Return the prompts of a set; of the last two, only the half that shaped the rules."""
    half = "tuned" if name in SETS[-2:] else ""
    return [example(prompt.text, lasting=prompt.lasting) for prompt in prompts(name, half)]


def rule_examples() -> list[Example]:
    """Return the examples of the rules and vetoes."""
    table = load_data("capture", "statements")
    rows = [
        (text, is_lasting)
        for entry in table["rules"]
        for is_lasting in (True, False)
        for text in entry["hit" if is_lasting else "miss"]
    ]
    rows += [
        (text, is_lasting)
        for entry in table["vetoes"]
        for is_lasting in (True, False)
        for text in entry["miss" if is_lasting else "hit"]
    ]
    return [example(text, lasting=is_lasting) for text, is_lasting in rows]


def labeled(folders: list[str], half: str) -> list[Example]:
    """Return the labeled prompts in one half of the folders, each once; the labels are those of benchmarks/capture_quality.py."""
    with open(LABELS, encoding="utf-8") as file:
        lasting = set(json.load(file)["statements"][half])
    found = {
        text: identity in lasting
        for folder in folders
        for session in sessions(folder)
        if session.half == half
        for identity, _, text in typed(session)
    }
    return [example(text, lasting=is_lasting) for text, is_lasting in found.items()]


class Fit:
    """A logistic regression, fitted by stochastic gradient descent."""

    def __init__(self, examples: list[Example]) -> None:
        counts = Counter(name for row in examples for sentence in row.sentences for name in sentence)
        known = {name for name, number in counts.items() if number >= _MIN_COUNT}
        self.bias = 0.0
        self.weights = dict.fromkeys(sorted(known), 0.0)
        self._negative = {cue_feature(cue.id) for cue in patterns("cues", "cues") if cue.strength < 0}
        self._examples = [
            Example(row.lasting, [_only(known, sentence) for sentence in row.sentences])
            for row in examples
            if row.sentences
        ]

    def run(self) -> Fit:
        """Fit the weights and return self."""
        order = random.Random(1)  # a fixed seed, for the same weights in every run
        for epoch in range(_EPOCHS):
            order.shuffle(self._examples)
            step = _LEARNING_RATE / (1 + epoch * _DECAY)
            for lasting, sentences in self._examples:
                best = max(sentences, key=self.log_odds)
                for sentence in [best] if lasting else sentences:
                    self._learn(sentence, step, lasting=lasting)
        return self

    def log_odds(self, sentence: dict[str, float]) -> float:
        """Return the log-odds that a sentence is a lasting statement."""
        return self.bias + sum(self.weights.get(name, 0.0) * value for name, value in sentence.items())

    def _learn(self, sentence: dict[str, float], step: float, *, lasting: bool) -> None:
        error = 1 / (1 + exp(-max(-30.0, min(30.0, self.log_odds(sentence))))) - lasting
        self.bias -= step * error
        for name, value in sentence.items():
            weight = self.weights[name] - step * (error * value + _L2 * self.weights[name])
            self.weights[name] = min(0.0, weight) if name in self._negative else weight

    def to_json(self) -> dict[str, object]:
        """Return the contents of the file, which maps each weight to the features that have it."""
        groups: dict[float, list[str]] = {}
        for name, weight in self.weights.items():
            if abs(weight) >= _MIN_WEIGHT and SEPARATOR not in name:
                groups.setdefault(round(weight, 2), []).append(name)
        weights = {str(weight): SEPARATOR.join(groups[weight]) for weight in sorted(groups)}
        return {"reason": _REASON, "bias": round(self.bias, 2), "weights": weights}


def _only(names: set[str], sentence: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in sentence.items() if name in names}


def precision_recall(fit: Fit, examples: list[Example]) -> str:
    """Return precision and recall of the weights on a set."""
    found = [
        row
        for row in examples
        if any(fit.log_odds(one) >= THRESHOLDS[len(row.sentences) > 1] for one in row.sentences)
    ]
    right = sum(row.lasting for row in found)
    return "P %s  R %s" % (share(right, len(found)), share(right, sum(row.lasting for row in examples)))


def main() -> int:
    """Fit, and write or print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--without", action="append", choices=SETS, default=[])
    parser.add_argument("--sessions", metavar="FOLDER", action="append", default=[])
    arguments = parser.parse_args()
    written = {name: written_set(name) for name in SETS if name not in arguments.without}
    halves = {half: labeled(arguments.sessions, half) for half in _HALVES if arguments.sessions}
    real = [row for rows in halves.values() for row in rows]
    everything = [*rule_examples(), *(row for rows in written.values() for row in rows)]
    if arguments.write:
        fit = Fit([*everything, *real]).run()
        with open(data_path("capture", "weights") + ".json", "w", encoding="utf-8") as file:
            file.write(json.dumps(fit.to_json(), indent=0, ensure_ascii=False) + "\n")
        print("%d weights" % len(fit.weights))
        return 0
    for name, examples in written.items():
        others = [row for other, rows in written.items() if other != name for row in rows]
        fit = Fit([*rule_examples(), *others, *real]).run()
        print("%-8s %s" % (name, precision_recall(fit, examples)))
    for half, examples in halves.items():
        others = [row for other, rows in halves.items() if other != half for row in rows]
        print("%-8s %s" % (half, precision_recall(Fit([*everything, *others]).run(), examples)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
