"""Fit the models behind recall's confidence and write them into `config/recall/trees.json`.

    recall_train.py --natural DIR --sets DIR                    what the shipped models reach, in process
    recall_train.py --natural DIR --sets DIR --leave-one-out    for each store and set, what a fit on the others reaches on it
    recall_train.py --natural DIR --sets DIR --ablation         the same, without one group of signals after the other
    recall_train.py --natural DIR --sets DIR --write            fit, and write the models

`--natural` holds stores of small projects with prompts as people type them (`recall_natural.py` says in which form), `--sets` those of a
retrieval benchmark (`recall_stores.py`); `benchmarks/made` and `benchmarks/harbor` always take part. It needs scikit-learn:
`pip install '.[train]'`. The same data and version give the same models.

What is learned from is each store as it is, without its phrases, cut in half, grown with other stores' memories, and each prompt among 3
and among 30 memories, so that no signal is trusted that grows with a store.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from math import log
from typing import Any, NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_adapter import thresholds
from benchmarks.recall_examples import FOLDS, MADE, SIZES, Pool, examples
from benchmarks.recall_natural import Asked, figures, report, same_side
from benchmarks.recall_stores import Answer, auroc, false_injections, injected, mean
from memory_plugin.kernel.paths import data_path
from memory_plugin.recall.confidence import UNIT, Trees, combine, wants_signals

RISING = (
    "best", "covered", "fields", "held", "matched", "named", "pairs", "phrase", "phrase_covered", "phrase_share", "ratio", "relative",
    "repeated", "root",
    "soft", "strong", "strong_held", "tags", "title", "title_covered", "title_held", "asks_leave", "asks_what_holds", "unlikely",
    "we",
)  # fmt: skip
FALLING = ("missed", "session", "chore")
FREE = ("asked", "forms", "in_files", "length", "phrases", "question", "unasked", "words")
ANSWERS = (*RISING, *FALLING, *FREE)
WANTS_RISING = (
    "most_phrase", "most_covered", "most_title_covered", "most_soft", "most_concerns", "first", "second", "third", "together",
    "asks_what_holds", "asks_leave", "we",
)  # fmt: skip
WANTS_FALLING = ("least_missed", "chore")
WANTS = (
    *WANTS_RISING,
    *WANTS_FALLING,
    "asked",
    "session",
    "words",
    "question",
    "contrast",
    "known",
    "seen",
    "most_strong",
    "most_pairs",
)
DEEPEST_RANK = 6
GROUPS = {
    "phrases": ("phrase", "phrase_covered", "phrase_share", "phrases", "unasked"),
    "title": ("title", "title_covered", "title_held"),
    "forms of prompts": ("asks_leave", "asks_what_holds", "we", "chore", "question"),
    "the running session": ("session",),
    "share covered": ("covered", "strong", "missed"),
    "what is held": ("best", "held", "matched", "strong_held", "unlikely"),
    "fields": ("fields", "in_files", "named", "repeated", "tags"),
    "neighbors": ("pairs",),
    "characters and forms": ("soft", "forms"),
    "score and rank": ("ratio", "relative", "root"),
    "lengths": ("asked", "length", "words"),
}
# What an example weighs, by how its store was made; those of the benchmark's sets are many, and mostly longer questions.
WEIGHTS = {"whole": 1.0, "bare": 0.4, "half": 0.5, "grown": 0.7, "3": 0.6, "30": 0.6, "300": 0.6}
OF_SETS = 0.1
WANTS_OF_SETS = {True: 0.15, False: 1.5}  # own questions, and those of others
KINDS = {
    "cross": 0.4,
    "everyday": 0.4,
    "prompt": 0.4,
    "removed": 0.5,
    "near": 1.5,
    "chore": 1.5,
    "other": 1.5,
}
WANTS_KINDS = {"cross": 0.4, "everyday": 1.0, "prompt": 1.0, "near": 1.1, "chore": 2.0, "other": 3.0}
HELPS = 0.6
# Where even odds are put: a chance that a memory answers, and log-odds that a prompt wants anything; chosen on stores left out.
INJECT_FROM, WANTS_FROM = 0.26, -0.4
REASONS = {
    "answers": "Does this memory bear on the prompt? Boosted trees over the signals of recall/signals.py. "
    "Fitted by benchmarks/recall_train.py.",
    "wants": "Does this prompt want anything stored here? Boosted trees over the signals of its first matches (recall/confidence.py). "
    "Fitted by benchmarks/recall_train.py.",
}


class Fitted(NamedTuple):
    """Both models, as `config/recall/trees.json` has them."""

    answers: Trees
    wants: Trees


# Fitting ---------------------------------------------------------------------------------------------------------------------------------


def fit(pool: Pool, left_out: int, without: tuple[str, ...] = ()) -> Fitted:
    """Return both models fitted on all folds but one, without some signals; -1 leaves no fold out."""
    names, wanted = (tuple(name for name in each if name not in without) for each in (ANSWERS, WANTS))
    natural = [one for one in pool.natural if pool.folds.get(one.store, -1) != left_out or left_out < 0]
    of_sets = [one for one in pool.of_sets if pool.folds.get(one.store, -1) != left_out or left_out < 0]
    rows, labels, weights = [], [], []
    for one, base in [(one, 1.0) for one in natural] + [(one, _of_set(one)) for one in of_sets]:
        for hit in one.hits[:DEEPEST_RANK]:
            rows.append([hit.signals[name] for name in names])
            labels.append(hit.key in one.wanted)
            weights.append(
                base
                * WEIGHTS.get(one.variant, 1.0)
                * KINDS.get(one.kind, 1.0)
                * (HELPS if one.wanted.get(hit.key) == 1 else 1.0)
            )
    answers = boosted(rows, labels, weights, names, RISING, FALLING, trees=80, leaves=6)
    answers.intercept -= log(INJECT_FROM / (1 - INJECT_FROM))
    rows, labels, weights = [], [], []
    set_names = pool.sets
    for one in [*natural, *of_sets]:
        if one.kind != "removed":
            rows.append(_wants_row(one, answers, wanted))
            labels.append(bool(one.wanted))
            weights.append(_wants_weight(one, set_names))
    wants = boosted(rows, labels, weights, wanted, WANTS_RISING, WANTS_FALLING, trees=60, leaves=5)
    wants.intercept -= WANTS_FROM
    return Fitted(answers, wants)


def _of_set(one: Asked) -> float:
    return (
        1.0
        if one.store == "harbor"
        else OF_SETS * (2.0 if one.kind in {"prompt", "everyday", "cross"} else 1.0)
    )


def _wants_weight(one: Asked, names: set[str]) -> float:
    share = WANTS_OF_SETS[one.kind == "own"] if one.store in names else 1.0
    return WEIGHTS.get(one.variant, 1.0) * WANTS_KINDS.get(one.kind, 1.0) * share


def _wants_row(one: Asked, answers: Trees, names: tuple[str, ...]) -> list[float]:
    found = [dict(hit.signals, answers=answers.log_odds(hit.signals)) for hit in one.hits[:DEEPEST_RANK]]
    shared = one.hits[0].signals if one.hits else {}
    signals = wants_signals(shared, found)
    return [signals.get(name, 0.0) for name in names]


def boosted(  # noqa: PLR0913, PLR0917 - what one model is made of
    rows: list[list[float]],
    labels: list[bool],
    weights: list[float],
    names: tuple[str, ...],
    rising: tuple[str, ...],
    falling: tuple[str, ...],
    trees: int,
    leaves: int,
) -> Trees:
    """Return boosted trees that rise and fall with the signals that are said to."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # a development extra

    model = HistGradientBoostingClassifier(
        max_iter=trees, max_leaf_nodes=leaves, learning_rate=0.1, min_samples_leaf=80, l2_regularization=10.0, early_stopping=False,
        random_state=0, monotonic_cst=[(name in rising) - (name in falling) for name in names],
    )  # fmt: skip
    model.fit(rows, labels, sample_weight=weights)
    built = [_tree(predictor[0].nodes, 0) for predictor in model._predictors]  # noqa: SLF001 - there is no public way to its trees
    return Trees(list(names), round(float(model._baseline_prediction[0, 0]), 4), built)  # noqa: SLF001


