"""`memory search`: what is remembered about something."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...kernel.clock import now_iso
from ...kernel.sqlite import SqliteError
from ...kernel.text.private import without_private
from ...memories.trust import TRUSTED
from ...recall.index.file import IndexError_
from ...recall.search import search

if TYPE_CHECKING:
    import argparse

    from ...recall.ranking import Hit
    from ..session_context import Session

HELP = "find memories, also those that wait for your word"
EXAMPLES = """\
  memory search "billing database"
  memory search --limit 3 --json deploy rollback
  printf '%s' "text with 'quotes' and $signs" | memory search -
"""
_MAX_INPUT = 64 * 1024


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


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Search; finding nothing is an answer, not a failure."""
    limit = session.settings.integer("search.limit") if arguments.limit is None else arguments.limit
    if not 1 <= limit <= 100:
        session.console.error("--limit: expected 1 to 100, got %d" % limit)
        return 2
    try:
        found = search(session.places, session.settings, _query(arguments.query), limit)
    except (IndexError_, SqliteError) as error:
        session.console.error("the index cannot be asked: %s" % error)
        return 1
    if arguments.json:
        session.console.json({"results": [_row(hit) for hit in found.hits], "answered_by": found.answered_by})
    elif not found.hits:
        session.console.line("Nothing is stored about that.")
    else:
        _show(session, found.hits)
    return 0


def _query(words: list[str]) -> str:
    text = sys.stdin.buffer.read(_MAX_INPUT).decode("utf-8", "replace") if words == ["-"] else " ".join(words)
    return without_private(text)


def _row(hit: Hit) -> dict[str, Any]:
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
        "text": hit.inject,
    }


def _show(session: Session, hits: list[Hit]) -> None:
    console = session.console
    for hit in hits:
        marks = [hit.category.lower().replace("_", " "), hit.scope]
        if hit.trust != TRUSTED:
            marks.append(
                "waits for your word" if hit.trust == "pending" else "from the repository, not accepted"
            )
        if hit.expires_at and hit.expires_at <= now_iso():
            marks.append("expired")
        console.line(
            "%s  %s" % (console.style(hit.title, "bold"), console.style("(%s)" % ", ".join(marks), "dim"))
        )
        console.line("    %s  %s" % (console.style(hit.id, "cyan"), console.style(hit.path, "dim")))
