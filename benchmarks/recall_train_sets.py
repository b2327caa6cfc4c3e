"""Fit the two logistic models of `config/recall/confidence.json` on a benchmark's sets, whole and cut down to small stores.

    recall_train_sets.py --data DIR                  fit, and print the weights and what they reach
    recall_train_sets.py --data DIR --check          what the weights as they are reach, on whole sets and on small stores
    recall_train_sets.py --data DIR --leave-one-out  for each set, what a fit on all others reaches on it
    recall_train_sets.py --data DIR --write          fit, and write the weights

Each store has the same weight, however many queries it has; the small stores of a set together weigh SMALL_SHARE of the whole set. The
`concerns` model is fitted within sets: each set has its own intercept next to the common weights (fixed effects; J. M. Wooldridge,
"Econometric Analysis of Cross Section and Panel Data", 2010, section 15.8). Differences between sets, such as language and length, say
nothing about whether a prompt belongs to a store.
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
NAMED = 1.5  # set by hand, because hardly any prompt of the sets names a file
SIZES = {3: 16, 6: 12, 20: 8, 60: 6, 200: 4}  # size of a small store: how many of them per set
KINDS = ("prompt", "everyday", "cross")
TOP = 4
SMALL_SHARE = 0.3
THRESHOLD = 0.5
RIDGE = 0.3
MAX_FALSE = 0.01


# Memories of a made-up project and prompts as people type them into a coding session, most of them shorter than a benchmark's questions.
MADE = "harbor"
MIXED = 8  # this many mixed stores together weigh as much as one whole set


class Store(NamedTuple):
    """The answers in one store; `size` is 0 for the whole set, `among` names another set whose documents were added, or ""."""

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
    """Return all training stores: those of the benchmark, and the made-up set, alone and among the documents of each other set."""
    (made,) = sets(os.path.dirname(os.path.abspath(__file__)), MADE)
    others = sets(data)
    loaded = [Store(MADE, 0, whole(_among(made, other)), other.name) for other in others]
    for source in [*others, made]:
        loaded.append(Store(source.name, 0, whole(source)))
        loaded += [
            Store(source.name, size, small(source, size, seed))
            for size, times in SIZES.items()
            for seed in range(times)
        ]
    return loaded


def _among(source: Set, other: Set) -> Set:
    """Return a set with the documents of another set added."""
    negatives = source.negatives + [record for record in other.negatives if record["kind"] == "prompt"]
    return source._replace(corpus=source.corpus + other.corpus, negatives=negatives)


def fit(rows: list[Row], names: tuple[str, ...]) -> dict[str, float]:
    """Fit a ridge logistic regression by Newton's method (iteratively reweighted least squares), and return its weights."""
    means, scales = _means_and_deviations(rows)
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
    """Fit with one intercept per set, and return the weights with a common intercept that gives the right mean probability."""
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


