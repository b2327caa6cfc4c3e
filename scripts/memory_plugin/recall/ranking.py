"""Rank memories for a query: FTS5 finds candidates, BM25F scores them, and confidence models rate the best ones on an absolute scale.

Each term has two posting lists: the documents with it in a strong field, and those with it only in the body. The lists are read heaviest
first, and each adds its weight to its documents (impact-ordered retrieval: V. N. Anh and A. Moffat, "Pruned query evaluation using
pre-computed impacts", SIGIR 2006), so that the budget is spent on distinctive words first. Without FTS5 the texts themselves are searched.

BM25F is that of S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3.6. Matches of
the words' exact forms and of their character 4-grams add to it.
"""

from __future__ import annotations

from ..kernel.context import Deadline, now_iso
from ..kernel.fastjson import as_texts, digest, loads
from ..kernel.sqlite import Connection
from .confidence import rate, stems_to_compare
from .index_file import POSTINGS, STRONG_MARK, IndexUnavailable, has_fts5, joined, value_of
from .query import Corpus, Match, Model, PromptTerms, Query, Term, intents_in, weigh_terms

FTS5, KEYWORD = "fts5", "keyword"
# Of hits with equal scores, those of an earlier category come first.
CATEGORIES = ("DECISION", "CONSTRAINT", "PREFERENCE", "RUNBOOK", "TECH_DEBT", "SESSION_SUMMARY")

HIT_COLUMNS = "key, id, scope, category, title, tags, path, digest, trust, expires_at, inject"
_CATEGORY = 3  # its place in them
_GRAM = 4  # characters


class Hit:
    """A ranked memory. `score` compares it with the other hits of one query.

    `confidence` in [0, 1] rates whether its full text is worth injecting, `pointer_confidence` whether its title is worth a line; both
    are comparable across queries. `terms` maps the matching stems to theirs, and `signals` is empty for a
    memory that the confidence models did not examine. `shift` is how far ratings moved its own thresholds (`history.py`), usually 0.
    `way` is how it names a file of a tool call (`project_files.py`), else empty.
    """

    def __init__(self, row: tuple[str, ...]) -> None:
        """`row`: its HIT_COLUMNS."""
        joined(row)
        self.key, self.id, self.scope, self.category, self.title, tags, *rest = row
        self.path, self.digest, self.trust, self.expires_at, self.injection_text = rest
        self.tags = as_texts(value_of(lambda: loads(tags), "tags"))
        self.score = self.confidence = self.pointer_confidence = self.shift = 0.0
        self.terms: dict[str, float] = {}
        self.signals: dict[str, float] = {}
        self.way = ""


Hits = list[Hit]  # the best first


def rank(corpus: Corpus, query: Query, limit: int, deadline: Deadline, backend: str) -> Hits:
    """Return at most `limit` memories, best first; `backend` is the result of `candidate_backend`.

    If the corpus has only injectable memories, those that have expired are ignored, too.
    Raises TimeoutError when the deadline passes, and SqliteError if the index is damaged or locked.
    """
    model = corpus.model
    for size in ("pool", "soft_pool"):  # a search may ask for more than a prompt can use
        model.ranking[size] = max(model.ranking[size], limit)
    if not corpus.documents:
        return []
    terms = weigh_terms(query, corpus)
    pool = _pool(candidates(terms, corpus, deadline, backend), corpus)
    matches = best_matches(pool, terms, corpus)[:limit]
    if not matches:
        return []
    columns = _columns(corpus.connection, matches)
    for match in matches:
        match.category = columns[match.rowid][_CATEGORY]
    prompt = PromptTerms(query, terms, intents_in(query.text, model.passages))
    compared = stems_to_compare(matches[: model.confidence["looked_at"]], prompt)
    prompt.idfs = {stem: corpus.idf(*known) for stem, known in corpus.frequencies(compared).items()}
    rate(prompt, matches, corpus)
    hits = [_hit(columns[match.rowid], match) for match in matches]
    hits.sort(key=lambda hit: (-hit.score, [*CATEGORIES, hit.category].index(hit.category), hit.key))
    return _reorder_examined(hits, model)


