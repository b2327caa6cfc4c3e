"""Fit the two logistic models of `config/recall/confidence.json` on a benchmark's sets, whole and cut down to small stores.

    recall_train_sets.py --data DIR                  fit, and print the weights and what they reach
    recall_train_sets.py --data DIR --check          what the weights as they are reach, on whole sets and on small stores
    recall_train_sets.py --data DIR --leave-one-out  for each set, what a fit on all others reaches on it
    recall_train_sets.py --data DIR --write          fit, and write the weights

Each store counts the same however many queries it has, and the small ones of a set together SMALL_SHARE of what the whole one does.
Whether a prompt concerns a store is learnt within each set, which gets an intercept of its own beside the common weights (fixed effects;
J. M. Wooldridge, "Econometric Analysis of Cross Section and Panel Data", 2010, section 15.8): what parts one set from the next, such as its
language and length, is not what parts its own prompts from others, and a set that comes later has its own as well.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from math import exp
from operator import mul
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_stores import Answer, Set, auroc, false_injections, injected, mean, sets, small, whole
from memory_plugin.kernel.paths import data_path
from memory_plugin.recall.confidence import logistic

CONCERNS = ("known", "contrast", "matched", "surprise", "session", "title")
STANDS_OUT = ("lead", "margin", "seen", "title", "held", "asked", "relative")
# Set by hand: the sets hold hardly a name of a file, and no memory that lists its files.
NAMED = 1.5
SIZES = {3: 16, 6: 12, 20: 8, 60: 6, 200: 4}  # size of a small store: how many of it per set
KINDS = ("prompt", "everyday", "cross")
TOP = 4
SMALL_SHARE = 0.3
FLOOR = 0.5
RIDGE = 0.3
MOST_FALSE = 0.01


# Memories of a made-up project and prompts as people type them into a coding session, most of them shorter than a benchmark's questions.
MADE = "harbor"
MIXED = 8  # stores that together count as much as one whole set


class Store(NamedTuple):
    """The answers over one store, with the name of its set and its size, 0 for the whole set; `among` another set's documents, or ""."""

    name: str
    size: int
    answers: list[Answer]
    among: str = ""


class Row(NamedTuple):
    """One example of a logistic model, from a store of the set of that name."""

    name: str
    signals: list[float]
    label: float
    weight: float


def stores(data: str) -> list[Store]:
    """Return all stores to learn from: those of a benchmark, and those of the made-up set, alone and among the documents of the others."""
    (made,) = sets(os.path.dirname(os.path.abspath(__file__)), MADE)
    others = sets(data)
    found = [Store(MADE, 0, whole(_among(made, other)), other.name) for other in others]
    for source in [*others, made]:
        found.append(Store(source.name, 0, whole(source)))
        found += [
            Store(source.name, size, small(source, size, seed))
            for size, times in SIZES.items()
            for seed in range(times)
        ]
    return found


def _among(source: Set, other: Set) -> Set:
    """Return a set whose few memories are among the documents of another one."""
    negatives = source.negatives + [record for record in other.negatives if record["kind"] == "prompt"]
    return source._replace(corpus=source.corpus + other.corpus, negatives=negatives)


def fit(rows: list[Row], names: tuple[str, ...]) -> dict[str, float]:
    """Return the weights of a ridge logistic regression, by Newton's method (iteratively reweighted least squares)."""
    means, scales = _centred(rows)
    beta = _newton(
        [
            (
                [1.0] + [(value - mean_) / scale for value, mean_, scale in zip(row.signals, means, scales)],
                row,
            )
            for row in rows
        ]
    )
    weights = {name: value / scale for name, value, scale in zip(names, beta[1:], scales)}
    weights["intercept"] = beta[0] - sum(
        value * mean_ / scale for value, mean_, scale in zip(beta[1:], means, scales)
    )
    return weights


def fit_within(rows: list[Row], names: tuple[str, ...]) -> dict[str, float]:
    """Return weights as `fit` does, learned within the sets: each set has its own intercept, and a common one replaces them afterwards."""
    others = sorted({row.name for row in rows})[1:]
    marked = [
        row._replace(signals=row.signals + [float(row.name == name) for name in others]) for row in rows
    ]
    weights = {name: value for name, value in fit(marked, (*names, *others)).items() if name in names}
    low, high = -50.0, 50.0
    while high - low > 1e-4:
        weights["intercept"] = (low + high) / 2
        guessed = sum(row.weight * logistic(dict(zip(names, row.signals)), weights) for row in rows)
        if guessed < sum(row.weight * row.label for row in rows):
            low = weights["intercept"]
        else:
            high = weights["intercept"]
    return weights


