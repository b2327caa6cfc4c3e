"""Measure recall on prompts as people type them, over the stores of small projects, and its stability as a store grows.

    recall_natural.py --data DIR [--only a,b] [--without-asked-as]    measure what is injected and pointed to, by type of prompt
    recall_natural.py --data DIR --plain [--scripted-phrases]         the same with a title and one sentence, as people type memories
    recall_natural.py --data DIR --growth                             compare the same prompt among 3, 30 and 300 memories

`--scripted-phrases` adds phrases that a script writes from each memory alone, never from a prompt: a lower bound for what a model writes.

A store is a folder with corpus.jsonl {id, category, title, body, tags, files, asked_as, supersedes?}, queries.jsonl {id, text, type,
before?}, qrels.tsv (grade 2: needed, 1: helps) and negatives.jsonl {id, text, kind}. `benchmarks/made` is one such folder, made for this.
It calls the ranking directly, not the hooks, so there is no judge, session or budget. Superseded memories are left out.
"""

from __future__ import annotations

import argparse
import os
import random
import re
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
from memory_plugin.recall.index_file import transaction
from memory_plugin.recall.index_tables import create_index_in_memory
from memory_plugin.recall.query import analyze
from memory_plugin.recall.ranking import Hit, rank

SIZES = (3, 30, 300)
_SENTENCE_END = re.compile(r"(?<=[.!?;\u3002])\s|\n")
_WORD = re.compile(r"\w[\w.-]*\w", re.UNICODE)
_LONG_SENTENCE = 160
# Everyday words of the field that stand for one another, as a script may know them.
_SYNONYMS = {
    "database": "db", "db": "database", "deploy": "release", "release": "deploy", "login": "sign in", "auth": "login",
    "tests": "test suite", "ci": "build pipeline", "build": "compile", "error": "failure", "fails": "breaks", "slow": "performance",
    "cache": "caching", "config": "settings", "environment": "env", "delete": "remove", "remove": "delete", "folder": "directory",
    "dependency": "package", "logging": "logs", "logs": "logging", "password": "credentials", "secret": "key", "server": "host",
    "schedule": "cron", "queue": "worker",
}  # fmt: skip
_TEMPLATES = (
    "how do we handle %s",
    "what is the rule for %s",
    "problem with %s",
    "can I change %s",
    "why %s",
)
NEEDED = 2
MAX_INJECTED = 3
MAX_POINTED = 3
MIN_LENGTH, MAX_FOLLOWUP = 10, 60  # the defaults of the settings
TYPES = ("ask", "task", "symptom", "named", "followup", "para")
KINDS = ("other", "chore", "near")


class PromptResult(NamedTuple):
    """The hits of one prompt in one store; `relevant` maps the keys of relevant memories to their grades."""

    store: str
    variant: str
    kind: str
    identity: str
    relevant: dict[str, int]
    hits: list[Hit]

    def injected(self, thresholds: tuple[float, float]) -> list[str]:
        """Return the keys of the memories that are injected in full."""
        return [hit.key for hit in self.hits if hit.confidence >= thresholds[0]][:MAX_INJECTED]

    def pointed(self, thresholds: tuple[float, float]) -> list[str]:
        """Return the keys of the memories that are pointed to."""
        injected = self.injected(thresholds)
        keys = [hit.key for hit in self.hits if hit.pointer_confidence >= thresholds[1]]
        return [key for key in keys if key not in injected][:MAX_POINTED]

    def needed(self) -> set[str]:
        """Return the keys of the memories without which the prompt cannot be answered well."""
        return {key for key, grade in self.relevant.items() if grade == NEEDED}


def current(source: Set) -> list[Record]:
    """Return the memories of a set that are not superseded."""
    old = {record.get("supersedes") for record in source.corpus}
    return [record for record in source.corpus if record["id"] not in old]