def _tree(nodes: Any, at: int) -> Any:  # noqa: ANN401 - rows of an untyped library
    node = nodes[at]
    if node["is_leaf"]:
        return round(float(node["value"]) * UNIT)
    threshold = round(float(node["num_threshold"]) * UNIT)
    return [
        int(node["feature_idx"]),
        threshold,
        _tree(nodes, int(node["left"])),
        _tree(nodes, int(node["right"])),
    ]


# Judging a fit ---------------------------------------------------------------------------------------------------------------------------


def apply(asked: list[Asked], fitted: Fitted, settings: dict[str, Any]) -> None:
    """Give every hit the confidences that some models would have given it."""
    for one in asked:
        found = [dict(hit.signals, answers=fitted.answers.log_odds(hit.signals)) for hit in one.hits]
        wants = fitted.wants.log_odds(wants_signals(one.hits[0].signals, found)) if one.hits else 0.0
        for hit, signals in zip(one.hits, found):
            hit.confidence, hit.pointer_confidence = combine({**signals, "wants": wants}, settings)
        one.hits.sort(
            key=lambda hit: (
                -fitted.answers.log_odds(hit.signals) - settings["rank_by_score"] * hit.signals["relative"]
            )
        )


def left_out(pool: Pool, without: tuple[str, ...] = ()) -> None:
    """Give every hit the confidences of models that saw neither its store nor its set, nor some signals."""
    settings = _settings()
    for fold in range(FOLDS):
        fitted = fit(pool, fold, without)
        apply(
            [one for one in [*pool.natural, *pool.of_sets] if pool.folds.get(one.store, 0) == fold],
            fitted,
            settings,
        )


