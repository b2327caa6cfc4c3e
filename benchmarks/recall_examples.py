"""Build the training examples for recall's confidence: prompts in several variants of each store, and in benchmark sets."""

from __future__ import annotations

import os
import pickle
import random
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_natural import MIXED, PromptResult, results_for, whole_store
from benchmarks.recall_stores import Record, Set, sets

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDS = 4
# Of each benchmark set. With more of them, the models get worse at prompts as people type them.
QUERIES, NEGATIVES, OTHERS = 60, 80, 400
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


def natural_examples(sources: list[Set]) -> list[PromptResult]:
    """Return the results of the natural stores in all variants."""
    return [
        result
        for source in sources
        for form in ("phrases", "plain", *MIXED)
        for result in whole_store(source, form)
    ]


def set_examples(sources: list[Set]) -> list[PromptResult]:
    """Return the results of some prompts of the benchmark sets, each among the documents that they need and some others."""
    results: list[PromptResult] = []
    for source in sources:
        rng = random.Random(source.name)
        queries = rng.sample(source.queries, min(QUERIES, len(source.queries)))
        negatives = rng.sample(source.negatives, min(NEGATIVES, len(source.negatives)))
        others = rng.sample(source.corpus, min(OTHERS, len(source.corpus)))
        needed = {key for query in queries for key in source.relevant[str(query["id"])]}
        kept = [*others, *(record for record in source.corpus if record["id"] in needed)]
        memories = list({str(record["id"]): record for record in kept}.values())
        results += _set_examples(source, memories, queries, negatives, "whole")
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
    stores = sets(natural) + sets(os.path.join(HERE, "made"), ",".join(MADE))
    folds = {source.name: at % FOLDS for at, source in enumerate(stores)} | {
        source.name: at % FOLDS for at, source in enumerate(benchmark)
    }
    (harbor,) = sets(HERE, "harbor")
    own = _set_examples(harbor, harbor.corpus, harbor.queries, harbor.negatives, "whole")
    pool = Pool(natural_examples(stores), set_examples(benchmark) + own, folds)
    if cache:
        with open(cache, "wb") as file:
            pickle.dump(tuple(pool), file)
    return pool