def results_for(
    memories: Iterable[Record],
    prompts: Iterable[Record],
    relevant: dict[str, dict[str, int]],
    store: str,
    variant: str,
) -> list[PromptResult]:
    """Return the results of prompts in a store of these memories; `relevant` maps a prompt's id to its grades."""
    with closing(create_index_in_memory()) as connection:
        with transaction(connection):
            put(connection, (document(record) for record in memories))
        found = []
        for prompt in prompts:
            text, extra = str(prompt["text"]), str(prompt.get("before") or "")
            gate = load_gate()
            follows = bool(extra) and gate.is_followup(text, MAX_FOLLOWUP)
            is_asked = not gate.refusal(text) and (follows or effective_length(text) >= MIN_LENGTH)
            query = analyze(text, extra if follows else "")
            hits = rank(connection, query, LIMIT, only_injectable=True, expires_after="") if is_asked else []
            kind, identity = str(prompt.get("type") or prompt.get("kind")), str(prompt["id"])
            found.append(PromptResult(store, variant, kind, identity, relevant.get(identity, {}), hits))
    return found


def plain_form(record: Record) -> Record:
    """Return a memory as a person in a hurry types it: the title and one sentence."""
    sentence = _SENTENCE_END.split(str(record["body"]).strip(), maxsplit=1)[0][:_LONG_SENTENCE]
    return dict(record, body=sentence, tags=[], asked_as=[])


def with_scripted_phrases(record: Record) -> Record:
    """Return a memory with five phrases made of its own words: question forms, and synonyms of the field."""
    title = [word.lower() for word in _WORD.findall(str(record["title"])) if len(word) > 3]
    body = [word.lower() for word in _WORD.findall(str(record["body"])) if len(word) > 4]
    other = [_SYNONYMS.get(word, word) for word in title]
    texts = [title[:3], other[:4], body[:3], other[-3:], [word for word in body if word not in title][:4]]
    phrases = [form % " ".join(words) for form, words in zip(_TEMPLATES, texts) if words]
    return dict(record, asked_as=list(dict.fromkeys(phrases)))


def whole_store(
    source: Set, *, asked_as: bool = True, change: Callable[[Record], Record] | None = None
) -> list[PromptResult]:
    """Return the results of all prompts of a store in the unchanged store, or in one whose memories `change` converted."""
    memories = current(source) if asked_as else [dict(record, asked_as=[]) for record in current(source)]
    memories = memories if change is None else [change(record) for record in memories]
    variant = "whole" if asked_as else "bare"
    return results_for(memories, source.queries, source.relevant, source.name, variant) + results_for(
        memories, source.negatives, {}, source.name, variant
    )


def growing_stores(source: Set, others: list[Set]) -> list[PromptResult]:
    """Return the results of each query that needs a memory, in stores of 3, 30 and 300 memories.

    The small stores contain that memory and random others of its store; the large one also contains memories of other stores.
    """
    memories = {str(record["id"]): record for record in current(source)}
    needed = {str(query["id"]): _needed(source, str(query["id"]), memories) for query in source.queries}
    results = [query for query in source.queries if needed[str(query["id"])]]
    relevant = {identity: {key: NEEDED} for identity, key in needed.items()}
    found = []
    for query in results:
        identity = str(query["id"])
        rng = random.Random("%s %s" % (source.name, identity))
        rest = [record for key, record in memories.items() if source.relevant[identity].get(key) != NEEDED]
        for size in SIZES[:2]:
            chosen = [memories[needed[identity]], *rng.sample(rest, min(len(rest), size - 1))]
            found += results_for(chosen, [query], relevant, source.name, str(size))
    unrelated = [
        dict(record, id="%s:%s" % (other.name, record["id"])) for other in others for record in current(other)
    ]
    more = random.Random(source.name).sample(unrelated, min(len(unrelated), max(0, SIZES[2] - len(memories))))
    return found + results_for([*memories.values(), *more], results, relevant, source.name, str(SIZES[2]))