def judge(pool: Pool, limits: tuple[float, float]) -> None:
    """Print what the confidences of all examples reach."""
    natural = [one for one in pool.natural if one.store not in MADE]
    whole_stores = _whole_stores(pool)
    for name in sorted({one.store for one in whole_stores}):
        _line(name, [one for one in whole_stores if one.store == name], limits)
    report(whole_stores, limits)
    for variant in ("bare", "grown"):
        _line(variant, [one for one in natural if one.variant == variant], limits)
    for kind in ("cross", "everyday", "prompt", "removed"):
        _line(kind, [one for one in natural if one.kind == kind], limits)
    sized = [one for one in natural if one.variant in {"3", "30", "300"}]
    print(
        "same side among 3, 30, 300: %.3f, from 30 to 300: %.3f"
        % (same_side(sized, limits[0], (3, 30, 300)), same_side(sized, limits[0], (30, 300)))
    )
    for variant in ("whole", *map(str, SIZES)):
        _judge_sets(
            [one for one in pool.of_sets if one.variant == variant and one.store != "harbor"], limits, variant
        )
    _judge_sets(
        [one for one in pool.of_sets if one.variant == "whole" and one.store == "harbor"], limits, "harbor"
    )


def ablate(pool: Pool, limits: tuple[float, float]) -> None:
    """Print what the whole stores get, on stores left out, without each group of signals."""
    for group, names in {"as it is": (), **GROUPS}.items():
        left_out(pool, names)
        _line(group, _whole_stores(pool), limits)


def _whole_stores(pool: Pool) -> list[Asked]:
    return [
        one
        for one in pool.natural
        if one.store not in MADE
        and one.variant == "whole"
        and one.kind not in {"cross", "everyday", "prompt"}
    ]


def _line(name: str, asked: list[Asked], limits: tuple[float, float]) -> None:
    print(
        "%-16s %4d  %s"
        % (name, len(asked), "  ".join("%s %.2f" % item for item in figures(asked, limits).items())),
        flush=True,
    )


def _judge_sets(asked: list[Asked], limits: tuple[float, float], label: str) -> None:
    stores = [[one for one in asked if one.store == name] for name in sorted({one.store for one in asked})]
    answers = [
        [
            Answer(
                one.kind,
                one.hits,
                [one.wanted.get(hit.key, 0) for hit in one.hits],
                list(one.wanted.values()),
            )
            for one in store
        ]
        for store in stores
    ]
    kinds = ("prompt", "everyday", "cross", "removed")
    hints = [
        mean(
            [
                mean(
                    [
                        float(bool(one.injected(limits) + one.pointed(limits)))
                        for one in store
                        if one.kind == kind
                    ]
                )
                for store in stores
            ]
        )
        for kind in kinds
    ]
    print(
        "%-8s F.5 %.3f  AUROC %s  injected %s  hinted %s"
        % (
            label,
            mean([injected(store, limits[0])[2] for store in answers]),
            " ".join("%.3f" % mean([auroc(store, kind) for store in answers]) for kind in kinds),
            " ".join(
                "%.3f" % mean([false_injections(store, kind, limits[0]) for store in answers])
                for kind in kinds
            ),
            " ".join("%.3f" % hint for hint in hints),
        ),
        flush=True,
    )


def _settings() -> dict[str, Any]:
    with open(data_path("recall", "confidence.json"), encoding="utf-8") as file:
        return {name: entry["value"] for name, entry in json.load(file)["entries"].items()}


def write(fitted: Fitted) -> None:
    """Put the models into the configuration, a tree a line."""
    entries = {
        name: {
            "value": {
                "signals": model.signals,
                "intercept": round(model.intercept, 4),
                "trees": [json.dumps(tree, separators=(",", ":")) for tree in model.trees],
            },
            "reason": REASONS[name],
        }
        for name, model in zip(Fitted._fields, fitted)
    }
    text = json.dumps({"entries": entries}, indent=2)
    with open(data_path("recall", "trees.json"), "w", encoding="utf-8") as file:
        file.write(
            re.sub(r'"([\[\]\d.,e-]+)"', r"\1", text) + "\n"
        )  # the trees, which are text so far, each on its line


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--natural", required=True)
    parser.add_argument("--sets", required=True)
    parser.add_argument("--cache", default="", help="a file to keep the examples in between calls")
    parser.add_argument("--leave-one-out", action="store_true")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    pool = examples(options.natural, options.sets, options.cache)
    if options.ablation:
        ablate(pool, thresholds())
        return 0
    if options.leave_one_out:
        left_out(pool)
    elif options.write:
        fitted = fit(pool, -1)
        apply([*pool.natural, *pool.of_sets], fitted, _settings())
        write(fitted)
    judge(pool, thresholds())
    return 0


if __name__ == "__main__":
    sys.exit(main())
