"""Rank memories for a query: FTS5 finds candidates, BM25F orders them, and confidence models rate the best ones on an absolute scale."""

from __future__ import annotations

from ..kernel.context import Deadline
from ..kernel.fastjson import as_texts, digest, loads
from ..kernel.files import read_regular
from ..kernel.sqlite import Connection
from .confidence import Confidence, confidences
from .index_file import IndexUnavailable, has_fts5, joined, value_of
from .query import Model, PromptTerms, Query, intents_in, load_model, stem_idfs, weigh_terms
from .scoring import Match, best_matches, candidates, keyword_candidates
from .signals import stems_to_compare

FTS5, KEYWORD = "fts5", "keyword"
# Of hits with equal scores, those of an earlier category come first.
CATEGORIES = ("DECISION", "CONSTRAINT", "PREFERENCE", "RUNBOOK", "TECH_DEBT", "SESSION_SUMMARY")

# The signals shown in explanations, because they tell a person most; all are in `Hit.signals`.
_EXPLAINED = ("concerns", "answers", "wants", "covered", "phrase_covered", "title_covered", "missed", "named")
HIT_COLUMNS = "key, id, scope, category, title, tags, path, digest, trust, expires_at, inject"
_CATEGORY = 3  # its place in them
_MAX_FILE = 512 * 1024  # bytes


class Hit:
    """A ranked memory. `score` compares it with the other hits of one query, `parts` explains the score.

    `confidence` in [0, 1] rates whether its full text is worth injecting, `pointer_confidence` whether its title is worth a line; both
    are comparable across queries. `shift` is how far ratings moved this memory's own thresholds (`feedback.py`), usually 0.
    """

    __slots__ = (
        "category", "confidence", "digest", "expires_at", "id", "injection_text", "key", "parts", "path", "pointer_confidence", "scope",
        "score", "shift", "signals", "tags", "title", "trust",
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
            self.injection_text,
        ) = row
        joined(row)
        self.tags = as_texts(value_of(lambda: loads(tags), "tags"))
        self.score = score
        self.confidence = confidence
        self.pointer_confidence = confidence if pointer_confidence is None else pointer_confidence
        self.parts = parts
        self.signals: dict[str, float] = {}
        self.shift = 0.0

    def is_current(self) -> bool:
        """Return whether the memory's file is unchanged since it was indexed."""
        try:
            return digest(read_regular(self.path, _MAX_FILE)[0]) == self.digest
        except OSError:
            return False


def rank(
    connection: Connection,
    query: Query,
    limit: int,
    *,
    only_injectable: bool,
    expires_after: str,
    deadline: Deadline | None = None,
    backend: str = FTS5,
) -> list[Hit]:
    """Return at most `limit` memories, best first; `backend` is the result of `candidate_backend`.

    With `only_injectable` all other memories are ignored, and so are those that expire up to the time `expires_after` (in UTC).
    Raises TimeoutError when the deadline passes, IndexUnavailable if the index holds no model, and SqliteError if it is damaged or locked.
    """
    model = load_model(connection)
    for size in ("pool", "soft_pool"):  # a search may ask for more than a prompt can use
        model.ranking[size] = max(model.ranking[size], limit)
    documents, averages = _totals(connection, only_injectable)
    if not documents:
        return []
    terms = weigh_terms(connection, query, model, only_injectable, documents)
    find = candidates if backend == FTS5 else keyword_candidates
    rowids = find(connection, terms, model, only_injectable, deadline)
    pool = _pool(connection, rowids, only_injectable, expires_after)
    matches = best_matches(pool, terms, averages, model)[:limit]
    if not matches:
        return []
    columns = _columns(connection, matches)
    for match in matches:
        match.category = columns[match.rowid][_CATEGORY]
    prompt = PromptTerms(query, terms, intents_in(query.text, model.passages))
    compared = stems_to_compare(matches[: model.confidence["looked_at"]], prompt)
    prompt.idfs = stem_idfs(connection, compared, model, only_injectable, documents)
    results = confidences(prompt, matches, documents, averages[-1], model)
    hits = [_hit(columns[match.rowid], match, result) for match, result in zip(matches, results)]
    hits.sort(key=lambda hit: (-hit.score, _category_order(hit.category), hit.key))
    return _reorder_examined(hits, model)


