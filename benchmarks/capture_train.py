"""Fit the weights of `config/capture/weights.json`: how much each word, cue and rule speaks for a sentence that is meant to last.

    capture_train.py                   for each set of `made_statements.jsonl`, what a fit on the others reaches on it
    capture_train.py --write           fit on all but the sets named by --without, and write the weights
    capture_train.py --without eighth  leave a set out: one from which nothing is to be learned
    capture_train.py --sessions FOLDER learn from the labeled prompts of public sessions as well, and say what a fit with one half of
                                       them reaches on the other

`config/capture/weights.json` was written with `--without eighth --sessions FOLDER --write`. What people write
when they have nothing to keep is hard to make up.

The examples of `config/capture/statements.json` always take part. A prompt with a lasting statement teaches by its most promising sentence,
any other by all its sentences. Logistic regression by stochastic descent from a fixed seed: the same data give the same weights.
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
from memory_plugin.capture.cues import cues, cues_in
from memory_plugin.capture.own_words import own_sentences
from memory_plugin.capture.statements import is_ruled
from memory_plugin.capture.worth import RULE, SEPARATOR, cue_feature, least_worth, word_features, word_scale
from memory_plugin.kernel.data import load_data
from memory_plugin.kernel.paths import data_path
from memory_plugin.kernel.stats import share

_ROUNDS, _STEP, _SLOWER, _SHRINK = 30, 0.15, 0.2, 0.03
_FEWEST = 2  # prompts that hold a feature which is learned
_LEAST = 0.03  # weight that is kept
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
    of_words = word_features(sentence)
    found = dict.fromkeys(of_words, word_scale(of_words))
    found.update({cue_feature(cue.id): 1.0 for cue in cues_in(sentence)})
    return {**found, RULE: 1.0} if is_ruled(sentence) else found


def example(text: str, *, lasting: bool) -> Example:
    """Return a prompt as it teaches."""
    return Example(lasting, [features(sentence) for sentence in own_sentences(text)])


def made(name: str) -> list[Example]:
    """Return the prompts of a set."""
    return [example(prompt.text, lasting=prompt.lasting) for prompt in prompts(name)]


def given() -> list[Example]:
    """Return the examples of the rules and of what speaks against them."""
    table = load_data("capture", "statements")
    rows = [
        (text, good)
        for entry in table["rules"]
        for good in (True, False)
        for text in entry["hit" if good else "miss"]
    ]
    rows += [
        (text, good)
        for entry in table["vetoes"]
        for good in (True, False)
        for text in entry["miss" if good else "hit"]
    ]
    return [example(text, lasting=good) for text, good in rows]


def labeled(folder: str, half: str) -> list[Example]:
    """Return the prompts of one half of a folder of transcripts, with the labels of benchmarks/capture_quality.py."""
    with open(LABELS, encoding="utf-8") as file:
        lasting = set(json.load(file)["statements"][half])
    return [
        example(text, lasting=identity in lasting)
        for session in sessions(folder)
        if session.half == half
        for identity, _, text in typed(session)
    ]


class Fit:
    """Weights that are being fitted."""

    def __init__(self, examples: list[Example]) -> None:
        counts = Counter(name for one in examples for sentence in one.sentences for name in sentence)
        known = {name for name, number in counts.items() if number >= _FEWEST}
        self.bias = 0.0
        self.weights = dict.fromkeys(sorted(known), 0.0)
        self._against = {cue_feature(cue.id) for cue in cues() if cue.weight < 0}
        self._examples = [
            (
                one.lasting,
                [{name: value for name, value in each.items() if name in known} for each in one.sentences],
            )
            for one in examples
            if one.sentences
        ]

    def run(self) -> Fit:
        """Fit the weights, and return them."""
        order = random.Random(1)  # the same order each time
        for number in range(_ROUNDS):
            order.shuffle(self._examples)
            step = _STEP / (1 + number * _SLOWER)
            for lasting, sentences in self._examples:
                best = max(sentences, key=self.worth)
                for sentence in [best] if lasting else sentences:
                    self._learn(sentence, step, lasting=lasting)
        return self

    def worth(self, sentence: dict[str, float]) -> float:
        """Return what a sentence is worth."""
        return self.bias + sum(self.weights.get(name, 0.0) * value for name, value in sentence.items())

    def _learn(self, sentence: dict[str, float], step: float, *, lasting: bool) -> None:
        wrong = 1 / (1 + exp(-max(-30.0, min(30.0, self.worth(sentence))))) - lasting
        self.bias -= step * wrong
        for name, value in sentence.items():
            weight = self.weights[name] - step * (wrong * value + _SHRINK * self.weights[name])
            self.weights[name] = min(0.0, weight) if name in self._against else weight

    def kept(self) -> dict[str, object]:
        """Return what the file holds: for each weight, the features that have it."""
        groups: dict[float, list[str]] = {}
        for name, weight in self.weights.items():
            if abs(weight) >= _LEAST and SEPARATOR not in name:
                groups.setdefault(round(weight, 2), []).append(name)
        weights = {str(weight): SEPARATOR.join(groups[weight]) for weight in sorted(groups)}
        return {"reason": _REASON, "bias": round(self.bias, 2), "weights": weights}


def reached(fit: Fit, asked: list[Example]) -> str:
    """Return precision and recall on a set, without what the rules find by themselves."""
    found = [
        one
        for one in asked
        if any(fit.worth(each) >= least_worth(len(one.sentences)) for each in one.sentences)
    ]
    right = sum(one.lasting for one in found)
    return "P %s  R %s" % (share(right, len(found)), share(right, sum(one.lasting for one in asked)))


def main() -> int:
    """Fit, and write or print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--without", action="append", choices=SETS, default=[])
    parser.add_argument("--sessions", metavar="FOLDER")
    arguments = parser.parse_args()
    known = {name: made(name) for name in SETS if name not in arguments.without}
    halves = {half: labeled(arguments.sessions, half) for half in _HALVES} if arguments.sessions else {}
    real = [one for each in halves.values() for one in each]
    everything = [*given(), *(one for each in known.values() for one in each)]
    if arguments.write:
        fit = Fit([*everything, *real]).run()
        with open(data_path("capture", "weights") + ".json", "w", encoding="utf-8") as file:
            file.write(json.dumps(fit.kept(), indent=0, ensure_ascii=False) + "\n")
        print("%d weights" % len(fit.weights))
        return 0
    for name, asked in known.items():
        others = [one for other, each in known.items() if other != name for one in each]
        print("%-8s %s" % (name, reached(Fit([*given(), *others, *real]).run(), asked)))
    for half, asked in halves.items():
        others = [one for other, each in halves.items() if other != half for one in each]
        print("%-8s %s" % (half, reached(Fit([*everything, *others]).run(), asked)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
