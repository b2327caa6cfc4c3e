"""`memory import`: import notes, rule files, JSON, or another store."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from ...kernel.text.clean import counted, plain
from ...memories.import_records import Draft
from ...memories.importing import STDIN
from ...work.imports import (
    LEFT_OUT,
    LOADED_ANYWAY,
    SAME_STORED,
    SKIPPED,
    WOULD_STORE,
    by_reason,
    gather,
    shown_source,
    store_all,
    would_store,
)
from ..after_change import phrase_lines, print_notice
from ..command_context import CommandContext
from ..memory_input import add_category, add_scope, text_of
from ..options import add_flag, require_existing

HELP = "import notes, rule files, JSON, or another store"
EXAMPLES = """\
  memory import docs/adr .cursor/rules --dry-run  one memory per record or rule; nothing is written yet
  memory import notes.jsonl --category runbook    {"title": "...", "body": "...", "tags": ["a"]} on each line
  memory import ../other-project/.claude/memory   a whole store
"""

DONE, FAILED = 0, 1
_MAX_NAMED, _MAX_PATH = 3, 200
_SOURCE_SHARE = 4  # of the width of the terminal
_OUTCOMES = {WOULD_STORE: "new", SAME_STORED: "stored", "created": "stored now"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="Markdown, .mdc, JSON or JSON Lines files; folders of them; or a store; - reads JSON Lines from standard input",
    )
    add_category(parser, "the category of entries that name none (default: by their form): %s")
    add_scope(parser)
    add_flag(parser, "--dry-run", "print what would be stored, without writing")
    add_flag(parser, "--all", "include short instruction files that Claude loads in every session anyway")
    add_flag(parser, "--yes", "in a terminal, store without confirmation")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Store everything that can be read, and list what cannot. The exit code is 1 if anything was skipped.

    In a terminal, the table is shown first and the user confirms.
    """
    require_existing(*(path for path in arguments.paths if path != STDIN))
    with context.console.working("reading"):
        given = text_of(STDIN, "PATH") if STDIN in arguments.paths else ""
        found = gather(
            arguments.paths,
            given,
            arguments.category or "",
            arguments.scope,
            context,
            everything=arguments.all,
        )
    drafts, others = found.drafts, found.others
    dry = arguments.dry_run
    asks = bool(drafts) and not (dry or arguments.yes or arguments.json) and context.console.can_prompt()
    if asks:
        _print_results(_compared(drafts, context) + others, context)
        if not context.console.confirm("store %s?" % counted(len(drafts), "memory")):
            context.console.line("nothing was stored")
            return DONE
    approved = bool(drafts) and not dry and not context.only_new  # a request to save covers no files
    results = _compared(drafts, context) if dry else _store(drafts, arguments.scope, context, approved)
    results += others
    counts = Counter(result["outcome"] for result in results)
    if arguments.json:
        pending = bool(drafts) and (context.inside_client if dry else not approved)
        context.console.json({"dry_run": dry, "waits_for_user": pending, "items": results, **_totals(counts)})
    else:
        if not asks:
            _print_results(results, context)
        _print_summary(counts, dry, context, approved)
    return FAILED if counts[SKIPPED] else DONE


def _compared(drafts: list[Draft], context: CommandContext) -> list[dict[str, Any]]:
    with context.console.working("comparing %s with the stored ones" % counted(len(drafts), "memory")):
        return would_store(drafts, context)


def _store(drafts: list[Draft], scope: str, context: CommandContext, approved: bool) -> list[dict[str, Any]]:
    if not drafts:
        return []
    with context.console.working("storing %s" % counted(len(drafts), "memory")):
        imported = store_all(drafts, scope, context, approved=approved)
    print_notice(imported.refreshed, context)
    if approved:
        context.report_saves(imported.saved)
    return imported.results


def _totals(counts: Counter[str]) -> dict[str, int]:
    return {name.replace(" ", "_"): counts[name] for name in ("created", SAME_STORED, SKIPPED, LEFT_OUT)}


def _print_results(results: list[dict[str, Any]], context: CommandContext) -> None:
    """Print the results as a table, then what was left out, redacted, similar or skipped."""
    console, root = context.console, context.paths.project_root
    width = max(16, console.width // _SOURCE_SHARE)
    rows = []
    for result in results:
        if result["outcome"] not in (SKIPPED, LEFT_OUT):
            source = shown_source(result["source"], root)
            source = source if len(source) <= width else "\u2026" + source[len(source) - width + 1 :]
            is_active = result.get("status", "active") == "active"
            outcome = _OUTCOMES[result["outcome"]] if is_active else "archived"
            rows.append([outcome, result["category"], source, result["title"]])
    if rows:
        console.table(["OUTCOME", "CATEGORY", "FROM", "TITLE"], rows)
    for outcome, reason, sources in by_reason(results):
        _print_reason(outcome, reason, sources, context)
    for result in results:
        for redaction in result.get("redacted", ()):
            console.line("redacted in %s, %s: %s" % (result["source"], redaction["field"], redaction["rule"]))
        for memory in result.get("similar", ()):
            similar = "%s: %s  %s" % (memory["why"], memory["id"], memory["title"])
            console.line("%s, from %s: %s" % (result["title"], result["source"], similar))
            if memory["command"]:
                console.line("  to replace it: " + memory["command"])


def _print_reason(outcome: str, reason: str, sources: list[str], context: CommandContext) -> None:
    """Print why some sources are not stored: those that Claude reads anyway by their number, others by the names of the first."""
    if reason.endswith(LOADED_ANYWAY):
        text = "skipped %s: %s (to import them anyway: --all)"
        context.console.paragraph(text % (counted(len(sources), "rule"), reason))
    elif outcome == SKIPPED:
        others = " and %d more" % (len(sources) - 1) if sources[1:] else ""
        context.console.error("%s%s: skipped: %s" % (sources[0], others, reason))
    else:
        named = [plain(shown_source(source, context.paths.project_root), _MAX_PATH) for source in sources]
        more = ", and %d more" % (len(named) - _MAX_NAMED) if named[_MAX_NAMED:] else ""
        context.console.paragraph("left out: %s%s: %s" % (", ".join(named[:_MAX_NAMED]), more, reason))


def _print_summary(counts: Counter[str], dry: bool, context: CommandContext, approved: bool) -> None:
    console, same, skipped_ones = context.console, counts[SAME_STORED], counts[SKIPPED]
    if dry:
        new = counted(counts[WOULD_STORE], "memory")
        console.line("%s would be stored, %d already stored, %d skipped" % (new, same, skipped_ones))
        return
    console.line("%d stored, %d already stored, %d skipped" % (counts["created"], same, skipped_ones))
    for line in phrase_lines(context) if approved else []:
        console.line(line)
    if counts["created"] + same and not approved:
        console.line(
            "Pending: Claude does not see them until you accept them: memory accept --all in a terminal, or /memory:review in Claude Code"
        )
