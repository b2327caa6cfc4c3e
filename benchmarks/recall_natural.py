"""What recall says on prompts as people type them, over the stores of small projects, and whether it says the same as a store grows.

    recall_natural.py --data DIR [--only a,b] [--without-asked-as]    what is injected and pointed at, by type of prompt
    recall_natural.py --data DIR --growth                             the same memory and prompt among 3, 30 and 300 memories

A store is a folder with corpus.jsonl {id, category, title, body, tags, files, asked_as, supersedes?}, queries.jsonl {id, text, type,
before?}, qrels.tsv (grade 2: needed, 1: helps) and negatives.jsonl {id, text, kind}. `benchmarks/made` is one such folder, made for this.
It asks the ranking itself, not the hooks: no judge, no session, no budget. Superseded memories are left out.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(sys.path[0], "scripts"))

from benchmarks.recall_adapter import document, thresholds
from benchmarks.recall_stores import LIMIT, Record, Set, mean, sets
from memory_plugin.recall.gate import effective_length, load_gate
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import create_index_in_memory, transaction
from memory_plugin.recall.ranking import Hit, analyze, rank

SIZES = (3, 30, 300)
NEEDED = 2
MOST_INJECTED = 3
MOST_POINTED = 3
SHORTEST, LONGEST_FOLLOWUP = 10, 60  # the defaults of the settings
TYPES = ("ask", "task", "symptom", "named", "followup", "para")
KINDS = ("other", "chore", "near")


class Asked(NamedTuple):
    """A prompt put to a store: `wanted` has the grade of each memory that bears on it, none for a prompt that needs no memory."""

    store: str
    variant: str
    kind: str
    identity: str
    wanted: dict[str, int]
    hits: list[Hit]

    def injected(self, thresholds: tuple[float, float]) -> list[str]:
        """Return the keys of the memories that are injected in full."""
        return [hit.key for hit in self.hits if hit.confidence >= thresholds[0]][:MOST_INJECTED]

    def pointed(self, thresholds: tuple[float, float]) -> list[str]:
        """Return the keys of the memories that are pointed at."""
        told = self.injected(thresholds)
        found = [hit.key for hit in self.hits if hit.pointer_confidence >= thresholds[1]]
        return [key for key in found if key not in told][:MOST_POINTED]

    def needed(self) -> set[str]:
        """Return the keys of the memories without which the prompt cannot be answered well."""
        return {key for key, grade in self.wanted.items() if grade == NEEDED}


def current(source: Set) -> list[Record]:
    """Return the memories of a set that none of its others supersedes."""
    old = {record.get("supersedes") for record in source.corpus}
    return [record for record in source.corpus if record["id"] not in old]


def ask(
    memories: Iterable[Record],
    prompts: Iterable[Record],
    wanted: dict[str, dict[str, int]],
    store: str,
    variant: str,
) -> list[Asked]:
    """Return what a store of these memories answers to some prompts; `wanted` by the prompt's id."""
    with closing(create_index_in_memory()) as connection:
        with transaction(connection):
            put(connection, (document(record) for record in memories))
        found = []
        for prompt in prompts:
            text, extra = str(prompt["text"]), str(prompt.get("before") or "")
            gate = load_gate()
            follows = bool(extra) and gate.is_followup(text, LONGEST_FOLLOWUP)
            heard = not gate.refusal(text) and (follows or effective_length(text) >= SHORTEST)
            query = analyze(text, extra if follows else "")
            hits = rank(connection, query, LIMIT, only_injectable=True, now_iso="") if heard else []
            kind, identity = str(prompt.get("type") or prompt.get("kind")), str(prompt["id"])
            found.append(Asked(store, variant, kind, identity, wanted.get(identity, {}), hits))
    return found


def whole(source: Set, *, asked_as: bool = True) -> list[Asked]:
    """Return what a store as it is answers to all its prompts."""
    memories = current(source) if asked_as else [dict(record, asked_as=[]) for record in current(source)]
    variant = "whole" if asked_as else "bare"
    return ask(memories, source.queries, source.relevant, source.name, variant) + ask(
        memories, source.negatives, {}, source.name, variant
    )


