"""The best memories for a query: FTS5 finds candidates, BM25F orders them, the confidence says how good the best are in themselves."""

from __future__ import annotations

from memory_plugin.kernel.native import loads

from .candidates import candidates
from .index.document import CATEGORIES
from .model import load_model
from .query import Query, analyse
from .scoring import Pattern, scored
from .weighting import weighted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from memory_plugin.kernel.sqlite import Connection

    from .model import Model
    from .scoring import Match
    from .weighting import Term

    class Deadline(Protocol):
        def remaining(self) -> float:
            """The seconds left."""


__all__ = ["Hit", "Query", "analyse", "rank"]

_COLUMNS = "key, id, scope, category, title, tags, path, digest, trust, expires_at, inject"


class Hit:
    """A ranked memory.  `score` orders within one query, `confidence` in [0, 1] compares across queries, `parts` explains both."""

    __slots__ = (
        "category", "confidence", "digest", "expires_at", "id", "inject", "key", "parts", "path", "scope", "score", "tags", "title",
        "trust",
    )  # fmt: skip

    def __init__(self, row: tuple[str, ...], score: float, confidence: float, parts: dict[str, object]) -> None:
        self.key, self.id, self.scope, self.category, self.title, tags, self.path, self.digest, self.trust, self.expires_at, self.inject = row
        found = loads(tags)
        self.tags: list[str] = found if isinstance(found, list) else []
        self.score = score
        self.confidence = confidence
        self.parts = parts


def rank(
    connection: Connection, query: Query, limit: int, only_injectable: bool, now_iso: str, deadline: Deadline | None = None
) -> list[Hit]:
    """The at most `limit` best memories, best first.

    With `only_injectable` the others, and the expired ones, are neither found nor counted.  Raises TimeoutError when the deadline passes.
    """
    model = load_model(connection)
    documents, averages = _totals(connection, only_injectable)
    if not documents:
        return []
    terms = weighted(connection, query, model, only_injectable, documents)
    pool = candidates(connection, terms, model, only_injectable)
    _check(deadline)
    patterns = [Pattern(term) for term in terms[: model.ranking["terms"]]]
    matches = []
    for rowid in pool:
        _check(deadline)
        fields = connection.execute("SELECT title, tags, body, files, asked_as FROM vectors WHERE rowid = ?", (rowid,)).fetchone()
        matches.append(scored(rowid, fields, patterns, averages, model))
    matches.sort(key=lambda match: (-match.score, match.rowid))
    hits = []
    mass = sum(term.weight for term in terms) ** .5
    for match in matches[: 2 * limit]:
        row = connection.execute("SELECT %s FROM documents WHERE rowid = ?" % _COLUMNS, (match.rowid,)).fetchone()
        if only_injectable and row[9] and row[9] <= now_iso:
            continue
        hits.append(Hit(row, match.score, min(1.0, match.score / mass / 20), {}))
    hits.sort(key=lambda hit: (-hit.score, _category_order(hit.category), hit.key))
    return hits[:limit]


def _totals(connection: Connection, only_injectable: bool) -> tuple[int, list[float]]:
    """The number of documents, and the mean lengths of their fields with that of all fields together at the end."""
    documents, *lengths = connection.execute(
        "SELECT sum(documents), sum(title), sum(tags), sum(body), sum(files), sum(asked_as) FROM totals WHERE injectable >= ?",
        (int(only_injectable),),
    ).fetchone()
    lengths.append(sum(lengths))
    return documents, [max(1.0, length / max(1, documents)) for length in lengths]


def _category_order(category: str) -> int:
    return CATEGORIES.index(category) if category in CATEGORIES else len(CATEGORIES)


def _check(deadline: Deadline | None) -> None:
    if deadline is not None and deadline.remaining() <= 0:
        raise TimeoutError("ranking ran out of time")
