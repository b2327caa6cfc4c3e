"""Examples to fit recall's confidence on: prompts over stores as they are, cut, grown and without phrases, and benchmark sets."""

from __future__ import annotations

import os
import pickle
import random
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_natural import Asked, ask, current, grown, whole
from benchmarks.recall_stores import Record, Set, sets

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDS = 4
SIZES = (20, 60)
MORE = 250  # memories of other stores that a store is grown with
MADE = ("invoicing", "reservas")


class Pool(NamedTuple):
    """All examples, natural ones and those of sets, and the fold of each store and set."""

    natural: list[Asked]
    of_sets: list[Asked]
    folds: dict[str, int]

    @property
    def sets(self) -> set[str]:
        """Return the names of the benchmark's sets."""
        return {one.store for one in self.of_sets} - {"harbor"}


# Making the examples ---------------------------------------------------------------------------------------------------------------------


def natural_examples(sources: list[Set], everyday: list[Record]) -> list[Asked]:
    """Return what the stores of small projects answer, in every form that is learned from."""
    found: list[Asked] = []
    for source in sources:
        others = [other for other in sources if other is not source]
        rng = random.Random(source.name)
        unrelated = [
            dict(prompt, kind="cross", type=None)
            for other in others
            for prompt in rng.sample([*other.queries, *other.negatives], 6)
        ]
        uncalled = [*unrelated, *rng.sample(everyday, min(80, len(everyday)))]
        found += whole(source) + whole(source, asked_as=False)
        found += ask(current(source), _renamed(uncalled), {}, source.name, "whole")
        found += _halved(source, rng) + _halved(source, rng)
        more = [
            dict(record, id="%s:%s" % (other.name, record["id"]))
            for other in others
            for record in current(other)
        ]
        crowd = [*current(source), *rng.sample(more, min(len(more), MORE))]
        found += ask(crowd, source.queries, source.relevant, source.name, "grown")
        found += ask(crowd, source.negatives, {}, source.name, "grown")
        found += grown(source, others)
        print("%s: %d examples" % (source.name, len(found)), file=sys.stderr, flush=True)
    return found


def _renamed(prompts: list[Record]) -> list[Record]:
    return [dict(prompt, id="uncalled%d" % at) for at, prompt in enumerate(prompts)]


def _halved(source: Set, rng: random.Random) -> list[Asked]:
    memories = current(source)
    kept = rng.sample(memories, len(memories) // 2)
    keys = {str(record["id"]) for record in kept}
    wanted = {
        query: {key: grade for key, grade in grades.items() if key in keys}
        for query, grades in source.relevant.items()
    }
    own = [query for query in source.queries if wanted.get(str(query["id"]))]
    removed = [
        dict(query, kind="removed", type=None) for query in source.queries if not wanted.get(str(query["id"]))
    ]
    return ask(kept, own, wanted, source.name, "half") + ask(
        kept, [*removed, *source.negatives], {}, source.name, "half"
    )


def set_examples(sources: list[Set]) -> list[Asked]:
    """Return what the sets of a benchmark answer, whole and as small stores."""
    found: list[Asked] = []
    for source in sources:
        rng = random.Random(source.name)
        queries = rng.sample(source.queries, min(200, len(source.queries)))
        found += _set_examples(source, source.corpus, queries, source.negatives, "whole")
        for size in SIZES:
            wanted = rng.sample(queries, min(len(queries), size // 3))
            keys = {rng.choice(sorted(source.relevant[str(query["id"])])) for query in wanted}
            kept = {
                str(record["id"]): record
                for record in rng.sample(source.corpus, min(len(source.corpus), size - len(keys)))
            }
            kept.update((str(record["id"]), record) for record in source.corpus if record["id"] in keys)
            negatives = rng.sample(source.negatives, min(60, len(source.negatives)))
            found += _set_examples(
                source,
                list(kept.values()),
                rng.sample(queries, min(60, len(queries))) + wanted,
                negatives,
                str(size),
            )
        print("%s: %d examples" % (source.name, len(found)), file=sys.stderr, flush=True)
    return found


def _set_examples(
    source: Set, memories: list[Record], queries: list[Record], negatives: list[Record], variant: str
) -> list[Asked]:
    keys = {str(record["id"]) for record in memories}
    wanted = {
        str(query["id"]): {
            key: grade for key, grade in source.relevant[str(query["id"])].items() if key in keys
        }
        for query in queries
    }
    own = [dict(query, kind="own" if wanted[str(query["id"])] else "removed") for query in queries]
    return ask(memories, [*own, *negatives], wanted, source.name, variant)


def examples(natural: str, data: str, cache: str) -> Pool:
    """Return all examples, from a file that an earlier call left where `cache` names one."""
    if cache and os.path.exists(cache):
        with open(cache, "rb") as file:
            return Pool(*pickle.load(file))  # noqa: S301 - written by this script, named by its user
    benchmark = sets(data)
    everyday = sorted(
        {
            str(one["text"]): one
            for source in benchmark
            for one in source.negatives
            if one["kind"] in {"everyday", "prompt"}
        }.items()
    )
    stores = sets(natural) + sets(os.path.join(HERE, "made"))
    folds = {source.name: at % FOLDS for at, source in enumerate(stores)} | {
        source.name: at % FOLDS for at, source in enumerate(benchmark)
    }
    pool = Pool(
        natural_examples(stores, [one for _, one in everyday]),
        set_examples(benchmark + sets(HERE, "harbor")),
        folds,
    )
    if cache:
        with open(cache, "wb") as file:
            pickle.dump(tuple(pool), file)
    return pool