def unranked(connection: Connection, hits: Hits, whole_store: int) -> Hits:
    """Return the other injectable memories of a store of at most `whole_store`, with a score of 0, in a fixed order."""
    if connection.execute("SELECT documents FROM totals WHERE injectable = 1").fetchone()[0] > whole_store:
        return []
    keys = {hit.key for hit in hits}
    select = "SELECT %s FROM documents WHERE injectable = 1 AND (expires_at = '' OR expires_at > ?)"
    rows = connection.execute(select % HIT_COLUMNS, (now_iso(),)).fetchall()
    others = [Hit(row) for row in rows if row[0] not in keys]
    return sorted(others, key=lambda hit: digest(hit.key.encode("utf-8", "replace")))


def candidate_backend(connection: Connection, strategy: str) -> str:
    """Return how this index finds candidates under the setting `retrieval.match_strategy`: FTS5 or KEYWORD."""
    return FTS5 if strategy != KEYWORD and has_fts5(connection) else KEYWORD


def _pool(rowids: list[int], corpus: Corpus) -> list[tuple[int, tuple[str, ...]]]:
    """Return (row id, analyzed fields) of the candidates, without expired ones if only injectable ones are wanted."""
    rows = corpus.connection.execute(
        "SELECT rowid, title, tags, body, files, asked_as FROM vectors WHERE rowid IN (%s) AND (? OR expires_at = '' OR expires_at > ?)"
        % ",".join("?" * len(rowids)),
        (*rowids, not corpus.only_injectable, now_iso()),
    )
    return [(row[0], row[1:]) for row in rows]


def _reorder_examined(hits: Hits, model: Model) -> Hits:
    """Order the examined hits by the trees and the score combined; the others stay below them."""
    weight = model.confidence["rank_by_score"]
    examined = [hit for hit in hits if hit.signals]
    examined.sort(key=lambda hit: -hit.signals["answers"] - weight * hit.signals["relative"])
    return examined + [hit for hit in hits if not hit.signals]


def _columns(connection: Connection, matches: list[Match]) -> dict[int, tuple[str, ...]]:
    """Return HIT_COLUMNS of each match by row id."""
    rowids = [match.rowid for match in matches]
    select = "SELECT rowid, %s FROM documents WHERE rowid IN (%s)"
    rows = connection.execute(select % (HIT_COLUMNS, ",".join("?" * len(rowids))), rowids)
    columns = {row[0]: row[1:] for row in rows}
    if len(columns) < len(rowids):
        raise IndexUnavailable("the index lacks a document")
    return columns


def _hit(columns: tuple[str, ...], match: Match) -> Hit:
    hit = Hit(columns)
    hit.score = match.score
    hit.confidence, hit.pointer_confidence = match.confidence, match.pointer_confidence
    hit.terms, hit.signals = match.matched, match.signals
    return hit


def candidates(terms: list[Term], corpus: Corpus, deadline: Deadline, backend: str) -> list[int]:
    """Return the row ids of the best documents by the weights of their lists, best first. Raises TimeoutError at the deadline."""
    find = _scanned if backend == KEYWORD else _posted
    scores: dict[int, float] = {}
    budget = corpus.model.ranking["postings"]
    for weight, length, stem, is_strong in _lists(terms, corpus.model.ranking["strong"]):
        budget -= length
        if budget < 0 and scores:
            break
        if deadline.remaining() <= 0:
            raise TimeoutError("ranking ran out of time")
        for rowid in find(corpus, stem, is_strong):
            scores[rowid] = scores.get(rowid, 0.0) + weight
    best = sorted(scores)
    # Sorting is stable even in reverse, so of equal scores the lower row id stays first.
    best.sort(key=scores.__getitem__, reverse=True)
    return best[: corpus.model.ranking["pool"]]


def _lists(terms: list[Term], strong: float) -> list[tuple[float, int, str, bool]]:
    """Return (weight, number of documents, stem, whether in a strong field) of every list that is not empty, heaviest first."""
    lists = [(term.weight * strong, term.strong, term.stem, True) for term in terms if term.strong]
    lists += [(term.weight, term.weak, term.stem, False) for term in terms if term.weak]
    return sorted(lists, key=lambda item: (-item[0], *item[2:]))