def _centred(rows: list[Row]) -> tuple[list[float], list[float]]:
    """Return the weighted mean and standard deviation of each signal."""
    whole_weight = sum(row.weight for row in rows)
    columns = list(zip(*(row.signals for row in rows)))
    means = [sum(row.weight * value for row, value in zip(rows, column)) / whole_weight for column in columns]
    scales = [
        (sum(row.weight * (value - mean_) ** 2 for row, value in zip(rows, column)) / whole_weight) ** 0.5
        + 1e-9
        for column, mean_ in zip(columns, means)
    ]
    return means, scales


def _newton(points: list[tuple[list[float], Row]]) -> list[float]:
    """Return the coefficients for points whose first coordinate is 1."""
    size = len(points[0][0])
    beta = [0.0] * size
    for _ in range(8):
        slope = [-RIDGE * value if at else 0.0 for at, value in enumerate(beta)]
        curve = [[RIDGE * (at == to and at > 0) for to in range(size)] for at in range(size)]
        for point, row in points:
            guess = 1 / (1 + exp(-max(-30.0, min(30.0, sum(map(mul, beta, point))))))
            pull, bend = row.weight * (row.label - guess), row.weight * guess * (1 - guess)
            for at in range(size):
                slope[at] += pull * point[at]
                bent = bend * point[at]
                line = curve[at]
                for to in range(at, size):
                    line[to] += bent * point[to]
        for at in range(size):
            for to in range(at):
                curve[at][to] = curve[to][at]
        beta = [value + step for value, step in zip(beta, solved(curve, slope))]
    return beta


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a system of linear equations by elimination with pivots."""
    rows = [[*line, value] for line, value in zip(matrix, right)]
    size = len(rows)
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(rows[row][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for row in range(at + 1, size):
            factor = rows[row][at] / rows[at][at]
            rows[row] = [value - factor * above for value, above in zip(rows[row], rows[at])]
    found = [0.0] * size
    for at in reversed(range(size)):
        found[at] = (rows[at][size] - sum(rows[at][to] * found[to] for to in range(at + 1, size))) / rows[at][
            at
        ]
    return found


def share(store: Store) -> float:
    """Return the total weight of a store's examples."""
    if store.among:
        return 100.0 / MIXED
    return 100.0 if not store.size else 100.0 * SMALL_SHARE / len(SIZES) / SIZES[store.size]


def concern_rows(learnt: list[Store]) -> list[Row]:
    """Return the first hits: 1 for an own query, 0 for a negative of another project; removed ones are left out."""
    rows = []
    for store in learnt:
        heads = [answer for answer in store.answers if answer.hits and answer.kind != "removed"]
        own = sum(answer.kind == "own" for answer in heads)
        for answer in heads:
            label = float(answer.kind == "own")
            weight = share(store) / 2 / (own if label else len(heads) - own)
            rows.append(
                Row(
                    store.name + store.among,
                    [answer.hits[0].signals[name] for name in CONCERNS],
                    label,
                    weight,
                )
            )
    return rows


def answer_rows(learnt: list[Store]) -> list[Row]:
    """Return the first hits of every query: 1 for a relevant one."""
    rows = []
    for store in learnt:
        each = share(store) * 4 / sum(len(answer.hits[:TOP]) for answer in store.answers)
        for answer in store.answers:
            for hit, grade in zip(answer.hits[:TOP], answer.grades):
                weight = each * {"own": 1.0, "removed": 0.5}.get(answer.kind, 2.0)
                rows.append(
                    Row(store.name, [hit.signals[name] for name in STANDS_OUT], float(grade > 0), weight)
                )
    return rows


def learn(learnt: list[Store], base: float) -> dict[str, dict[str, float]]:
    """Return both models, the second one shifted so that 0.5 is the best threshold."""
    model = {
        "concerns": fit_within(concern_rows(learnt), CONCERNS),
        "stands_out": fit(answer_rows(learnt), STANDS_OUT),
    }
    model["stands_out"]["named"] = NAMED
    start = model["stands_out"]["intercept"]
    best = (-1.0, start)
    for step in range(-8, 17):
        model["stands_out"]["intercept"] = start + step * 0.15
        best = max(best, (worth(learnt, model, base), start + step * 0.15))
    model["stands_out"]["intercept"] = best[1]
    return {
        part: {name: round(value, 3) for name, value in weights.items()} for part, weights in model.items()
    }