def _needed(source: Set, identity: str, memories: dict[str, Record]) -> str:
    grades = source.relevant.get(identity, {})
    return min((key for key, grade in grades.items() if grade == NEEDED and key in memories), default="")


def same_side(results: list[PromptResult], threshold: float, sizes: Iterable[int]) -> float:
    """Return the share of queries whose memory is on the same side of a threshold in stores of all these sizes."""
    sides: dict[tuple[str, str], dict[str, bool]] = {}
    for result in results:
        confidence = max((hit.confidence for hit in result.hits if hit.key in result.relevant), default=0.0)
        sides.setdefault((result.store, result.identity), {})[result.variant] = confidence >= threshold
    variants = [str(size) for size in sizes]
    return mean([float(len({by_variant[name] for name in variants}) == 1) for by_variant in sides.values()])


def figures(results: list[PromptResult], limits: tuple[float, float]) -> dict[str, float]:
    """Return the figures of some results; NaN if there is nothing to count.

    `injected` and `reached` are shares of the prompts that need a memory, `right` and `right_pointed` are shares of what was injected and
    pointed to on prompts with relevant memories, `spoke` and `hinted` are shares of the prompts without any.
    """
    related = [result for result in results if result.relevant]
    unrelated = [result for result in results if not result.relevant]
    needing = [result for result in related if result.needed()]

    def hinted(result: PromptResult) -> list[str]:
        return result.injected(limits) + result.pointed(limits)

    return {
        "injected": mean([float(bool(result.needed() & set(result.injected(limits)))) for result in needing]),
        "reached": mean([float(bool(result.needed() & set(hinted(result)))) for result in needing]),
        "right": mean(
            [float(key in result.relevant) for result in related for key in result.injected(limits)]
        ),
        "right_pointed": mean(
            [float(key in result.relevant) for result in related for key in result.pointed(limits)]
        ),
        "spoke": mean([float(bool(result.injected(limits))) for result in unrelated]),
        "hinted": mean([float(bool(hinted(result))) for result in unrelated]),
        "texts": mean([float(len(result.injected(limits))) for result in results]),
        "titles": mean([float(len(result.pointed(limits))) for result in results]),
    }


def report(results: list[PromptResult], limits: tuple[float, float], label: str = "all") -> None:
    """Print the figures of all prompts and of each type."""
    groups: list[tuple[str, Callable[[PromptResult], bool]]] = [(label, lambda _: True)]
    groups += [(kind, lambda result, kind=kind: result.kind == kind) for kind in (*TYPES, *KINDS)]  # type: ignore[misc]
    for name, belongs in groups:
        chosen = [result for result in results if belongs(result)]
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
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--scripted-phrases", action="store_true")
    parser.add_argument("--growth", action="store_true")
    options = parser.parse_args()
    sources = sets(options.data, options.only)
    limits = thresholds()
    if options.growth:
        results = [
            result
            for source in sources
            for result in growing_stores(
                source, [other for other in sets(options.data) if other.name != source.name]
            )
        ]
        print(
            "same side of the inject threshold among %s memories: %.3f"
            % (SIZES, same_side(results, limits[0], SIZES))
        )
        print("same side from %d to %d: %.3f" % (*SIZES[1:], same_side(results, limits[0], SIZES[1:])))
        return 0

    def change(record: Record) -> Record:
        record = plain_form(record) if options.plain else record
        return with_scripted_phrases(record) if options.scripted_phrases else record

    asked_as = not options.without_asked_as
    found = {source.name: whole_store(source, asked_as=asked_as, change=change) for source in sources}
    for name, results in found.items():
        report_line = figures(results, limits)
        print(
            "%-16s %4d  %s"
            % (name, len(results), "  ".join("%s %.2f" % item for item in report_line.items())),
            flush=True,
        )
    report([result for results in found.values() for result in results], limits)
    return 0


if __name__ == "__main__":
    sys.exit(main())
