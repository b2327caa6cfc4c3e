"""`memory search`: find memories about something."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from ...kernel.sqlite import SqliteError
from ...kernel.text import without_private
from ...kernel.text.clean import inflected, plain
from ...memories.trust import PENDING, TRUSTED
from ...recall.index_file import IndexUnavailable
from ...recall.judging import SEARCH, Judged, judge_candidates
from ...recall.memory_search import SearchResult, hit_record, search
from ...sessions.past import WEAK
from ...work.past_sessions import find_exchanges
from ..command_context import CommandContext, CommandError, Handler, UsageError
from ..console import Console, read_text
from ..options import add_flag, up_to

_TEXT = """\
find memories, including pending and replaced ones
  memory search "billing database"
  memory search --judge "how do we roll back"      a small model decides which ones matter
  printf '%s' "text with 'quotes' and $signs" | memory search -
"""
_LIMIT, _MOST = 10, 100
_MAX_INPUT = 64 * 1024
_JUDGED_POOL = 20
_SNIPPET = 100
_JUDGE_SECONDS = 30.0
_ADJECTIVES = {"relevance": "relevant", "usefulness": "useful"}  # by judge
_JUDGE_OFF = "The recall judge is off. To turn it on: memory judge on"


def _configure(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="QUERY", help="what to look for; - reads standard input")
    parser.add_argument("--limit", type=up_to(_MOST), metavar="N", help="1 to 100 results (default: 10)")
    add_flag(parser, "--judge", "keep only what the recall judge considers relevant, if it is on")


def _run(arguments: Namespace, context: CommandContext) -> None:
    """Search and print. The exit code is 0 even if nothing is found."""
    if not arguments.query:
        raise UsageError('what should I look for? Example: memory search "login sessions"')
    most = "retrieval.judge.modes.search.max_output"
    limit: int = arguments.limit or (context.settings.integer(most) if arguments.judge else _LIMIT)
    text = " ".join(arguments.query)
    query = without_private(read_text(_MAX_INPUT) if text == "-" else text)
    try:
        pool = max(limit, _JUDGED_POOL) if arguments.judge else limit
        with context.console.working("search"):
            result = search(context.paths, context.settings, query, pool)
    except (IndexUnavailable, SqliteError) as error:
        raise CommandError("the index cannot be read: %s" % error) from None
    if result.problem:
        context.console.error("the index cannot be used (%s); every file was read instead" % result.problem)
    judged = _judged(query, result, context) if arguments.judge else None
    hits = (result.hits if judged is None else judged.search_hits)[:limit]
    rows = [hit_record(hit, result) for hit in hits]
    if judged is not None:
        for row, hit in zip(rows, hits):
            votes = judged.verdicts.get(hit.key, (None, None))
            row["approved_by"] = [name for name, vote in zip(_ADJECTIVES, votes) if vote]
    verdict = {} if judged is None else {"judge": judged.record()}
    context.console.result({"results": rows, "answered_by": result.answered_by, **verdict})
    _show(context.console, rows, judged)
    if not context.console.as_json:
        _point_to_sessions(query, context)


def _judged(query: str, result: SearchResult, context: CommandContext) -> Judged:
    """Return the judges' lenient verdict on the FTS5 hits; plain keyword matches are too rough to judge."""
    hits = result.hits if result.answered_by == "fts5" else []
    timed = context.within(_JUDGE_SECONDS)
    judged = judge_candidates(query, hits, SEARCH, timed, judges_off=context.taint.judges_off)
    if not hits:
        judged.search_hits = result.hits
    return judged


def _point_to_sessions(query: str, context: CommandContext) -> None:
    """Say in one line that past sessions match too; the usual problems of their index are for `memory session find`."""
    try:
        found = find_exchanges(query, context)
    except SqliteError:
        return
    number = len({each.session for each in found if each.share >= WEAK})
    if number:
        text = "%s too; to see what was done: memory session find WORDS"
        context.console.line(text % inflected(number, "past session matches", "past sessions match"))


def _show(console: Console, rows: list[dict[str, Any]], judged: Judged | None) -> None:
    if not rows:
        console.line("No memories match. To list all: memory list")
    if judged is not None and judged.path not in ("judged", "single"):
        is_off = judged.path == "disabled"
        console.line(_JUDGE_OFF if is_off else "judges: %s" % (", ".join(judged.reasons) or judged.path))
    for row in rows:
        title = row["title"]
        marks = console.style("(%s)" % ", ".join(_marks(row)), "dim")
        console.line("%s  %s" % (console.style(title, "bold"), marks))
        # The first line below the title.
        lines = (line for line in row["text"].split("\n") if line and not line.startswith("<"))
        snippet = next((text for line in lines if (text := line.replace("&lt;", "<")) != title), "")
        if snippet:
            console.line("    " + plain(snippet, max(20, min(console.width, _SNIPPET) - 4)))
        console.line("    %s  %s" % (console.style(row["id"], "cyan"), console.style(row["path"], "dim")))


def _marks(row: dict[str, Any]) -> list[str]:
    """Return what to know about a hit before relying on it: category, scope, trust, expiry, successor, judges."""
    marks = [row["category"].replace("_", " "), row["scope"]]
    if row["trust"] != TRUSTED:
        marks.append("pending" if row["trust"] == PENDING else "from the repository, not accepted")
    if row["expired"]:
        marks.append("expired")
    if row["superseded_by"]:
        marks.append("replaced by " + row["superseded_by"])
    return marks + [_ADJECTIVES[name] for name in row.get("approved_by", ())]


HANDLERS = {"search": Handler(_TEXT, _run, _configure)}