def unranked(connection: Connection, hits: list[Hit], expires_after: str, whole_store: int) -> list[Hit]:
    """Return the other injectable memories of a store of at most `whole_store`, with a score of 0, in a fixed order."""
    if _totals(connection, True)[0] > whole_store:
        return []
    keys = {hit.key for hit in hits}
    rows = connection.execute(
        "SELECT %s FROM documents WHERE injectable = 1 AND (expires_at = '' OR expires_at > ?)" % HIT_COLUMNS,
        (expires_after,),
    ).fetchall()
    others = [Hit(row, 0.0, 0.0, {}) for row in rows if row[0] not in keys]
    return sorted(others, key=lambda hit: digest(hit.key.encode("utf-8", "replace")))


def candidate_backend(connection: Connection, strategy: str) -> str:
    """Return how this index finds candidates under the setting `retrieval.match_strategy`: FTS5 or KEYWORD."""
    return FTS5 if strategy != KEYWORD and has_fts5(connection) else KEYWORD


def _pool(
    connection: Connection, rowids: list[int], only_injectable: bool, expires_after: str
) -> list[tuple[int, tuple[str, ...]]]:
    """Return (row id, analyzed fields) of the candidates, without expired ones if only injectable ones are wanted."""
    rows = connection.execute(
        "SELECT rowid, title, tags, body, files, asked_as FROM vectors WHERE rowid IN (%s) AND (? OR expires_at = '' OR expires_at > ?)"
        % ",".join("?" * len(rowids)),
        (*rowids, not only_injectable, expires_after),
    )
    return [(row[0], row[1:]) for row in rows]


def _reorder_examined(hits: list[Hit], model: Model) -> list[Hit]:
    """Order the hits whose signals were computed by the trees and the score combined; the others stay below them."""
    examined = hits[: model.confidence["looked_at"]]
    weight = model.confidence["rank_by_score"]
    examined.sort(key=lambda hit: -hit.signals["answers"] - weight * hit.signals["relative"])
    return examined + hits[len(examined) :]


def _columns(connection: Connection, matches: list[Match]) -> dict[int, tuple[str, ...]]:
    """Return HIT_COLUMNS of each match by row id."""
    rowids = [match.rowid for match in matches]
    select = "SELECT rowid, %s FROM documents WHERE rowid IN (%s)"
    rows = connection.execute(select % (HIT_COLUMNS, ",".join("?" * len(rowids))), rowids)
    columns = {row[0]: row[1:] for row in rows}
    if len(columns) < len(rowids):
        raise IndexUnavailable("the index lacks a document")
    return columns


def _hit(columns: tuple[str, ...], match: Match, result: Confidence) -> Hit:
    parts = _parts(match, result.signals if result.is_examined else {})
    hit = Hit(columns, match.score, result.confidence, parts, result.pointer_confidence)
    hit.signals = result.signals
    return hit


def _parts(match: Match, signals: dict[str, float]) -> dict[str, object]:
    values = {"exact": match.stem_score, "forms": match.form_score, "soft": match.gram_score}
    values.update((name, signals[name]) for name in _EXPLAINED if name in signals)
    parts: dict[str, object] = {name: round(value, 4) for name, value in values.items()}
    parts["terms"] = {term: round(part, 4) for term, part in match.matched.items()}
    return parts


def _totals(connection: Connection, only_injectable: bool) -> tuple[int, list[float]]:
    """Return the number of documents, and the mean lengths of their fields; the last is that of all fields together."""
    row = connection.execute(
        "SELECT sum(documents), sum(title), sum(tags), sum(body), sum(files), sum(asked_as) FROM totals WHERE injectable >= ?",
        (int(only_injectable),),
    ).fetchone()
    documents, *lengths = value_of(lambda: list(map(int, row)), "totals")
    lengths.append(sum(lengths))
    return documents, [max(1.0, length / max(1, documents)) for length in lengths]


def _category_order(category: str) -> int:
    return CATEGORIES.index(category) if category in CATEGORIES else len(CATEGORIES)
