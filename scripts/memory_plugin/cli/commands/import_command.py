"""`memory import`: import notes, rule files, JSON, or another store."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from typing import Any

from ...kernel.text.clean import counted, plain
from ...memories import InvalidMemory
from ...memories.hygiene import clean_data
from ...memories.import_records import Draft, archive_replaced
from ...memories.importing import STDIN, read, read_lines
from ...memories.lifecycle import save_all
from ...memories.memory_files import named_store
from ...memories.record import (
    ACTIVE,
    Memory,
    categories,
    parse_memory,
)
from ...work.imports import (
    LEFT_OUT,
    LOADED_ANYWAY,
    SAME_STORED,
    SKIPPED,
    WOULD_STORE,
    archive_stored,
    by_reason,
    identity_of,
    left_out_outcome,
    loaded_files,
    outcome_of,
    shown_source,
    skipped_outcome,
    stored_outcome,
)
from ...work.save import TakenTitles, similar_to
from ..after_change import phrase_lines, refresh_index
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
        drafts, others = _gather(arguments, context)
    dry = arguments.dry_run
    asks = bool(drafts) and not (dry or arguments.yes or arguments.json) and context.console.can_prompt()
    if asks:
        _print_results(_would_store(drafts, context) + others, context)
        if not context.console.confirm("store %s?" % counted(len(drafts), "memory")):
            context.console.line("nothing was stored")
            return DONE
    approved = bool(drafts) and not dry and not context.only_new  # a request to save covers no files
    results = _would_store(drafts, context) if dry else _store(drafts, arguments.scope, context, approved)
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


def _gather(
    arguments: argparse.Namespace, context: CommandContext
) -> tuple[list[Draft], list[dict[str, Any]]]:
    """Read every file below the paths; return the drafts to store, and the results for all others.

    Taken titles are skipped, and without --all, what Claude reads in every session anyway is left out.
    """
    root = context.paths.project_root
    loaded = set() if arguments.all else loaded_files(root)
    taken = TakenTitles(context.survey().items, arguments.scope)
    drafts: list[Draft] = []
    others: list[dict[str, Any]] = []
    kind = arguments.category or ""
    readings = [
        read_lines(text_of(path, "PATH"), kind) if path == STDIN else read(path, kind, root)
        for path in arguments.paths
    ]
    archive_replaced([draft for reading in readings for draft in reading.drafts])
    for reading in readings:
        others += [skipped_outcome(source, why) for source, why in reading.problems]
        others += [left_out_outcome(source, why) for source, why in reading.left_out]
        for draft in reading.drafts:
            data, reason = draft.data, ""
            if os.path.realpath(draft.path) in loaded and not data["related_files"]:
                reason = "Claude reads %s%s" % (os.path.basename(draft.path), LOADED_ANYWAY)
                others.append(left_out_outcome(draft.source, reason))
                continue
            if data["record_status"] == ACTIVE and not data.get("supersedes"):
                reason = taken.take(data, shown_source(draft.source, root))
            if reason:
                others.append(skipped_outcome(draft.source, reason))
            else:
                drafts.append(draft)
    return drafts, others


def _would_store(drafts: list[Draft], context: CommandContext) -> list[dict[str, Any]]:
    """Return what storing these drafts would do, including near duplicates, without writing anything."""
    results: list[dict[str, Any]] = []
    new: dict[int, tuple[str, Memory]] = {}
    stored = {identity_of(item.stored.memory.data) for item in context.survey().items}
    for at, draft in enumerate(drafts):
        try:
            data, redacted = clean_data(draft.data)
            memory = parse_memory(data, "draft", categories()[data["category"]])
        except InvalidMemory as error:
            results.append(skipped_outcome(draft.source, str(error)))
            continue
        identity = identity_of(data)
        if identity not in stored:
            new[at] = ("draft", memory)
        outcome = SAME_STORED if identity in stored else WOULD_STORE
        results.append(outcome_of(draft, outcome, memory, redacted))
        stored.add(identity)
    with context.console.working("comparing %s with the stored ones" % counted(len(drafts), "memory")):
        return _with_similar(results, new, context)


def _with_similar(
    results: list[dict[str, Any]], new: dict[int, tuple[str, Memory]], context: CommandContext
) -> list[dict[str, Any]]:
    """Add near duplicates to the results; `new` maps an index in `results` to a memory and its key."""
    for at, similar in zip(new, similar_to(context, list(new.values()), repeated_only=True)):
        results[at]["similar"] = [memory._asdict() for memory in similar]
    return results


def _store(drafts: list[Draft], scope: str, context: CommandContext, approved: bool) -> list[dict[str, Any]]:
    if not drafts:
        return []
    store = named_store(context.paths, scope)
    with context.console.working("storing %s" % counted(len(drafts), "memory")):
        archive_stored(drafts, context.survey().items, context.paths, approved)
        written = save_all(context.paths, store, (draft.data for draft in drafts), approved)
        refresh_index(context)
    if approved:
        kept = [result.stored.memory for result in written if not isinstance(result, InvalidMemory)]
        context.report_saves([(memory.id, memory.title) for memory in kept])
    results = [stored_outcome(draft, result) for draft, result in zip(drafts, written)]
    new = {
        at: (result.stored.key, result.stored.memory)
        for at, result in enumerate(written)
        if not isinstance(result, InvalidMemory) and result.created
    }
    return _with_similar(results, new, context)


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
                console.line("  if the new one replaces it: " + memory["command"])


def _print_reason(outcome: str, reason: str, sources: list[str], context: CommandContext) -> None:
    """Print why some sources are not stored: those that Claude reads anyway by their number, others by the names of the first."""
    if reason.endswith(LOADED_ANYWAY):
        text = "%s left out: %s; --all imports them too"
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