def grown(source: Set, others: list[Set]) -> list[Asked]:
    """Return what stores of 3, 30 and 300 memories answer to each query that needs one of them.

    The small ones hold that memory and others of its store, by chance; the large one the whole store and others of other stores.
    """
    memories = {str(record["id"]): record for record in current(source)}
    needed = {str(query["id"]): _needed(source, str(query["id"]), memories) for query in source.queries}
    asked = [query for query in source.queries if needed[str(query["id"])]]
    wanted = {identity: {key: NEEDED} for identity, key in needed.items()}
    found = []
    for query in asked:
        identity = str(query["id"])
        rng = random.Random("%s %s" % (source.name, identity))
        rest = [record for key, record in memories.items() if source.relevant[identity].get(key) != NEEDED]
        for size in SIZES[:2]:
            chosen = [memories[needed[identity]], *rng.sample(rest, min(len(rest), size - 1))]
            found += ask(chosen, [query], wanted, source.name, str(size))
    unrelated = [
        dict(record, id="%s:%s" % (other.name, record["id"])) for other in others for record in current(other)
    ]
    more = random.Random(source.name).sample(unrelated, min(len(unrelated), max(0, SIZES[2] - len(memories))))
    return found + ask([*memories.values(), *more], asked, wanted, source.name, str(SIZES[2]))


def _needed(source: Set, identity: str, memories: dict[str, Record]) -> str:
    grades = source.relevant.get(identity, {})
    return min((key for key, grade in grades.items() if grade == NEEDED and key in memories), default="")


def same_side(asked: list[Asked], threshold: float, sizes: Iterable[int]) -> float:
    """Return the share of the memories that are on the same side of a threshold in stores of all these sizes."""
    sides: dict[tuple[str, str], dict[str, bool]] = {}
    for one in asked:
        sure = max((hit.confidence for hit in one.hits if hit.key in one.wanted), default=0.0)
        sides.setdefault((one.store, one.identity), {})[one.variant] = sure >= threshold
    wanted = [str(size) for size in sizes]
    return mean([float(len({found[size] for size in wanted}) == 1) for found in sides.values()])


def figures(asked: list[Asked], limits: tuple[float, float]) -> dict[str, float]:
    """Return what reached its prompt and what came uncalled; NaN where there is nothing to count.

    `injected` and `reached` are shares of the prompts that need a memory, `right` and `right_pointed` of what was injected and pointed at
    on prompts with any, `spoke` and `hinted` of the prompts that want none.
    """
    own = [one for one in asked if one.wanted]
    silent = [one for one in asked if not one.wanted]
    must = [one for one in own if one.needed()]

    def hint(one: Asked) -> list[str]:
        return one.injected(limits) + one.pointed(limits)

    return {
        "injected": mean([float(bool(one.needed() & set(one.injected(limits)))) for one in must]),
        "reached": mean([float(bool(one.needed() & set(hint(one)))) for one in must]),
        "right": mean([float(key in one.wanted) for one in own for key in one.injected(limits)]),
        "right_pointed": mean([float(key in one.wanted) for one in own for key in one.pointed(limits)]),
        "spoke": mean([float(bool(one.injected(limits))) for one in silent]),
        "hinted": mean([float(bool(hint(one))) for one in silent]),
        "texts": mean([float(len(one.injected(limits))) for one in asked]),
        "titles": mean([float(len(one.pointed(limits))) for one in asked]),
    }


def report(asked: list[Asked], limits: tuple[float, float], label: str = "all") -> None:
    """Print the figures of all prompts and of each type."""
    groups: list[tuple[str, Callable[[Asked], bool]]] = [(label, lambda _: True)]
    groups += [(kind, lambda one, kind=kind: one.kind == kind) for kind in (*TYPES, *KINDS)]  # type: ignore[misc]
    for name, belongs in groups:
        chosen = [one for one in asked if belongs(one)]
        if chosen:
            print(
                "%-16s %4d  %s"
                % (
                    name,
                    len(chosen),
                    "  ".join("%s %.2f" % item for item in figures(chosen, limits).items()),
                ),
                flush=True,
            )


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--without-asked-as", action="store_true")
    parser.add_argument("--growth", action="store_true")
    options = parser.parse_args()
    sources = sets(options.data, options.only)
    limits = thresholds()
    if options.growth:
        asked = [
            one
            for source in sources
            for one in grown(source, [other for other in sets(options.data) if other.name != source.name])
        ]
        print(
            "same side of the inject threshold among %s memories: %.3f"
            % (SIZES, same_side(asked, limits[0], SIZES))
        )
        print("same side from %d to %d: %.3f" % (*SIZES[1:], same_side(asked, limits[0], SIZES[1:])))
        return 0
    found = {source.name: whole(source, asked_as=not options.without_asked_as) for source in sources}
    for name, asked in found.items():
        report_line = figures(asked, limits)
        print(
            "%-16s %4d  %s" % (name, len(asked), "  ".join("%s %.2f" % item for item in report_line.items())),
            flush=True,
        )
    report([one for asked in found.values() for one in asked], limits)
    return 0


if __name__ == "__main__":
    sys.exit(main())
