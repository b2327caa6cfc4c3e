"""Fit the models behind recall's confidence and write them into `config/recall/trees.json`.

    recall_train.py --natural DIR --sets DIR                    measure the shipped models, in process
    recall_train.py --natural DIR --sets DIR --leave-one-out    cross-validate: measure each store and set with a fit on the others
    recall_train.py --natural DIR --sets DIR --ablation         cross-validate without each group of signals in turn
    recall_train.py --natural DIR --sets DIR --write            fit and write the models

`--natural` is a folder of small projects' stores with prompts as people type them (format: `recall_natural.py`), `--sets` a folder of a
retrieval benchmark's sets (format: `recall_stores.py`). Our own `harbor`, `made/invoicing` and `made/reservas` are always included. Fitting
needs scikit-learn (`pip install '.[train]'`); the same data and version give the same models.

The training examples use each store in several variants: unchanged, with plain memories, and with half of each. Examples of stores that
were cut down or grown with other stores' memories, and more of the sets, made the models worse at prompts as people type them: of the plain
memories that a prompt needs, left-out stores then reach 57% instead of 64% at the same number of pointers without use.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from math import floor, log
from types import SimpleNamespace
from typing import Any, NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_adapter import thresholds
from benchmarks.recall_examples import FOLDS, MADE, Pool, examples
from benchmarks.recall_natural import MIXED, PromptResult, print_figures, report
from benchmarks.recall_stores import Answer, auroc, false_injections, injected, mean
from memory_plugin.kernel.paths import data_path
from memory_plugin.recall.confidence import combine, wants_signals
from memory_plugin.recall.query import UNIT, Trees

RISING = (
    "best", "covered", "fields", "held", "matched", "named", "opening_covered", "opening_held", "pairs", "phrase", "phrase_covered",
    "phrase_share", "ratio",
    "relative", "repeated", "root", "soft", "strong", "strong_held", "tags", "title", "title_covered", "title_head", "title_held",
    "unlikely", "we", "asks_for_work", "asks_leave", "asks_what_holds",
)  # fmt: skip
FALLING = ("missed", "session", "chore", "elsewhere")
FREE = ("asked", "fixes", "forms", "in_files", "length", "phrases", "question", "unasked", "words")
ANSWERS = (*RISING, *FALLING, *FREE)
WANTS_RISING = (
    "most_phrase", "most_covered", "most_title_covered", "most_soft", "most_concerns", "first", "second", "third", "together",
    "asks_what_holds", "asks_leave", "asks_for_work", "we",
)  # fmt: skip
WANTS_FALLING = ("least_missed", "chore", "elsewhere")
WANTS = (
    *WANTS_RISING, *WANTS_FALLING,
    "asked", "session", "words", "question", "contrast", "known", "seen", "most_strong", "most_pairs",
)  # fmt: skip
MAX_RANK = 6
# The models compare whole units of 1/10,000. With more digits, a fit splits at differences that they do not see, such as between 1 and
# 1 - 1e-11.
DIGITS = 4
GROUPS = {
    "phrases": ("phrase", "phrase_covered", "phrase_share", "phrases", "unasked"),
    "title": ("title", "title_covered", "title_head", "title_held"),
    "forms of prompts": (
        "asks_for_work",
        "asks_leave",
        "asks_what_holds",
        "we",
        "chore",
        "elsewhere",
        "question",
    ),
    "opening": ("opening_covered", "opening_held"),
    "the running session": ("session",),
    "share covered": ("covered", "strong", "missed"),
    "what is held": ("best", "held", "matched", "strong_held", "unlikely"),
    "fields": ("fields", "in_files", "named", "repeated", "tags"),
    "neighbors": ("pairs",),
    "characters and forms": ("soft", "forms"),
    "score and rank": ("ratio", "relative", "root"),
    "lengths": ("asked", "length", "words"),
    "category": ("fixes",),
}
# The weight of an example by the variant of its store. Benchmark sets weigh less: they have many examples, mostly longer questions.
VARIANT_WEIGHTS = {"mixed": 0.5, "mixed again": 0.5}  # the others have 1
SET_WEIGHT = 0.1
WANTS_SET_WEIGHT = {True: 0.15, False: 1.5}  # by whether the question belongs to the set
KIND_WEIGHTS = {
    "cross": 0.4,
    "everyday": 0.4,
    "prompt": 0.4,
    "removed": 0.5,
    "near": 1.5,
    "chore": 1.5,
    "other": 1.5,
}
WANTS_KIND_WEIGHTS = {"cross": 0.4, "everyday": 1.0, "prompt": 1.0, "near": 1.1, "chore": 2.0, "other": 3.0}
HELPS_WEIGHT = 0.6
# The intercepts are shifted so that these become even odds: a probability that a memory answers, and log-odds that a prompt wants any
# memory. Chosen by cross-validation over stores.
INJECT_FROM, WANTS_FROM = 0.49, -0.90
REASONS = {
    "answers": "Does this memory bear on the prompt? Boosted trees over the signals of recall/confidence.py. "
    "Fitted by benchmarks/recall_train.py.",
    "wants": "Does this prompt want anything stored here? Boosted trees over the signals of its first matches (recall/confidence.py). "
    "Fitted by benchmarks/recall_train.py.",
}


class Fitted(NamedTuple):
    """Both models of `config/recall/trees.json`."""

    answers: Trees
    wants: Trees


# Fitting ---------------------------------------------------------------------------------------------------------------------------------


def fit(pool: Pool, left_out: int, without: tuple[str, ...] = ()) -> Fitted:
    """Fit both models on all folds except `left_out` (-1 for none), without the signals named in `without`."""
    names, wants_names = (tuple(name for name in each if name not in without) for each in (ANSWERS, WANTS))
    natural = [
        result for result in pool.natural if pool.folds.get(result.store, -1) != left_out or left_out < 0
    ]
    of_sets = [
        result for result in pool.of_sets if pool.folds.get(result.store, -1) != left_out or left_out < 0
    ]
    rows, labels, weights = [], [], []
    for result, base in [(result, 1.0) for result in natural] + [
        (result, _set_weight(result)) for result in of_sets
    ]:
        for hit in result.hits[:MAX_RANK]:
            rows.append([round(hit.signals[name], DIGITS) for name in names])
            labels.append(hit.key in result.relevant)
            weights.append(
                base
                * VARIANT_WEIGHTS.get(result.variant, 1.0)
                * KIND_WEIGHTS.get(result.kind, 1.0)
                * (HELPS_WEIGHT if result.relevant.get(hit.key) == 1 else 1.0)
            )
    answers = boosted(rows, labels, weights, names, RISING, FALLING, trees=80, leaves=6)
    answers.intercept -= log(INJECT_FROM / (1 - INJECT_FROM))
    rows, labels, weights = [], [], []
    set_names = pool.sets
    for result in [*natural, *of_sets]:
        if result.kind != "removed":
            rows.append(_wants_row(result, answers, wants_names))
            labels.append(bool(result.relevant))
            weights.append(_wants_weight(result, set_names))
    wants = boosted(rows, labels, weights, wants_names, WANTS_RISING, WANTS_FALLING, trees=60, leaves=5)
    wants.intercept -= WANTS_FROM
    return Fitted(answers, wants)


def _set_weight(result: PromptResult) -> float:
    return (
        1.0
        if result.store == "harbor"
        else SET_WEIGHT * (2.0 if result.kind in {"prompt", "everyday", "cross"} else 1.0)
    )


def _wants_weight(result: PromptResult, names: set[str]) -> float:
    share = WANTS_SET_WEIGHT[result.kind == "own"] if result.store in names else 1.0
    return VARIANT_WEIGHTS.get(result.variant, 1.0) * WANTS_KIND_WEIGHTS.get(result.kind, 1.0) * share


def _wants_row(result: PromptResult, answers: Trees, names: tuple[str, ...]) -> list[float]:
    # The order in which the product computes this, before the trees reorder the hits.
    hits = sorted(result.hits[:MAX_RANK], key=lambda hit: -hit.score)
    hit_signals = [dict(hit.signals, answers=answers.log_odds(hit.signals)) for hit in hits]
    shared = hits[0].signals if hits else {}
    signals = wants_signals(shared, hit_signals)
    return [round(signals.get(name, 0.0), DIGITS) for name in names]


def boosted(  # noqa: PLR0913, PLR0917 - the parts of one model
    rows: list[list[float]],
    labels: list[bool],
    weights: list[float],
    names: tuple[str, ...],
    rising: tuple[str, ...],
    falling: tuple[str, ...],
    trees: int,
    leaves: int,
) -> Trees:
    """Fit boosted trees that are monotonic in the `rising` and `falling` signals."""
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
    threshold = floor(float(node["num_threshold"]) * UNIT)
    return [
        int(node["feature_idx"]),
        threshold,
        _tree(nodes, int(node["left"])),
        _tree(nodes, int(node["right"])),
    ]


# Measuring a fit --------------------------------------------------------------------------------------------------------------------------


def apply(results: list[PromptResult], fitted: Fitted, settings: dict[str, Any]) -> None:
    """Set the confidences of every hit to those of the given models."""
    model: Any = SimpleNamespace(confidence=settings)
    for result in results:
        result.hits.sort(key=lambda hit: -hit.score)
        hit_signals = [dict(hit.signals, answers=fitted.answers.log_odds(hit.signals)) for hit in result.hits]
        wants = (
            fitted.wants.log_odds(wants_signals(result.hits[0].signals, hit_signals)) if result.hits else 0.0
        )
        for hit, signals in zip(result.hits, hit_signals):
            hit.confidence, hit.pointer_confidence = combine({**signals, "wants": wants}, model)
        result.hits.sort(
            key=lambda hit: (
                -fitted.answers.log_odds(hit.signals) - settings["rank_by_score"] * hit.signals["relative"]
            )
        )


def apply_left_out(pool: Pool, without: tuple[str, ...] = ()) -> None:
    """Set the confidences of every hit to those of models that were fitted without its fold and without the signals in `without`."""
    settings = _settings()
    for fold in range(FOLDS):
        fitted = fit(pool, fold, without)
        apply(
            [result for result in [*pool.natural, *pool.of_sets] if pool.folds.get(result.store, 0) == fold],
            fitted,
            settings,
        )


def judge(pool: Pool, limits: tuple[float, float]) -> None:
    """Print the figures of all examples at their current confidences."""
    for forms in (("phrases",), ("plain",), MIXED):
        stores = _stores(pool, forms)
        for name in sorted({result.store for result in stores}):
            print_figures(name, [result for result in stores if result.store == name], limits)
        report(stores, limits, forms[0])
    of_sets = [result for result in pool.of_sets if result.store != "harbor"]
    _judge_sets(of_sets, limits, "sets")
    _judge_sets([result for result in pool.of_sets if result.store == "harbor"], limits, "harbor")


def ablate(pool: Pool, limits: tuple[float, float]) -> None:
    """Print the cross-validated figures of the stores, with phrases and plain, without each group of signals in turn."""
    for group, names in {"as it is": (), **GROUPS}.items():
        apply_left_out(pool, names)
        for form in ("phrases", "plain"):
            print_figures("%s, %s" % (group, form), _stores(pool, (form,)), limits)


def _stores(pool: Pool, forms: tuple[str, ...]) -> list[PromptResult]:
    return [result for result in pool.natural if result.store not in MADE and result.variant in forms]


def _judge_sets(results: list[PromptResult], limits: tuple[float, float], label: str) -> None:
    stores = [
        [result for result in results if result.store == name]
        for name in sorted({result.store for result in results})
    ]
    answers = [
        [
            Answer(
                result.kind,
                result.hits,
                [result.relevant.get(hit.key, 0) for hit in result.hits],
                list(result.relevant.values()),
            )
            for result in store
        ]
        for store in stores
    ]
    kinds = ("prompt", "everyday", "cross", "removed")
    hints = [
        mean(
            [
                mean(
                    [
                        float(bool(result.injected(limits) + result.pointed(limits)))
                        for result in store
                        if result.kind == kind
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
    """Write the models to the configuration, one tree per line."""
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
        )  # unquote the trees, which were dumped as strings to keep each on one line


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
        apply_left_out(pool)
    elif options.write:
        fitted = fit(pool, -1)
        apply([*pool.natural, *pool.of_sets], fitted, _settings())
        write(fitted)
    judge(pool, thresholds())
    return 0


if __name__ == "__main__":
    sys.exit(main())
