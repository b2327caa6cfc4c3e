"""Measure recall on prompts as people type them, over the stores of small projects, and its stability as a store grows.

    recall_natural.py --data DIR [--only a,b]    measure what is injected and pointed to, by type of prompt
    recall_natural.py --data DIR --form plain    the same with memories as a hurried person types them (--form bare: without phrases only)
    recall_natural.py --data DIR --form scripted the plain form with phrases that a script writes from each memory alone
    recall_natural.py --data DIR --form model    the same with phrases that your judge of recall writes (it must be on; this costs money)
    recall_natural.py --data DIR --form mixed    half of the memories plain: each half in mixed stores and among its own form
    recall_natural.py --data DIR --growth        compare the same prompt among 3, 30 and 300 memories

Phrases of a script or a model never come from a prompt; those of a script are a lower bound for what a model writes.

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
from memory_plugin.kernel.context import Context, Deadline
from memory_plugin.kernel.fastjson import as_texts
from memory_plugin.kernel.judge.asking import Judge
from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.recall.gate import effective_length, load_gate
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import transaction
from memory_plugin.recall.index_refresh import create_index_in_memory
from memory_plugin.recall.query import Corpus, analyze
from memory_plugin.recall.ranking import FTS5, Hit, rank, unranked
from memory_plugin.work.search_phrases import BATCH, phrases_question

SIZES = (3, 30, 300)
FORMS = ("phrases", "bare", "plain", "scripted", "model", "mixed")  # of the memories of a store
MIXED = ("mixed", "mixed again")
_SENTENCE_END = re.compile(r"(?<=[.!?;\u3002])\s|\n")
_MAX_SENTENCE = 160  # characters
_WORD = re.compile(r"\w[\w.-]*\w", re.UNICODE)
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
JUDGE_SECONDS = 120.0
MAX_INJECTED = 3
MAX_POINTED = 3
WHOLE_STORE = 100
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
    *,
    judged: bool = False,
) -> list[PromptResult]:
    """Return the results of prompts in a store of these memories; `relevant` maps a prompt's id to its grades.

    With `judged`, the memories that no word reached follow, as for a judge that sees the whole store.
    """
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
            hits = (
                rank(Corpus(connection, only_injectable=True), query, LIMIT, Deadline(60), FTS5)
                if is_asked
                else []
            )
            if is_asked and judged:
                hits += unranked(connection, hits, WHOLE_STORE)
            kind, identity = str(prompt.get("type") or prompt.get("kind")), str(prompt["id"])
            found.append(PromptResult(store, variant, kind, identity, relevant.get(identity, {}), hits))
    return found


def in_form(source: Set, form: str) -> list[Record]:
    """Return the current memories of a set in one of FORMS or MIXED; in a mixed one half of them is plain, in the other the other half."""
    memories = current(source)
    if form == "phrases":
        return memories
    if form == "bare":
        return [dict(record, asked_as=[]) for record in memories]
    if form == "scripted":
        return [with_scripted_phrases(plain(record)) for record in memories]
    if form == "model":
        return with_model_phrases([plain(record) for record in memories])
    typed = plain_ids(source, form)
    return [plain(record) if record["id"] in typed else record for record in memories]


def plain_ids(source: Set, form: str) -> set[str]:
    """Return the memories that are plain in a store of this form."""
    ids = [str(record["id"]) for record in current(source)]
    random.Random(source.name).shuffle(ids)
    return set({"plain": ids, "mixed": ids[::2], "mixed again": ids[1::2]}.get(form, []))


def plain(record: Record) -> Record:
    """Return a memory as a hurried person types it: title and first sentence, without phrases and tags."""
    first = _SENTENCE_END.split(str(record["body"]).strip(), maxsplit=1)[0][:_MAX_SENTENCE]
    return dict(record, body=first, tags=[], asked_as=[])


def with_scripted_phrases(record: Record) -> Record:
    """Return a memory with five phrases made of its own words: question forms, and synonyms of the field."""
    title = [word.lower() for word in _WORD.findall(str(record["title"])) if len(word) > 3]
    body = [word.lower() for word in _WORD.findall(str(record["body"])) if len(word) > 4]
    other = [_SYNONYMS.get(word, word) for word in title]
    texts = [title[:3], other[:4], body[:3], other[-3:], [word for word in body if word not in title][:4]]
    phrases = [form % " ".join(words) for form, words in zip(_TEMPLATES, texts) if words]
    return dict(record, asked_as=list(dict.fromkeys(phrases)))


def with_model_phrases(memories: list[Record]) -> list[Record]:
    """Return memories with the phrases that the judge of recall writes. Raises SystemExit if it does not answer."""
    paths = Paths(os.getcwd())
    context = Context(paths, load(paths.config_dir, None), Deadline(JUDGE_SECONDS))
    texts = [{name: str(record[name]) for name in ("id", "title", "body")} for record in memories]
    questions = [phrases_question(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
    verdicts = Judge("retrieval", context, request="request benchmark").ask_all(questions, context.deadline)
    if any(verdict.values is None for verdict in verdicts):
        raise SystemExit("no phrases: %s" % next(verdict.failure for verdict in verdicts if verdict.failure))
    rows = [row for verdict in verdicts for row in (verdict.values or {})["memories"]]
    phrases = {str(row.get("id")): row.get("asked_as") for row in rows}
    return [dict(record, asked_as=as_texts(phrases.get(str(record["id"])))) for record in memories]


def whole_store(source: Set, form: str = "phrases", *, judged: bool = False) -> list[PromptResult]:
    """Return the results of all prompts of a store whose memories have one of FORMS or MIXED."""
    memories = in_form(source, form)
    return results_for(
        memories, source.queries, source.relevant, source.name, form, judged=judged
    ) + results_for(memories, source.negatives, {}, source.name, form, judged=judged)


def mixed_figures(sources: list[Set], limits: tuple[float, float]) -> None:
    """Print the figures of memories with phrases and of plain ones, each among their own form and in mixed stores."""
    stores = {
        (source.name, form): whole_store(source, form)
        for source in sources
        for form in ("phrases", "plain", *MIXED)
    }
    for half in ("phrases", "plain"):
        alone, among = [], []
        for source, form in ((source, form) for source in sources for form in MIXED):
            ids = plain_ids(source, form)
            for own, mixed in zip(stores[source.name, half], stores[source.name, form]):
                if mixed.needed() and all((key in ids) == (half == "plain") for key in mixed.needed()):
                    alone.append(own)
                    among.append(mixed)
        print_figures(half + " alone", alone, limits)
        print_figures(half + " in mixed", among, limits)
    report(
        [result for (_, form), found in stores.items() for result in found if form in MIXED], limits, "mixed"
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
            print_figures(name, chosen, limits)


def print_figures(label: str, results: list[PromptResult], limits: tuple[float, float]) -> None:
    """Print the figures of some results on one line."""
    values = "  ".join("%s %.2f" % item for item in figures(results, limits).items())
    print("%-16s %4d  %s" % (label, len(results), values), flush=True)


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--form", default="phrases", choices=FORMS)
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
    if options.form == "mixed":
        mixed_figures(sources, limits)
        return 0
    found = {source.name: whole_store(source, options.form) for source in sources}
    for name, results in found.items():
        print_figures(name, results, limits)
    report([result for results in found.values() for result in results], limits)
    return 0


if __name__ == "__main__":
    sys.exit(main())