def _posted(corpus: Corpus, stem: str, is_strong: bool) -> list[int]:
    """Return the row ids of a list by FTS5."""
    found: list[int] = []
    token = '"%s"' % (stem + STRONG_MARK if is_strong else stem)
    for table in (POSTINGS[True],) if corpus.only_injectable else POSTINGS.values():
        # Fetching all row ids as one text takes a third less time than fetching one row each.
        query = "SELECT group_concat(rowid) FROM %s WHERE %s MATCH ?" % (table, table)
        listed = corpus.connection.execute(query, (token,)).fetchone()[0]
        found += map(int, listed.split(",") if listed else ())
    return found


def _scanned(corpus: Corpus, stem: str, is_strong: bool) -> list[int]:
    """Return the row ids of a list by a search in all texts."""
    head = "instr(v.title || v.tags || v.files || v.asked_as, ?1)"
    where = head if is_strong else "instr(v.body, ?1) AND NOT " + head
    query = (
        "SELECT v.rowid FROM vectors v JOIN documents d ON d.rowid = v.rowid WHERE d.injectable >= ?2 AND "
    )
    rows = corpus.connection.execute(query + where, (" %s~" % stem, int(corpus.only_injectable)))
    return [rowid for (rowid,) in rows]


class Pattern:
    """The substrings to count in a document for one term: its stem, its exact form, and the stem's character 4-grams."""

    def __init__(self, term: Term) -> None:
        self.term = term
        self.stem_text = " " + term.stem + "~"
        self.form_text = " " + term.form + " "
        # A full name needs no grams, because its parts have theirs.
        grams = len(self.stem_text) - _GRAM + 1 if term.stem.isalnum() else 0
        self.grams = [self.stem_text[at : at + _GRAM] for at in range(grams)]


def best_matches(pool: list[tuple[int, tuple[str, ...]]], terms: list[Term], corpus: Corpus) -> list[Match]:
    """Return the matches of (row id, fields) pairs, best first; grams are counted for the best `soft_pool`, and the others are left out."""
    averages, model = corpus.averages, corpus.model
    patterns = [Pattern(term) for term in terms[: model.ranking["terms"]]]
    matches = [_score_words(Match(rowid, fields), patterns, averages, model) for rowid, fields in pool]
    matches.sort(key=_order)
    best = [_score_grams(match, patterns, averages, model) for match in matches[: model.ranking["soft_pool"]]]
    best.sort(key=_order)
    return best


def _order(match: Match) -> tuple[float, int]:
    return -match.score, match.rowid


def _score_words(match: Match, patterns: list[Pattern], averages: list[float], model: Model) -> Match:
    settings = model.ranking
    k1, b = settings["k1"], settings["b"]
    fields = zip(match.fields, settings["weights"], match.lengths, averages)
    zones = [(field, share / (1 - b + b * length / mean)) for field, share, length, mean in fields if length]
    text = match.text
    in_title = 0
    for pattern in patterns:
        if pattern.stem_text in text:
            part = _saturated(pattern.stem_text, zones, pattern.term.weight, k1)
            match.matched[pattern.term.stem] = part
            match.stem_score += part
            if pattern.form_text in text:
                match.form_score += _saturated(pattern.form_text, zones, pattern.term.weight, k1)
            in_title += match.fields[0].count(pattern.stem_text)
    match.title = in_title / (1 + match.lengths[0])
    return _sum_up(match, model)


def _saturated(text: str, zones: list[tuple[str, float]], weight: float, k1: float) -> float:
    frequency = 0.0
    for field, share in zones:
        frequency += share * field.count(text)
    return weight * (k1 + 1) * frequency / (frequency + k1)


def _score_grams(match: Match, patterns: list[Pattern], averages: list[float], model: Model) -> Match:
    k1, b = model.ranking["k1"], model.ranking["b"]
    norm = k1 * (1 - b + b * sum(match.lengths) / averages[-1])
    text = match.text
    for pattern in patterns:
        saturated = 0.0
        for gram in pattern.grams:
            count = text.count(gram)
            if count:
                saturated += count / (count + norm)
        if saturated:
            match.gram_score += pattern.term.weight * (k1 + 1) * saturated / len(pattern.grams)
    return _sum_up(match, model)


def _sum_up(match: Match, model: Model) -> Match:
    settings = model.ranking
    words = match.stem_score + settings["forms"] * match.form_score + settings["soft"] * match.gram_score
    match.score = words * (1 + settings["title"] * match.title)
    return match
