"""Fit the model of recall after a failed command and write it to `config/recall/failures.json`.

    failure_train.py --natural DIR                  cross-validate: measure each store with a fit on the others
    failure_train.py --natural DIR --misses         also list the failures that got no relevant memory, or an irrelevant one
    failure_train.py --natural DIR --write          fit on all stores and write the model

`--natural` is a folder of stores (format: `recall_natural.py`), each with events.jsonl {id, kind: "failure", command, error, relevant:
[{id, grade}]}. `benchmarks/made` is always included. The negative examples are failures of other stores, and everyday failures that need no
memory (`benchmarks/made_failures.jsonl`). Fitting needs scikit-learn: `pip install '.[train]'`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from contextlib import closing
from math import log
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_adapter import document
from benchmarks.recall_natural import in_form
from benchmarks.recall_stores import Record, Set, mean, sets
from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.paths import data_path
from memory_plugin.recall.at_tool import FailedCommand, failure_signals
from memory_plugin.recall.confidence import sigmoid
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import transaction
from memory_plugin.recall.index_refresh import create_index_in_memory
from memory_plugin.recall.query import Corpus, analyze
from memory_plugin.recall.ranking import FTS5, rank

HERE = os.path.dirname(os.path.abspath(__file__))
SIGNALS = (
    "answers", "concerns", "title_held", "pairs", "unasked", "spoken", "number", "commanded", "over", "fixing",
)  # fmt: skip
POOL = 15
NEEDED = 2
MAX_TOLD = 3
# Weights of the examples. Negatives from elsewhere are many; a store's own failure without a relevant memory is rare and informative.
OWN, OWN_NEGATIVE, OTHERS = 1.0, 3.0, 0.05
PLAIN = 0.6
INVERSE_REGULARIZATION = 0.02  # C of the logistic regression; chosen by cross-validation over stores
# Probabilities from which a memory is pointed to and injected; chosen by cross-validation, with a margin for other people's stores.
POINT_FROM, INJECT_FROM = 0.5, 0.6
REASONS = {
    "points": "Is this memory worth a pointer after a failed command? Logistic model over the signals of "
    "recall/at_tool.py, even odds where a pointer pays. Fitted by benchmarks/failure_train.py.",
    "injects": "The same model, with even odds where the full text pays.",
}


class Failure(NamedTuple):
    """A failed command in one store: `relevant` maps keys to grades, `hits` are keys with their signals."""

    store: str
    kind: str
    variant: str
    identity: str
    relevant: dict[str, int]
    hits: list[tuple[str, dict[str, float]]]


Weights = dict[str, float]


def events(folder: str) -> list[Record]:
    """Return the failed commands of a store; none where it has no events."""
    path = os.path.join(folder, "events.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [event for event in map(json.loads, file) if event["kind"] == "failure"]


def failures_in(
    memories: Iterable[Record], failures: Iterable[Record], store: str, kind: str, variant: str
) -> list[Failure]:
    """Return the hits of failures in a store of these memories."""
    results = []
    with closing(create_index_in_memory()) as connection:
        with transaction(connection):
            put(connection, (document(record) for record in memories))
        for failure in failures:
            failed = FailedCommand(str(failure["command"]), str(failure["error"]))
            hits = rank(
                Corpus(connection, only_injectable=True), analyze(failed.text), POOL, Deadline(60), FTS5
            )
            signals = failure_signals(failed, hits)
            labels = failure.get("relevant") if kind == "own" else []
            assert isinstance(labels, list)
            relevant = {str(label["id"]): int(label["grade"]) for label in labels}
            keyed = [(hit.key, of_hit) for hit, of_hit in zip(hits, signals)]
            results.append(Failure(store, kind, variant, str(failure.get("id", "")), relevant, keyed))
    return results


def examples(folders: list[str]) -> list[Failure]:
    """Return all examples of the stores in some folders."""
    sources: list[tuple[Set, list[Record]]] = [
        (source, events(os.path.join(folder, source.name))) for folder in folders for source in sets(folder)
    ]
    with open(os.path.join(HERE, "made_failures.jsonl"), encoding="utf-8") as file:
        everyday = [json.loads(line) for line in file]
    found = []
    for source, own in (pair for pair in sources if pair[1]):
        others = [event for other, other_events in sources if other is not source for event in other_events]
        for form in ("phrases", "plain"):
            memories = in_form(source, form)
            found += failures_in(memories, own, source.name, "own", form)
            found += failures_in(memories, others, source.name, "others", form)
            found += failures_in(memories, everyday, source.name, "everyday", form)
        print("%s: %d examples" % (source.name, len(found)), file=sys.stderr, flush=True)
    return found


def fit(failures: list[Failure]) -> Weights:
    """Fit the weights of the signals and the intercept."""
    from sklearn.linear_model import LogisticRegression  # a development extra
    from sklearn.preprocessing import StandardScaler

    rows, labels, weights = [], [], []
    for failure in failures:
        for key, signals in failure.hits:
            rows.append([signals[name] for name in SIGNALS])
            labels.append(key in failure.relevant)
            weights.append(_weight(failure))
    scaler = StandardScaler().fit(rows)
    model = LogisticRegression(C=INVERSE_REGULARIZATION, max_iter=5000)
    model.fit(scaler.transform(rows), labels, sample_weight=weights)
    scaled = model.coef_[0] / scaler.scale_
    fitted = {name: float(weight) for name, weight in zip(SIGNALS, scaled)}
    fitted["intercept"] = float(model.intercept_[0] - (scaled * scaler.mean_).sum())
    return fitted


def _weight(failure: Failure) -> float:
    if failure.kind != "own":
        return OTHERS
    return (OWN if failure.relevant else OWN_NEGATIVE) * (PLAIN if failure.variant == "plain" else 1.0)


def selected(failure: Failure, weights: Weights, threshold: float) -> list[str]:
    """Return the keys of the memories at or above a threshold, the most probable first."""
    scored = [
        (sigmoid(weights["intercept"] + sum(weights[name] * signals[name] for name in SIGNALS)), key)
        for key, signals in failure.hits
    ]
    return [key for probability, key in sorted(scored, reverse=True) if probability >= threshold][:MAX_TOLD]


def leave_one_out(failures: list[Failure], *, misses: bool) -> None:
    """Print the cross-validated figures at several thresholds."""
    models = {
        name: fit([failure for failure in failures if failure.store != name])
        for name in sorted({failure.store for failure in failures})
    }
    for threshold in (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65):
        answers = [(failure, selected(failure, models[failure.store], threshold)) for failure in failures]
        print("from %.2f  %s" % (threshold, _figures(answers)), flush=True)
    if misses:
        for failure in failures:
            answer = selected(failure, models[failure.store], POINT_FROM)
            needed = _needed(failure)
            if (
                failure.kind == "own"
                and failure.variant == "phrases"
                and (needed or answer)
                and not needed & set(answer)
            ):
                print(
                    "%s %s: told %s, expected %s"
                    % (failure.store, failure.identity, answer, sorted(failure.relevant))
                )


def _needed(failure: Failure) -> set[str]:
    return {key for key, grade in failure.relevant.items() if grade == NEEDED}


def _figures(answers: list[tuple[Failure, list[str]]]) -> str:
    parts = [_own_figures(answers, variant) for variant in ("phrases", "plain")]
    parts += [
        "%s %.3f" % (kind, mean([float(bool(keys)) for failure, keys in answers if failure.kind == kind]))
        for kind in ("others", "everyday")
    ]
    right = [key in failure.relevant for failure, keys in answers if failure.kind == "own" for key in keys]
    return "  ".join([*parts, "right %.2f" % mean([float(is_right) for is_right in right])])


def _own_figures(answers: list[tuple[Failure, list[str]]], variant: str) -> str:
    own = [
        (failure, keys) for failure, keys in answers if failure.kind == "own" and failure.variant == variant
    ]
    reached = mean([float(bool(_needed(failure) & set(keys))) for failure, keys in own if _needed(failure)])
    false = mean([float(bool(keys)) for failure, keys in own if not failure.relevant])
    return "%s: reached %.3f false %.3f" % (variant, reached, false)


def write(weights: Weights) -> None:
    """Write the model to the configuration, once for pointers and once for injection."""
    entries = {}
    for name, probability in (("points", POINT_FROM), ("injects", INJECT_FROM)):
        own = dict(weights, intercept=weights["intercept"] - log(probability / (1 - probability)))
        entries[name] = {
            "value": {key: round(value, 4) for key, value in own.items()},
            "reason": REASONS[name],
        }
    with open(data_path("recall", "failures.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps({"entries": entries}, indent=2) + "\n")


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--natural", required=True)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = examples([options.natural, os.path.join(HERE, "made")])
    if options.write:
        write(fit(found))
    else:
        leave_one_out(found, misses=options.misses)
    return 0


if __name__ == "__main__":
    sys.exit(main())
