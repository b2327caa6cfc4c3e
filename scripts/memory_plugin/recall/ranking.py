"""Rank memories for a query: FTS5 finds candidates, BM25F orders them, and the confidence rates the best ones on an absolute scale."""

from __future__ import annotations

from ..kernel.fastjson import loads
from .confidence import Trees, confidences
from .index_file import IndexUnusable, has_fts5, meta_get
from .query import Query, analyze, rarities, weighted
from .scoring import best_matches, candidates, keyword_candidates
from .signals import compared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.clock import Deadline
    from ..kernel.sqlite import Connection
    from .confidence import Confidence
    from .query import Term
    from .scoring import Match

__all__ = [
    "CATEGORIES",
    "FTS5",
    "HIT_COLUMNS",
    "KEYWORD",
    "Hit",
    "Model",
    "Query",
    "analyze",
    "candidate_backend",
    "load_model",
    "rank",
]

FTS5, KEYWORD = "fts5", "keyword"
# Of hits with equal scores, those of an earlier category come first.
CATEGORIES = ("DECISION", "CONSTRAINT", "PREFERENCE", "RUNBOOK", "TECH_DEBT", "SESSION_SUMMARY")

# The signals that explain most to a person; the others are in `Hit.signals`.
_EXPLAINED = ("concerns", "answers", "wants", "covered", "phrase_covered", "title_covered", "missed", "named")
HIT_COLUMNS = "key, id, scope, category, title, tags, path, digest, trust, expires_at, inject"


class Model:
    """The ranking model as the index file holds it, so that a prompt reads no configuration.

    Stop words by language, intents, their passages by first word, trees, and the values of `ranking.json` and `confidence.json`.
    """

    __slots__ = ("answers", "confidence", "intents", "passages", "ranking", "stopwords", "wants")

    def __init__(
        self,
        stopwords: dict[str, str],
        ranking: dict[str, Any],
        confidence: dict[str, Any],
        intents: list[str],
        passages: dict[str, str],
        trees: dict[str, dict[str, Any]],
    ) -> None:
        self.stopwords = {language: frozenset(words.split()) for language, words in stopwords.items()}
        self.intents, self.passages = intents, passages
        self.answers, self.wants = Trees(**trees["answers"]), Trees(**trees["wants"])
        self.ranking = ranking
        self.confidence = confidence
        self.confidence["session_words"] = frozenset(confidence["session_words"].split())


def load_model(connection: Connection) -> Model:
    """Return the model that this index holds. Raises IndexUnusable when it holds none."""
    text = meta_get(connection, "model")
    try:
        found = loads(text or "")
        return Model(**found)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise IndexUnusable("the index holds no ranking model") from None


class Hit:
    """A ranked memory.  `score` says how well its words match within one query, `parts` explains it.

    `confidence` in [0, 1] says whether its full text is worth injecting, `pointer_confidence` whether its title is worth a line; both
    compare across queries. `shift` is how far people moved this memory's own thresholds (`feedback`), 0 for most.
    """

    __slots__ = (
        "category", "confidence", "digest", "expires_at", "id", "inject", "key", "parts", "path", "pointer_confidence", "scope", "score",
        "shift", "signals", "tags", "title", "trust",
    )  # fmt: skip

    def __init__(
        self,
        row: tuple[str, ...],
        score: float,
        confidence: float,
        parts: dict[str, object],
        pointer_confidence: float | None = None,
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
            self.inject,
        ) = row
        found = loads(tags)
        self.tags: list[str] = found if isinstance(found, list) else []
        self.score = score
        self.confidence = confidence
        self.pointer_confidence = confidence if pointer_confidence is None else pointer_confidence
        self.parts = parts
        self.signals: dict[str, float] = {}
        self.shift = 0.0


