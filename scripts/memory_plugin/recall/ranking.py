"""The best memories for a query: FTS5 finds candidates, BM25F orders them, the confidence says how good the best are in themselves."""

from __future__ import annotations

from math import log

from ..kernel.native import loads
from ..kernel.text.stem import stem
from .index.document import CATEGORIES
from .index.file import POSTINGS, meta_get
from .query import Query, analyse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from ..kernel.sqlite import Connection

    class Deadline(Protocol):
        def remaining(self) -> float: ...


__all__ = ["Hit", "Query", "analyse", "rank"]


class Hit:
    """A ranked memory.  `score` orders within one query, `confidence` in [0, 1] compares across queries, `parts` explains both."""

    __slots__ = (
        "category", "confidence", "digest", "expires_at", "id", "inject", "key", "parts", "path", "scope", "score", "tags", "title",
        "trust",
    )  # fmt: skip

    def __init__(
        self, row: tuple[str, ...], score: float, confidence: float, parts: dict[str, object]
    ) -> None:
        (
            self.key,
            self.id,
            self.scope,
            self.category,
            self.title,
            tags,
            self.path,
            self.digest,
            self.trust,
            self.expires_at,
        ) = row[:10]
        self.inject = row[10]
        found = loads(tags)
        self.tags: list[str] = found if isinstance(found, list) else []
        self.score = score
        self.confidence = confidence
        self.parts = parts


def rank(
    connection: Connection,
    query: Query,
    limit: int,
    only_injectable: bool,
    now_iso: str,
    deadline: Deadline | None = None,
) -> list[Hit]:
    """The at most `limit` best memories, best first.

    With `only_injectable` the others, and the expired ones, are neither found nor counted.  Raises TimeoutError when the deadline passes.
    """
    model = loads(meta_get(connection, "model") or "")
    settings = model["ranking"]
    terms = _terms(query, frozenset(model["stop"]["en"].split()), settings["extra"])
    tables = (True,) if only_injectable else (True, False)
    totals = connection.execute(
        "SELECT sum(documents), sum(title), sum(tags), sum(body), sum(files), sum(asked_as) FROM totals WHERE injectable >= ?",
        (int(only_injectable),),
    ).fetchone()
    documents = totals[0]
    if not documents or not terms:
        return []
    idf, plan = {}, []
    for term in terms:
        row = connection.execute(
            "SELECT strong, weak, held_strong, held_weak FROM vocabulary WHERE term = ?", (term,)
        ).fetchone()
        strong, weak = (
            (0, 0)
            if row is None
            else (row[0], row[1])
            if only_injectable
            else (row[0] + row[2], row[1] + row[3])
        )
        idf[term] = log(1 + (documents - strong - weak + 0.5) / (strong + weak + 0.5))
        plan.append((2.0 * terms[term] * idf[term], strong, term + "+"))
        plan.append((1.0 * terms[term] * idf[term], weak, term))
    pool = _candidates(connection, sorted(plan, reverse=True), tables, settings)
    averages = [max(1.0, total / documents) for total in totals[1:]]
    scored = []
    mass = sum(terms[term] * idf[term] for term in terms) ** 0.5
    for rowid in pool:
        _check(deadline)
        fields = connection.execute(
            "SELECT title, tags, body, files, asked_as FROM vectors WHERE rowid = ?", (rowid,)
        ).fetchone()
        parts = _score(fields, terms, idf, averages, settings)
        scored.append((sum(parts.values()), rowid, parts))
    scored.sort(key=lambda item: (-item[0], item[1]))
    hits = []
    for score, rowid, parts in scored:
        row = connection.execute(
            "SELECT key, id, scope, category, title, tags, path, digest, trust, expires_at, inject FROM documents WHERE rowid = ?",
            (rowid,),
        ).fetchone()
        if only_injectable and row[9] and row[9] <= now_iso:
            continue
        hits.append(Hit(row, score, min(1.0, score / mass / 10.0), {"terms": parts}))
        if len(hits) >= 2 * limit:
            break
    hits.sort(key=lambda hit: (-hit.score, _category_order(hit.category), hit.key))
    return hits[:limit]


def _category_order(category: str) -> int:
    return CATEGORIES.index(category) if category in CATEGORIES else len(CATEGORIES)


def _terms(query: Query, stop: frozenset[str], extra: float) -> dict[str, float]:
    weights: dict[str, float] = {}
    for found, weight in ((query.words, 1.0), (query.extra, extra)):
        for word in found:
            if word not in stop:
                term = stem(word)
                weights[term] = weights.get(term, 0.0) + weight
    return weights


def _candidates(
    connection: Connection,
    plan: list[tuple[float, int, str]],
    tables: tuple[bool, ...],
    settings: dict[str, int],
) -> list[int]:
    best: dict[int, float] = {}
    left = settings["postings"]
    for weight, postings, token in plan:
        if not postings:
            continue
        left -= postings
        if left < 0 and best:
            break
        for table in tables:
            name = POSTINGS[table]
            for (rowid,) in connection.execute(
                "SELECT rowid FROM %s WHERE %s MATCH ?" % (name, name), ('"%s"' % token,)
            ):
                best[rowid] = best.get(rowid, 0.0) + weight
    return sorted(best, key=lambda rowid: (-best[rowid], rowid))[: settings["pool"]]


def _score(
    fields: tuple[str, ...],
    terms: dict[str, float],
    idf: dict[str, float],
    averages: list[float],
    settings: dict[str, object],
) -> dict[str, float]:
    k1, b, weights = settings["k1"], settings["b"], settings["weights"]
    norms = [1 - b + b * (field.count("  ") + 1) / average for field, average in zip(fields, averages)]
    parts = {}
    for term, weight in terms.items():
        spaced = " " + term + " "
        frequency = 0.0
        for field, norm, field_weight in zip(fields, norms, weights):
            if field:
                frequency += field_weight * field.count(spaced) / norm
        if frequency:
            parts[term] = weight * idf[term] * frequency * (k1 + 1) / (frequency + k1)
    return parts


def _check(deadline: Deadline | None) -> None:
    if deadline is not None and deadline.remaining() <= 0:
        raise TimeoutError("ranking ran out of time")
