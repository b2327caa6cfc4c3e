"""A search with its judges, and its results as records."""

from __future__ import annotations

from ..kernel.context import Context, Deadline, now_iso
from ..recall.judging import SEARCH, Judged, judge_candidates
from ..recall.memory_search import SearchResult
from ..recall.ranking import Hit
from .context import WorkContext
from .memory_facts import shown_name

ADJECTIVES = {"relevance": "relevant", "usefulness": "useful"}  # by judge

_SECONDS = 30.0


def judged_hits(query: str, result: SearchResult, context: WorkContext) -> Judged:
    """Return the judges' lenient verdict on the FTS5 hits; plain keyword matches are too rough to judge."""
    hits = result.hits if result.answered_by == "fts5" else []
    timed = Context(context.paths, context.settings, Deadline(_SECONDS), context.session)
    judged = judge_candidates(query, hits, SEARCH, timed, judges_off=context.taint.judges_off)
    if not hits:
        judged.search_hits = result.hits
    return judged


def hit_record(hit: Hit, result: SearchResult, judged: Judged | None) -> dict[str, object]:
    """Return what is shown of a hit; with judges, also which of them approved it."""
    by = result.superseded.get(hit.key, "")
    row = {
        "id": hit.id,
        "title": hit.title,
        "score": round(hit.score, 4),
        "confidence": round(hit.confidence, 4),
        "category": hit.category.lower(),
        "path": hit.path,
        "trust": hit.trust,
        "scope": hit.scope,
        "tags": hit.tags,
        "expired": bool(hit.expires_at and hit.expires_at <= now_iso()),
        "superseded_by": by and shown_name(by, hit.key),
        "text": hit.injection_text,
    }
    if judged is not None:
        votes = judged.verdicts.get(hit.key, (None, None))
        row["approved_by"] = [name for name, vote in zip(ADJECTIVES, votes) if vote]
    return row