def _means_and_deviations(rows: list[Row]) -> tuple[list[float], list[float]]:
    """Return the weighted mean and standard deviation of each signal."""
    total_weight = sum(row.weight for row in rows)
    columns = list(zip(*(row.signals for row in rows)))
    means = [sum(row.weight * value for row, value in zip(rows, column)) / total_weight for column in columns]
    scales = [
        (sum(row.weight * (value - mean_) ** 2 for row, value in zip(rows, column)) / total_weight) ** 0.5
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
            residual, curvature = row.weight * (row.label - guess), row.weight * guess * (1 - guess)
            for at in range(size):
                slope[at] += residual * point[at]
                scaled_point = curvature * point[at]
                line = curve[at]
                for to in range(at, size):
                    line[to] += scaled_point * point[to]
        for at in range(size):
            for to in range(at):
                curve[at][to] = curve[to][at]
        beta = [value + step for value, step in zip(beta, solve(curve, slope))]
    return beta


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a system of linear equations by Gaussian elimination with partial pivoting."""
    rows = [[*line, value] for line, value in zip(matrix, right)]
    size = len(rows)
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(rows[row][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for row in range(at + 1, size):
            factor = rows[row][at] / rows[at][at]
            rows[row] = [value - factor * above for value, above in zip(rows[row], rows[at])]
    solution = [0.0] * size
    for at in reversed(range(size)):
        solution[at] = (
            rows[at][size] - sum(rows[at][to] * solution[to] for to in range(at + 1, size))
        ) / rows[at][at]
    return solution


def share(store: Store) -> float:
    """Return the total weight of a store's examples."""
    if store.among:
        return 100.0 / MIXED
    return 100.0 if not store.size else 100.0 * SMALL_SHARE / len(SIZES) / SIZES[store.size]


def concern_rows(training: list[Store]) -> list[Row]:
    """Return the first hit of each query: label 1 for an own query, 0 for a negative; removed queries are left out."""
    rows = []
    for store in training:
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


def answer_rows(training: list[Store]) -> list[Row]:
    """Return the first few hits of each query: label 1 for a relevant one."""
    rows = []
    for store in training:
        each = share(store) * 4 / sum(len(answer.hits[:TOP]) for answer in store.answers)
        for answer in store.answers:
            for hit, grade in zip(answer.hits[:TOP], answer.grades):
                weight = each * {"own": 1.0, "removed": 0.5}.get(answer.kind, 2.0)
                rows.append(
                    Row(store.name, [hit.signals[name] for name in STANDS_OUT], float(grade > 0), weight)
                )
    return rows


def learn(training: list[Store], base: float) -> dict[str, dict[str, float]]:
    """Fit both models; the intercept of `stands_out` is shifted so that 0.5 is the best threshold."""
    model = {
        "concerns": fit_within(concern_rows(training), CONCERNS),
        "stands_out": fit(answer_rows(training), STANDS_OUT),
    }
    model["stands_out"]["named"] = NAMED
    start = model["stands_out"]["intercept"]
    best = (-1.0, start)
    for step in range(-8, 17):
        model["stands_out"]["intercept"] = start + step * 0.15
        best = max(best, (objective(training, model, base), start + step * 0.15))
    model["stands_out"]["intercept"] = best[1]
    return {
        part: {name: round(value, 3) for name, value in weights.items()} for part, weights in model.items()
    }


def objective(training: list[Store], model: dict[str, dict[str, float]], base: float) -> float:
    """Return the mean F.5 at the threshold over complete sets, minus a penalty for false injections, in small stores too."""
    training = [store for store in training if store.name != MADE]
    apply(training, model, base)
    whole_sets = [store.answers for store in training if not store.size]
    reached = mean([injected(answers, THRESHOLD)[2] for answers in whole_sets])
    for group in (whole_sets, [store.answers for store in training if store.size]):
        for kind in ("prompt", "everyday"):
            false = mean([false_injections(answers, kind, THRESHOLD) for answers in group])
            reached -= 10 * max(0.0, false - MAX_FALSE)
    return float(reached)


def apply(stores: list[Store], model: dict[str, dict[str, float]], base: float) -> None:
    """Set the confidence of every hit to that of a model."""
    for store in stores:
        for answer in store.answers:
            for hit in answer.hits:
                concerns, ahead = (logistic(hit.signals, model[part]) for part in ("concerns", "stands_out"))
                hit.confidence = concerns * (base + (1 - base) * ahead)


def report(title: str, stores: list[Store]) -> None:
    """Print the figures of stores at their current confidences: whole sets, each small size, then the made-up set."""
    for size in sorted({store.size for store in stores}):
        report_group(
            title,
            str(size or "whole"),
            [store for store in stores if store.size == size and store.name != MADE],
        )
    report_group(
        title, MADE, [store for store in stores if not store.size and store.name == MADE and not store.among]
    )
    report_group(title, "among", [store for store in stores if store.among])


def report_group(title: str, label: str, stores: list[Store]) -> None:
    """Print the mean figures of some stores; nothing if there are none."""
    group = [store.answers for store in stores]
    if group:
        aurocs = [mean([auroc(answers, kind) for answers in group]) for kind in (*KINDS, "removed")]
        false = [
            mean([false_injections(answers, kind, THRESHOLD) for answers in group])
            for kind in (*KINDS, "removed")
        ]
        pooled = [injected(answers, THRESHOLD) for answers in group]
        precision, recall, f_half = (mean([figures[at] for figures in pooled]) for at in range(3))
        print(
            "%-10s %5s | AUROC %s | P %.3f R %.3f F.5 %.3f | false %s"
            % (
                title,
                label,
                " ".join("%.4f" % value for value in aurocs),
                precision,
                recall,
                f_half,
                " ".join("%.3f" % value for value in false),
            ),
            flush=True,
        )


def leave_one_out(stores: list[Store], base: float) -> None:
    """Cross-validate: print the figures of each set, and of all, with models fitted on the other sets."""
    confidences: dict[int, list[list[float]]] = {}
    for name in sorted({store.name for store in stores} - {MADE}):
        own_stores = [store for store in stores if store.name == name]
        model = learn([store for store in stores if name not in (store.name, store.among)], base)
        apply(own_stores, model, base)
        report(name, [store for store in own_stores if not store.size])
        for store in own_stores:
            confidences[id(store)] = [[hit.confidence for hit in answer.hits] for answer in store.answers]
    stores = [store for store in stores if store.name != MADE]
    for store in stores:
        for answer, values in zip(store.answers, confidences[id(store)]):
            for hit, value in zip(answer.hits, values):
                hit.confidence = value
    report("left out", stores)


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
    loaded = stores(options.data)
    report("now", loaded)
    if options.check:
        return 0
    if options.leave_one_out:
        leave_one_out(loaded, options.base)
        return 0
    model = learn(loaded, options.base)
    apply(loaded, model, options.base)
    report("training", loaded)
    print(json.dumps(model, indent=1))
    if options.write:
        write(model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