def rank(
    connection: Connection,
    query: Query,
    limit: int,
    only_injectable: bool,
    now_iso: str,
    deadline: Deadline | None = None,
    backend: str = FTS5,
) -> list[Hit]:
    """Return at most `limit` memories, best first; `backend` is the result of `candidate_backend`.

    With `only_injectable` all other memories are ignored, and expired ones (`now_iso` in UTC) are left out.  Raises TimeoutError
    when the deadline passes, IndexUnusable when the index holds no model, and SqliteError when it is damaged or locked.
    """
    model = load_model(connection)
    documents, averages = _totals(connection, only_injectable)
    if not documents:
        return []
    terms = weighted(connection, query, model, only_injectable, documents)
    rowids = _rowids(connection, terms, model, only_injectable, deadline, backend)
    pool = _pool(connection, rowids, only_injectable, now_iso)
    matches = best_matches(pool, terms, averages, model)[:limit]
    others = rarities(
        connection,
        compared(matches[: model.confidence["looked_at"]], terms),
        model,
        only_injectable,
        documents,
    )
    sure = confidences(query, terms, matches, documents, averages[-1], others, model)
    hits = _hits(connection, matches, sure)
    hits.sort(key=lambda hit: (-hit.score, _category_order(hit.category), hit.key))
    return _reordered(hits, model)


def candidate_backend(connection: Connection, strategy: str) -> str:
    """Return how this index finds candidates under the setting `retrieval.match_strategy`: FTS5 or KEYWORD."""
    return FTS5 if strategy != KEYWORD and has_fts5(connection) else KEYWORD


def _rowids(
    connection: Connection,
    terms: list[Term],
    model: Model,
    only_injectable: bool,
    deadline: Deadline | None,
    backend: str,
) -> list[int]:
    if candidate_backend(connection, backend) == FTS5:
        return candidates(connection, terms, model, only_injectable, deadline)
    return keyword_candidates(connection, terms, model, only_injectable, deadline)


def _pool(
    connection: Connection, rowids: list[int], only_injectable: bool, now_iso: str
) -> list[tuple[int, tuple[str, ...]]]:
    """Return (row id, analyzed fields) of the candidates, without the expired ones when only injectable ones are wanted."""
    rows = connection.execute(
        "SELECT rowid, expires_at, title, tags, body, files, asked_as FROM vectors WHERE rowid IN (%s)"
        % ",".join("?" * len(rowids)),
        rowids,
    )
    return [(row[0], row[2:]) for row in rows if not only_injectable or not row[1] or row[1] > now_iso]


def _reordered(hits: list[Hit], model: Model) -> list[Hit]:
    """Return the hits, of which the examined ones are reordered by the trees and the score combined."""
    first = hits[: model.confidence["looked_at"]]
    weight = model.confidence["rank_by_score"]
    first.sort(key=lambda hit: -hit.signals["answers"] - weight * hit.signals["relative"])
    return first + hits[len(first) :]


def _hits(connection: Connection, matches: list[Match], sure: list[Confidence]) -> list[Hit]:
    rowids = [match.rowid for match in matches]
    select = "SELECT rowid, %s FROM documents WHERE rowid IN (%s)"
    rows = connection.execute(select % (HIT_COLUMNS, ",".join("?" * len(rowids))), rowids)
    columns = {row[0]: row[1:] for row in rows}
    return [_hit(columns[match.rowid], match, confidence) for match, confidence in zip(matches, sure)]


def _hit(columns: tuple[str, ...], match: Match, sure: Confidence) -> Hit:
    parts = _parts(match, sure.signals)
    hit = Hit(columns, match.score, sure.confidence, parts, sure.pointer_confidence)
    hit.signals = sure.signals
    return hit


def _parts(match: Match, signals: dict[str, float]) -> dict[str, object]:
    sums = {"exact": match.exact, "forms": match.forms, "soft": match.soft}
    sums.update((name, signals[name]) for name in _EXPLAINED)
    parts: dict[str, object] = {name: round(value, 4) for name, value in sums.items()}
    parts["terms"] = {term: round(part, 4) for term, part in match.matched.items()}
    return parts


def _totals(connection: Connection, only_injectable: bool) -> tuple[int, list[float]]:
    """Return the number of documents, and the mean lengths of their fields with that of all fields together at the end."""
    documents, *lengths = connection.execute(
        "SELECT sum(documents), sum(title), sum(tags), sum(body), sum(files), sum(asked_as) FROM totals WHERE injectable >= ?",
        (int(only_injectable),),
    ).fetchone()
    lengths.append(sum(lengths))
    return documents, [max(1.0, length / max(1, documents)) for length in lengths]


def _category_order(category: str) -> int:
    return CATEGORIES.index(category) if category in CATEGORIES else len(CATEGORIES)
