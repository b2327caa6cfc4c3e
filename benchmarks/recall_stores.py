"""Build stores of any size from a retrieval benchmark's sets, and collect the product's answers.

A set is a folder with corpus.jsonl {id, title, tags, body}, queries.jsonl {id, text}, negatives.jsonl {id, text, kind} and qrels.tsv.
"""

from __future__ import annotations

import json
import math
import os
import random
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.recall_adapter import document
from memory_plugin.kernel.context import Deadline
from memory_plugin.recall.index_documents import put
from memory_plugin.recall.index_file import transaction
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.query import Corpus, analyze
from memory_plugin.recall.ranking import FTS5, Hit, rank

Record = dict[str, object]
LIMIT = 15


class Set(NamedTuple):
    """One set of a benchmark; `relevant` maps each query to the grades of its relevant documents."""

    name: str
    corpus: list[Record]
    queries: list[Record]
    negatives: list[Record]
    relevant: dict[str, dict[str, int]]


class Answer(NamedTuple):
    """The hits of one query and their grades; `kind` is "own" or the negative's kind, `ideal` the grades of all relevant documents."""

    kind: str
    hits: list[Hit]
    grades: list[int]
    ideal: list[int]


def sets(data: str, names: str = "") -> list[Set]:
    """Return the sets in a folder, sorted by name, or only those named (separated by commas)."""
    chosen = names.split(",") if names else sorted(os.listdir(data))
    return [_set(os.path.join(data, name), name) for name in chosen]


def whole(source: Set) -> list[Answer]:
    """Return the answers in one store with the complete set."""
    return _answers(source.corpus, source.queries, source.negatives, source.relevant)


def small(source: Set, size: int, seed: int, own: int = 3, others: int = 8) -> list[Answer]:
    """Return the answers in a random store of `size` documents.

    It is asked `own` queries that have a relevant document in the store, `others` that have none there ("removed"), and as many negatives
    of each kind.
    """
    rng = random.Random("%s %d %d" % (source.name, size, seed))
    by_id = {str(record["id"]): record for record in source.corpus}
    queries = rng.sample(source.queries, min(own, len(source.queries), size))
    kept = {rng.choice(sorted(source.relevant[str(query["id"])])) for query in queries}
    rest = [key for key in rng.sample(sorted(by_id), min(len(by_id), 2 * size)) if key not in kept]
    keys = sorted(kept | set(rest[: size - len(kept)]))
    relevant = {
        query: {key: grade for key, grade in grades.items() if key in keys}
        for query, grades in source.relevant.items()
    }
    removed = [dict(query, kind="removed") for query in source.queries if not relevant[str(query["id"])]]
    negatives = rng.sample(removed, min(others, len(removed)))
    for kind in ("prompt", "everyday", "cross"):
        of_kind = [record for record in source.negatives if record["kind"] == kind]
        negatives += rng.sample(of_kind, min(others, len(of_kind)))
    return _answers([by_id[key] for key in keys], queries, negatives, relevant)


def ndcg(answer: Answer, depth: int = 10) -> float:
    """Return the normalized discounted cumulative gain of the first hits (K. Järvelin and J. Kekäläinen, 2002)."""
    best = _gain(sorted(answer.ideal, reverse=True)[:depth])
    return _gain(answer.grades[:depth]) / best if best else 0.0


def auroc(answers: list[Answer], kind: str) -> float:
    """Return the AUROC by best confidence of own queries against negatives of a kind; ties count half, NaN if there are none."""
    own, other = ([_top(answer) for answer in answers if answer.kind == group] for group in ("own", kind))
    wins = sum((positive > negative) + 0.5 * (positive == negative) for positive in own for negative in other)
    return wins / (len(own) * len(other)) if own and other else math.nan


def injected(answers: list[Answer], threshold: float, max_injected: int = 3) -> tuple[float, float, float]:
    """Return precision, recall and F.5 of injecting up to `max_injected` hits at or above a threshold, over own queries and negatives."""
    selected = right = relevant = 0
    for answer in answers:
        chosen = [
            grade
            for hit, grade in zip(answer.hits[:max_injected], answer.grades)
            if hit.confidence >= threshold
        ]
        selected += len(chosen)
        right += sum(grade > 0 for grade in chosen)
        relevant += min(max_injected, len(answer.ideal))
    precision = right / selected if selected else 0.0
    recall = right / relevant if relevant else 0.0
    return precision, recall, 1.25 * precision * recall / (0.25 * precision + recall) if right else 0.0


def false_injections(answers: list[Answer], kind: str, threshold: float) -> float:
    """Return the share of the negatives of a kind that get any memory; NaN if there are none."""
    of_kind = [answer for answer in answers if answer.kind == kind]
    return sum(_top(answer) >= threshold for answer in of_kind) / len(of_kind) if of_kind else math.nan


def mean(values: list[float]) -> float:
    """Return the mean of the values that are not NaN."""
    numbers = [value for value in values if not math.isnan(value)]
    return sum(numbers) / len(numbers) if numbers else math.nan


def _top(answer: Answer) -> float:
    return answer.hits[0].confidence if answer.hits else 0.0


def _gain(grades: list[int]) -> float:
    return sum(grade / math.log2(at + 2) for at, grade in enumerate(grades))


def _set(folder: str, name: str) -> Set:
    relevant: dict[str, dict[str, int]] = {}
    with open(os.path.join(folder, "qrels.tsv"), encoding="utf-8") as file:
        next(file)
        for line in file:
            query, key, grade = line.rstrip("\n").split("\t")
            relevant.setdefault(query, {})[key] = int(grade)
    corpus, queries, negatives = (
        list(_records(os.path.join(folder, part + ".jsonl"))) for part in ("corpus", "queries", "negatives")
    )
    return Set(name, corpus, queries, negatives, relevant)


def _records(path: str) -> Iterator[Record]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _answers(
    corpus: list[Record], queries: list[Record], negatives: list[Record], relevant: dict[str, dict[str, int]]
) -> list[Answer]:
    with tempfile.TemporaryDirectory() as folder:
        connection = create_index(os.path.join(folder, "index.sqlite"))
        with transaction(connection):
            put(connection, (document(record) for record in corpus))
        answers = []
        for at, query in enumerate(queries + negatives):
            words = analyze(str(query["text"]))
            hits = rank(Corpus(connection, only_injectable=True), words, LIMIT, Deadline(60), FTS5)
            kind = str(query["kind"]) if at >= len(queries) else "own"
            grades = relevant[str(query["id"])] if kind == "own" else {}
            answers.append(
                Answer(kind, hits, [grades.get(hit.key, 0) for hit in hits], list(grades.values()))
            )
        connection.close()
    return answers
