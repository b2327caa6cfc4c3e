"""`memory search`: find memories about something."""

from __future__ import annotations

import argparse
import sys
from html import unescape
from typing import Any

from ...kernel.clock import Deadline, now_iso
from ...kernel.context import Context
from ...kernel.sqlite import SqliteError
from ...kernel.text.clean import plain
from ...kernel.text.tags import without_private
from ...memories.trust import PENDING, TRUSTED
from ...recall.index_file import IndexUnavailable
from ...recall.judging import SEARCH, Judged, judge_candidates
from ...recall.memory_search import SearchResult, search
from ...recall.ranking import Hit
from ..command_context import CommandContext, CommandError, UsageError
from ..memory_view import shown_name
from ..options import add_flag

HELP = "find memories, including pending and superseded ones"
EXAMPLES = """\
  memory search "billing database"
  memory search --limit 3 --json deploy rollback
  memory search --judge "how do we roll back"      a small model decides which ones matter
  printf '%s' "text with 'quotes' and $signs" | memory search -
"""
_MAX_INPUT = 64 * 1024
_JUDGED_POOL = 20
_SECONDS = 30.0
_SNIPPET = 100
_ADJECTIVES = {"relevance": "relevant", "usefulness": "useful"}  # by judge


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "query", nargs="+", metavar="QUERY", help="what to look for; - reads it from standard input"
    )
    parser.add_argument(
        "--limit",
        default=10,
        type=int,
        metavar="N",
        help="at most N results, 1 to 100 (default: 10)",
    )
    add_flag(parser, "--judge", "keep only what the recall judges consider relevant, if they are on")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Search and print. The exit code is 0 even if nothing is found."""
    limit: int = arguments.limit
    if not 1 <= limit <= 100:
        raise UsageError("--limit: expected 1 to 100, got %d" % limit)
    is_input = arguments.query == ["-"]
    text = (
        sys.stdin.buffer.read(_MAX_INPUT).decode("utf-8", "replace")
        if is_input
        else " ".join(arguments.query)
    )
    query = without_private(text)
    try:
        pool = max(limit, _JUDGED_POOL) if arguments.judge else limit
        result = search(context.paths, context.settings, query, pool)
    except (IndexUnavailable, SqliteError) as error:
        raise CommandError("the index cannot be read: %s" % error) from None
    if result.problem:
        context.console.error("the index cannot be used (%s); every file was read instead" % result.problem)
    judged = _judged(query, result, context) if arguments.judge else None
    hits = (result.hits if judged is None else judged.search_hits)[:limit]
    if arguments.json:
        context.console.json(_document(hits, result, judged))
    else:
        _show(context, hits, result, judged)


def _judged(query: str, result: SearchResult, context: CommandContext) -> Judged:
    """Return the judges' lenient verdict on the FTS5 hits; plain keyword matches are too rough to judge."""
    hits = result.hits if result.answered_by == "fts5" else []
    timed = Context(context.paths, context.settings, Deadline(_SECONDS), context.session)
    judged = judge_candidates(query, hits, SEARCH, timed, judges_off=context.taint.judges_off)
    if not hits:
        judged.search_hits = result.hits
    return judged


def _document(hits: list[Hit], result: SearchResult, judged: Judged | None) -> dict[str, Any]:
    rows = [_row(hit, result.superseded.get(hit.key, "")) for hit in hits]
    document: dict[str, Any] = {"results": rows, "answered_by": result.answered_by}
    if judged is not None:
        document["judge"] = judged.record()
        for hit, row in zip(hits, rows):
            row["approved_by"] = _approvers(hit, judged)
    return document


def _approvers(hit: Hit, judged: Judged) -> list[str]:
    """Return the names of the judges that approved a hit."""
    relevant, useful = judged.verdicts.get(hit.key, (None, None))
    return [name for name, vote in zip(_ADJECTIVES, (relevant, useful)) if vote]


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
        "expired": _is_expired(hit),
        "superseded_by": superseded_by and shown_name(superseded_by, hit.key),
        "text": hit.injection_text,
    }


def _show(context: CommandContext, hits: list[Hit], result: SearchResult, judged: Judged | None) -> None:
    console = context.console
    if not hits:
        console.line("No memory found.")
    if judged is not None and judged.path not in ("judged", "single"):
        console.line("judges: %s" % (", ".join(judged.reasons) or judged.path))
    for hit in hits:
        marks = "(%s)" % ", ".join(_marks(hit, result, judged))
        if len(hit.title) + len(marks) + 2 <= console.width:
            console.line("%s  %s" % (console.style(hit.title, "bold"), console.style(marks, "dim")))
        else:
            console.paragraph(hit.title)
            console.line("    " + console.style(marks, "dim"))
        snippet = _snippet(hit, min(console.width, _SNIPPET))
        if snippet:
            console.line("    " + snippet)
        console.line("    %s  %s" % (console.style(hit.id, "cyan"), console.style(hit.path, "dim")))


def _marks(hit: Hit, result: SearchResult, judged: Judged | None) -> list[str]:
    """Return what to know about a hit before relying on it: category, scope, trust, expiry, successor, judges."""
    marks = [hit.category.lower().replace("_", " "), hit.scope]
    if hit.trust != TRUSTED:
        marks.append("awaits approval" if hit.trust == PENDING else "from the repository, not accepted")
    if _is_expired(hit):
        marks.append("expired")
    if hit.key in result.superseded:
        marks.append("superseded by " + shown_name(result.superseded[hit.key], hit.key))
    if judged is not None:
        marks += [_ADJECTIVES[name] for name in _approvers(hit, judged)]
    return marks


def _is_expired(hit: Hit) -> bool:
    return bool(hit.expires_at and hit.expires_at <= now_iso())


def _snippet(hit: Hit, width: int) -> str:
    """Return the first line below the title, truncated to the width; empty if there is none."""
    lines = [line for line in hit.injection_text.split("\n") if line and not line.startswith("<")]
    return plain(
        unescape(next((line for line in lines if unescape(line) != hit.title), "")), max(20, width - 4)
    )
