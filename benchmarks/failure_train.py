"""Fit the confidence of recall after a failed command and write it into `config/recall/failures.json`.

    failure_train.py --natural DIR                  for each store, what a fit on the others reaches on it
    failure_train.py --natural DIR --misses         the same, and what was missed or came uncalled
    failure_train.py --natural DIR --write          fit on all, and write the model

`--natural` holds stores as `recall_natural.py` says, with events.jsonl {id, kind: "failure", command, error, relevant: [{id, grade}]};
`benchmarks/made` always takes part. Nothing may be said on other stores' failures and on those of `benchmarks/made_failures.jsonl`, which
everybody puts right without help. It needs scikit-learn: `pip install '.[train]'`.
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
from benchmarks.recall_natural import current
from benchmarks.recall_stores import Record, Set, mean, sets
from memory_plugin.kernel.paths import data_path
from memory_plugin.recall.confidence import sigmoid
from memory_plugin.recall.failure_confidence import FailedCommand, failure_signals
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import create_index_in_memory, transaction
from memory_plugin.recall.ranking import analyze, rank

HERE = os.path.dirname(os.path.abspath(__file__))
SIGNALS = (
    "answers", "concerns", "title_held", "pairs", "spoken", "number", "commanded", "over", "fixing",
)  # fmt: skip
POOL = 15
NEEDED = 2
MOST_TOLD = 3
# What an example weighs: failures of other stores and those of every day are many; each own one on which nothing bears tells much.
OWN, UNCALLED_OWN, OTHERS = 1.0, 3.0, 0.05
BARE = 0.6
STRENGTH = 0.02  # of the fit against the pull to zero; chosen on stores left out
# Chances from which a memory is pointed at and told in full; chosen on stores left out, with a margin for other people's stores.
POINT_FROM, INJECT_FROM = 0.45, 0.6
REASONS = {
    "points": "Is this memory worth a pointer after a failed command? Logistic model over the signals of "
    "recall/failure_confidence.py, even odds where a pointer pays. Fitted by benchmarks/failure_train.py.",
    "injects": "The same model, with even odds where the full text pays.",
}


class Failure(NamedTuple):
    """A failed command put to a store: `wanted` has the grades of the memories that bear on it, `hits` a key and signals each."""

    store: str
    kind: str
    variant: str
    identity: str
    wanted: dict[str, int]
    hits: list[tuple[str, dict[str, float]]]


Weights = dict[str, float]


def events(folder: str) -> list[Record]:
    """Return the failed commands of a store; none where it has no events."""
    path = os.path.join(folder, "events.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [event for event in map(json.loads, file) if event["kind"] == "failure"]


def put_to(
    memories: Iterable[Record], failures: Iterable[Record], store: str, kind: str, variant: str
) -> list[Failure]:
    """Return what a store of these memories says on some failures."""
    found = []
    with closing(create_index_in_memory()) as connection:
        with transaction(connection):
            put(connection, (document(record) for record in memories))
        for failure in failures:
            failed = FailedCommand(str(failure["command"]), str(failure["error"]))
            hits = rank(connection, analyze(failed.text), POOL, only_injectable=True, now_iso="")
            signals = failure_signals(failed, hits)
            relevant = failure.get("relevant") if kind == "own" else []
            assert isinstance(relevant, list)
            wanted = {str(one["id"]): int(one["grade"]) for one in relevant}
            told = [(hit.key, found) for hit, found in zip(hits, signals)]
            found.append(Failure(store, kind, variant, str(failure.get("id", "")), wanted, told))
    return found


def examples(folders: list[str]) -> list[Failure]:
    """Return all examples of the stores in some folders."""
    sources: list[tuple[Set, list[Record]]] = [
        (source, events(os.path.join(folder, source.name))) for folder in folders for source in sets(folder)
    ]
    with open(os.path.join(HERE, "made_failures.jsonl"), encoding="utf-8") as file:
        everyday = [json.loads(line) for line in file]
    found = []
    for source, own in sources:
        others = [event for other, theirs in sources if other is not source for event in theirs]
        memories = current(source)
        found += put_to(memories, own, source.name, "own", "whole")
        found += put_to([dict(one, asked_as=[]) for one in memories], own, source.name, "own", "bare")
        found += put_to(memories, others, source.name, "others", "whole")
        found += put_to(memories, everyday, source.name, "everyday", "whole")
        print("%s: %d examples" % (source.name, len(found)), file=sys.stderr, flush=True)
    return found


def fit(failures: list[Failure]) -> Weights:
    """Return the weights of the signals, and the intercept."""
    from sklearn.linear_model import LogisticRegression  # a development extra
    from sklearn.preprocessing import StandardScaler

    rows, labels, weights = [], [], []
    for one in failures:
        for key, signals in one.hits:
            rows.append([signals[name] for name in SIGNALS])
            labels.append(key in one.wanted)
            weights.append(_weight(one))
    scaler = StandardScaler().fit(rows)
    model = LogisticRegression(C=STRENGTH, max_iter=5000)
    model.fit(scaler.transform(rows), labels, sample_weight=weights)
    scaled = model.coef_[0] / scaler.scale_
    found = {name: float(weight) for name, weight in zip(SIGNALS, scaled)}
    found["intercept"] = float(model.intercept_[0] - (scaled * scaler.mean_).sum())
    return found


def _weight(one: Failure) -> float:
    if one.kind != "own":
        return OTHERS
    return (OWN if one.wanted else UNCALLED_OWN) * (BARE if one.variant == "bare" else 1.0)


def told(one: Failure, weights: Weights, chance: float) -> list[str]:
    """Return the keys of the memories from a chance on, the surest first."""
    graded = [
        (sigmoid(weights["intercept"] + sum(weights[name] * signals[name] for name in SIGNALS)), key)
        for key, signals in one.hits
    ]
    return [key for sure, key in sorted(graded, reverse=True) if sure >= chance][:MOST_TOLD]


def leave_one_out(failures: list[Failure], *, misses: bool) -> None:
    """Print what is reached on each store by a fit on the others, for several thresholds."""
    models = {
        name: fit([one for one in failures if one.store != name])
        for name in sorted({one.store for one in failures})
    }
    for chance in (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65):
        answers = [(one, told(one, models[one.store], chance)) for one in failures]
        print("from %.2f  %s" % (chance, _figures(answers)), flush=True)
    if misses:
        for one in failures:
            answer = told(one, models[one.store], POINT_FROM)
            needed = _needed(one)
            if (
                one.kind == "own"
                and one.variant == "whole"
                and (needed or answer)
                and not needed & set(answer)
            ):
                print("%s %s: told %s, wanted %s" % (one.store, one.identity, answer, sorted(one.wanted)))


def _needed(one: Failure) -> set[str]:
    return {key for key, grade in one.wanted.items() if grade == NEEDED}


def _figures(answers: list[tuple[Failure, list[str]]]) -> str:
    parts = [_own_figures(answers, variant) for variant in ("whole", "bare")]
    parts += [
        "%s %.3f" % (kind, mean([float(bool(got)) for one, got in answers if one.kind == kind]))
        for kind in ("others", "everyday")
    ]
    right = [key in one.wanted for one, got in answers if one.kind == "own" for key in got]
    return "  ".join([*parts, "right %.2f" % mean([float(one) for one in right])])


def _own_figures(answers: list[tuple[Failure, list[str]]], variant: str) -> str:
    own = [(one, got) for one, got in answers if one.kind == "own" and one.variant == variant]
    reached = mean([float(bool(_needed(one) & set(got))) for one, got in own if _needed(one)])
    uncalled = mean([float(bool(got)) for one, got in own if not one.wanted])
    return "%s: reached %.3f uncalled %.3f" % (variant, reached, uncalled)


def write(weights: Weights) -> None:
    """Put the model into the configuration, once for each way to speak."""
    entries = {}
    for name, chance in (("points", POINT_FROM), ("injects", INJECT_FROM)):
        own = dict(weights, intercept=weights["intercept"] - log(chance / (1 - chance)))
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
