"""Build the training examples for recall's confidence: prompts in several variants of each store, and in benchmark sets."""

from __future__ import annotations

import os
import pickle
import random
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_natural import MIXED, PromptResult, growing_stores, in_form, results_for, whole_store
from benchmarks.recall_stores import Record, Set, sets

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDS = 4
SIZES = (20, 60)
MAX_ADDED = 250  # memories of other stores that are added to a grown store
MADE = ("invoicing", "reservas")


class Pool(NamedTuple):
    """All examples, from natural stores and from benchmark sets, and the fold of each store and set."""

    natural: list[PromptResult]
    of_sets: list[PromptResult]
    folds: dict[str, int]

    @property
    def sets(self) -> set[str]:
        """Return the names of the benchmark's sets."""
        return {record.store for record in self.of_sets} - {"harbor"}


# Making the examples ---------------------------------------------------------------------------------------------------------------------


def natural_examples(sources: list[Set], everyday: list[Record]) -> list[PromptResult]:
    """Return the results of the natural stores in all variants."""
    results: list[PromptResult] = []
    for source in sources:
        others = [other for other in sources if other is not source]
        rng = random.Random(source.name)
        unrelated = [
            dict(prompt, kind="cross", type=None)
            for other in others
            for prompt in rng.sample([*other.queries, *other.negatives], 6)
        ]
        prompts = _renamed([*unrelated, *rng.sample(everyday, min(80, len(everyday)))])
        for form in ("phrases", "bare", "plain", *MIXED):
            results += whole_store(source, form)
        for form in ("phrases", "plain"):
            memories = in_form(source, form)
            results += results_for(memories, prompts, {}, source.name, form)
            results += _halved(source, memories, rng)
            added = [
                dict(record, id="%s:%s" % (other.name, record["id"]))
                for other in others
                for record in in_form(other, form)
            ]
            grown_store = [*memories, *rng.sample(added, min(len(added), MAX_ADDED))]
            results += results_for(grown_store, source.queries, source.relevant, source.name, "grown")
            results += results_for(grown_store, source.negatives, {}, source.name, "grown")
        results += growing_stores(source, others)
        print("%s: %d examples" % (source.name, len(results)), file=sys.stderr, flush=True)
    return results


def _renamed(prompts: list[Record]) -> list[Record]:
    return [dict(prompt, id="unrelated%d" % at) for at, prompt in enumerate(prompts)]


def _halved(source: Set, memories: list[Record], rng: random.Random) -> list[PromptResult]:
    memories_kept = rng.sample(memories, len(memories) // 2)
    keys = {str(record["id"]) for record in memories_kept}
    relevant = {
        query: {key: grade for key, grade in grades.items() if key in keys}
        for query, grades in source.relevant.items()
    }
    related = [query for query in source.queries if relevant.get(str(query["id"]))]
    removed = [
        dict(query, kind="removed", type=None)
        for query in source.queries
        if not relevant.get(str(query["id"]))
    ]
    return results_for(memories_kept, related, relevant, source.name, "half") + results_for(
        memories_kept, [*removed, *source.negatives], {}, source.name, "half"
    )


def set_examples(sources: list[Set]) -> list[PromptResult]:
    """Return the results of the benchmark sets, each whole and as small stores."""
    results: list[PromptResult] = []
    for source in sources:
        rng = random.Random(source.name)
        queries = rng.sample(source.queries, min(200, len(source.queries)))
        results += _set_examples(source, source.corpus, queries, source.negatives, "whole")
        for size in SIZES:
            relevant = rng.sample(queries, min(len(queries), size // 3))
            keys = {rng.choice(sorted(source.relevant[str(query["id"])])) for query in relevant}
            memories_kept = {
                str(record["id"]): record
                for record in rng.sample(source.corpus, min(len(source.corpus), size - len(keys)))
            }
            memories_kept.update(
                (str(record["id"]), record) for record in source.corpus if record["id"] in keys
            )
            negatives = rng.sample(source.negatives, min(60, len(source.negatives)))
            results += _set_examples(
                source,
                list(memories_kept.values()),
                rng.sample(queries, min(60, len(queries))) + relevant,
                negatives,
                str(size),
            )
        print("%s: %d examples" % (source.name, len(results)), file=sys.stderr, flush=True)
    return results


def _set_examples(
    source: Set, memories: list[Record], queries: list[Record], negatives: list[Record], variant: str
) -> list[PromptResult]:
    keys = {str(record["id"]) for record in memories}
    relevant = {
        str(query["id"]): {
            key: grade for key, grade in source.relevant[str(query["id"])].items() if key in keys
        }
        for query in queries
    }
    related = [dict(query, kind="own" if relevant[str(query["id"])] else "removed") for query in queries]
    return results_for(memories, [*related, *negatives], relevant, source.name, variant)


def examples(natural: str, data: str, cache: str) -> Pool:
    """Return all examples; `cache` names a file that keeps them between calls."""
    if cache and os.path.exists(cache):
        with open(cache, "rb") as file:
            return Pool(*pickle.load(file))  # noqa: S301 - written by this script, named by its user
    benchmark = sets(data)
    everyday = sorted(
        {
            str(record["text"]): record
            for source in benchmark
            for record in source.negatives
            if record["kind"] in {"everyday", "prompt"}
        }.items()
    )
    stores = sets(natural) + sets(os.path.join(HERE, "made"), ",".join(MADE))
    folds = {source.name: at % FOLDS for at, source in enumerate(stores)} | {
        source.name: at % FOLDS for at, source in enumerate(benchmark)
    }
    pool = Pool(
        natural_examples(stores, [record for _, record in everyday]),
        set_examples(benchmark + sets(HERE, "harbor")),
        folds,
    )
    if cache:
        with open(cache, "wb") as file:
            pickle.dump(tuple(pool), file)
    return pool