def worth(learnt: list[Store], model: dict[str, dict[str, float]], base: float) -> float:
    """Return the mean F.5 at the threshold over complete sets, minus a penalty for false injections, in small stores too."""
    learnt = [store for store in learnt if store.name != MADE]
    apply(learnt, model, base)
    wholes = [store.answers for store in learnt if not store.size]
    reached = mean([injected(answers, FLOOR)[2] for answers in wholes])
    for group in (wholes, [store.answers for store in learnt if store.size]):
        for kind in ("prompt", "everyday"):
            false = mean([false_injections(answers, kind, FLOOR) for answers in group])
            reached -= 10 * max(0.0, false - MOST_FALSE)
    return float(reached)


def apply(asked: list[Store], model: dict[str, dict[str, float]], base: float) -> None:
    """Give every hit the confidence that a model would have given it."""
    for store in asked:
        for answer in store.answers:
            for hit in answer.hits:
                concerns, ahead = (logistic(hit.signals, model[part]) for part in ("concerns", "stands_out"))
                hit.confidence = concerns * (base + (1 - base) * ahead)


def report(title: str, asked: list[Store]) -> None:
    """Print what the confidences of some stores reach: whole sets and each small size apart, then the whole made set."""
    for size in sorted({store.size for store in asked}):
        report_group(
            title, str(size or "whole"), [one for one in asked if one.size == size and one.name != MADE]
        )
    report_group(title, MADE, [one for one in asked if not one.size and one.name == MADE and not one.among])
    report_group(title, "among", [one for one in asked if one.among])


def report_group(title: str, label: str, stores: list[Store]) -> None:
    """Print what the confidences of stores reach, averaged over them; nothing for none."""
    group = [store.answers for store in stores]
    if group:
        figures = [mean([auroc(answers, kind) for answers in group]) for kind in (*KINDS, "removed")]
        false = [
            mean([false_injections(answers, kind, FLOOR) for answers in group])
            for kind in (*KINDS, "removed")
        ]
        pooled = [injected(answers, FLOOR) for answers in group]
        precision, recall, f_half = (mean([one[at] for one in pooled]) for at in range(3))
        print(
            "%-10s %5s | AUROC %s | P %.3f R %.3f F.5 %.3f | false %s"
            % (
                title,
                label,
                " ".join("%.4f" % value for value in figures),
                precision,
                recall,
                f_half,
                " ".join("%.3f" % value for value in false),
            ),
            flush=True,
        )


def leave_one_out(found: list[Store], base: float) -> None:
    """Print for each set, and over all, what a model learnt from the other sets reaches."""
    kept: dict[int, list[list[float]]] = {}
    for name in sorted({store.name for store in found} - {MADE}):
        mine = [store for store in found if store.name == name]
        model = learn([store for store in found if name not in (store.name, store.among)], base)
        apply(mine, model, base)
        report(name, [store for store in mine if not store.size])
        for store in mine:
            kept[id(store)] = [[hit.confidence for hit in answer.hits] for answer in store.answers]
    found = [store for store in found if store.name != MADE]
    for store in found:
        for answer, values in zip(store.answers, kept[id(store)]):
            for hit, value in zip(answer.hits, values):
                hit.confidence = value
    report("left out", found)


def write(model: dict[str, dict[str, float]]) -> None:
    """Write the weights into the configuration."""
    path = data_path("recall", "confidence.json")
    with open(path, encoding="utf-8") as file:
        configuration = json.load(file)
    for part, weights in model.items():
        configuration["entries"][part]["value"] = weights
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(configuration, indent=2) + "\n")


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--base", type=float, default=0.3)
    parser.add_argument("--leave-one-out", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    found = stores(options.data)
    report("now", found)
    if options.check:
        return 0
    if options.leave_one_out:
        leave_one_out(found, options.base)
        return 0
    model = learn(found, options.base)
    apply(found, model, options.base)
    report("learnt", found)
    print(json.dumps(model, indent=1))
    if options.write:
        write(model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
