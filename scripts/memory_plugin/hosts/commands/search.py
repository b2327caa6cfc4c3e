"""`memory search`: what is remembered about something."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...kernel.clock import Deadline, now_iso
from ...kernel.sqlite import SqliteError
from ...kernel.text.private import without_private
from ...memories.trust import TRUSTED
from ...recall.index.file import IndexError_
from ...recall.judging import SEARCH, Candidates, judge_candidates
from ...recall.search import search
from .memory_row import shown_name

if TYPE_CHECKING:
    import argparse

    from ...recall.judging import Judged
    from ...recall.ranking import Hit
    from ...recall.search import Found
    from ..session_context import Session

HELP = "find memories, also pending and superseded ones"
EXAMPLES = """\
  memory search "billing database"
  memory search --limit 3 --json deploy rollback
  memory search --judge "how do we roll back"      a small model says which ones matter
  printf '%s' "text with 'quotes' and $signs" | memory search -
"""
_MAX_INPUT = 64 * 1024
_JUDGED_POOL = 20
_SECONDS = 30.0


def configure(parser: argparse.ArgumentParser) -> None:
    """The words to look for, and how many results."""
    parser.add_argument(
        "query", nargs="+", metavar="QUERY", help="what to look for; - reads it from standard input"
    )
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help="at most N results, 1 to 100 (default: the setting search.limit, 10)",
    )
    parser.add_argument(
        "--judge", action="store_true", help="let the judges sort out what matters, where you have them"
    )


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Search; finding nothing is an answer, not a failure."""
    limit = session.settings.integer("search.limit") if arguments.limit is None else arguments.limit
    if not 1 <= limit <= 100:
        session.console.error("--limit: expected 1 to 100, got %d" % limit)
        return 2
    query = _query(arguments.query)
    try:
        pool = max(limit, _JUDGED_POOL) if arguments.judge else limit
        found = search(session.places, session.settings, query, pool)
    except (IndexError_, SqliteError) as error:
        session.console.error("the index cannot be asked: %s" % error)
        return 1
    if found.trouble:
        session.console.error("the index cannot be kept (%s); every file was read for this" % found.trouble)
    judged = _judged(query, found, session) if arguments.judge else None
    hits = (found.hits if judged is None else judged.kept)[:limit]
    if arguments.json:
        session.console.json(_document(hits, found, judged))
    else:
        _show(session, hits, found, judged)
    return 0


def _judged(query: str, found: Found, session: Session) -> Judged:
    """The lenient opinion of the judges, of what FTS5 found; keywords alone are too rough to be judged."""
    hits = found.hits if found.answered_by == "fts5" else []
    candidates = Candidates(query, hits)
    off = session.taint.judges_off
    places, settings = session.places, session.settings
    judged = judge_candidates(candidates, SEARCH, places, settings, session.id, Deadline(_SECONDS), off)
    if not hits:
        judged.kept = found.hits
    return judged


def _document(hits: list[Hit], found: Found, judged: Judged | None) -> dict[str, Any]:
    rows = [_row(hit, found.superseded.get(hit.key, "")) for hit in hits]
    document: dict[str, Any] = {"results": rows, "answered_by": found.answered_by}
    if judged is not None:
        document["judge"] = judged.record()
        for hit, row in zip(hits, rows):
            row["approved_by"] = _approvers(hit, judged)
    return document


def _approvers(hit: Hit, judged: Judged) -> list[str]:
    """The judges that approved of a hit."""
    relevant, useful = judged.verdicts.get(hit.key, (None, None))
    return [name for name, said in (("relevance", relevant), ("usefulness", useful)) if said]


def _query(words: list[str]) -> str:
    text = sys.stdin.buffer.read(_MAX_INPUT).decode("utf-8", "replace") if words == ["-"] else " ".join(words)
    return without_private(text)


def _row(hit: Hit, superseded_by: str) -> dict[str, Any]:
    return {
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
        "superseded_by": superseded_by and shown_name(superseded_by, hit.key),
        "text": hit.inject,
    }


def _show(session: Session, hits: list[Hit], found: Found, judged: Judged | None) -> None:
    console = session.console
    if not hits:
        console.line("Nothing is stored about that.")
    if judged is not None and judged.path not in ("judged", "single"):
        console.line("judges: %s" % (", ".join(judged.reasons) or judged.path))
    for hit in hits:
        marks = [hit.category.lower().replace("_", " "), hit.scope]
        if hit.trust != TRUSTED:
            marks.append(
                "waits for your word" if hit.trust == "pending" else "from the repository, not accepted"
            )
        if hit.expires_at and hit.expires_at <= now_iso():
            marks.append("expired")
        if hit.key in found.superseded:
            marks.append("superseded by " + shown_name(found.superseded[hit.key], hit.key))
        if judged is not None:
            marks += [
                {"relevance": "relevant", "usefulness": "useful"}[name] for name in _approvers(hit, judged)
            ]
        console.line(
            "%s  %s" % (console.style(hit.title, "bold"), console.style("(%s)" % ", ".join(marks), "dim"))
        )
        console.line("    %s  %s" % (console.style(hit.id, "cyan"), console.style(hit.path, "dim")))
