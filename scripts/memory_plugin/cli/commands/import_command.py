"""`memory import`: import notes, rule files, JSON, or another store."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from functools import partial
from typing import Any

from ...kernel.files import Unreadable, read_regular
from ...kernel.text.clean import plain
from ...memories import InvalidMemory
from ...memories.hygiene import Redacted, clean_data
from ...memories.import_records import Draft, archive_replaced
from ...memories.importing import read
from ...memories.lifecycle import edit, save_all
from ...memories.memory_files import named_store
from ...memories.record import (
    ACTIVE,
    CONTEXT,
    Memory,
    categories,
    parse_memory,
)
from ...memories.writing import Written
from ..after_change import phrase_lines, refresh_index, similar_to
from ..command_context import CommandContext
from ..console import counted
from ..memory_input import TakenTitles, add_category, add_scope
from ..options import add_flag, require_existing

HELP = "import notes, rule files, JSON, or another store"
EXAMPLES = """\
  memory import docs/adr .cursor/rules --dry-run  one memory per record or rule; nothing is written yet
  memory import notes.jsonl --category runbook    {"title": "...", "body": "...", "tags": ["a"]} on each line
  memory import ../other-project/.claude/memory   a whole store
"""

DONE, FAILED = 0, 1
_SOURCE_SHARE = 4  # of the width of the terminal
SKIPPED, LEFT_OUT = "skipped", "left out"
WOULD_STORE, SAME_STORED = "would be stored", "same"
_MAX_REASON = 300
_MAX_NAMED = 3
_LOADED_ANYWAY = " in every session anyway"
_OUTCOMES = {WOULD_STORE: "new", SAME_STORED: "stored", "created": "stored now"}

LONG = 200  # lines; Claude Code's documentation advises to stay below
_LOADED = ("CLAUDE.md", "CLAUDE.local.md", os.path.join(".claude", "CLAUDE.md"))
_RULES = os.path.join(".claude", "rules")
_MAX_BYTES = 1 << 20
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?<![\w@/.])@((?:~/|\.{0,2}/)?[\w.-][\w./-]*)")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="Markdown, .mdc, JSON or JSON Lines files; folders of them; or a store",
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
    require_existing(*arguments.paths)
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
    readings = [read(path, arguments.category or "", root) for path in arguments.paths]
    archive_replaced([draft for reading in readings for draft in reading.drafts])
    for reading in readings:
        others += [_skipped(source, why) for source, why in reading.problems]
        others += [{**_skipped(source, why), "outcome": LEFT_OUT} for source, why in reading.left_out]
        for draft in reading.drafts:
            data, reason = draft.data, ""
            if os.path.realpath(draft.path) in loaded and not data["related_files"]:
                reason = "Claude reads %s%s" % (os.path.basename(draft.path), _LOADED_ANYWAY)
                others.append({**_skipped(draft.source, reason), "outcome": LEFT_OUT})
                continue
            if data["record_status"] == ACTIVE and not data.get("supersedes"):
                reason = taken.take(data, _shown_source(draft.source, root))
            if reason:
                others.append(_skipped(draft.source, reason))
            else:
                drafts.append(draft)
    return drafts, others


def _skipped(source: str, reason: str) -> dict[str, Any]:
    """Return the result for something that is not stored."""
    return {"source": source, "outcome": SKIPPED, "reason": plain(reason, _MAX_REASON)}


def loaded_files(root: str) -> set[str]:
    """Return the real paths that Claude Code reads at the start of a session, except long files, which are worth splitting."""
    found: dict[str, bool] = {}
    queue = [os.path.join(root, name) for name in _LOADED]
    for above, _, names in os.walk(os.path.join(root, _RULES)):
        queue += [os.path.join(above, name) for name in names if name.endswith(".md")]
    for path in queue:
        real = os.path.realpath(path)
        if real in found:
            continue
        try:
            text = read_regular(real, _MAX_BYTES)[0].decode("utf-8", "replace")
        except (Unreadable, OSError):
            continue
        found[real] = text.count("\n") <= LONG
        folder = os.path.dirname(path)
        names = [os.path.expanduser(name.rstrip(".")) for name in _NAMED.findall(_CODE.sub("", text))]
        queue += [os.path.join(folder, name) for name in names]
    return {path for path, is_short in found.items() if is_short}


def _would_store(drafts: list[Draft], context: CommandContext) -> list[dict[str, Any]]:
    """Return what storing these drafts would do, including near duplicates, without writing anything."""
    results: list[dict[str, Any]] = []
    new: dict[int, tuple[str, Memory]] = {}
    stored = {_identity(item.stored.memory.data) for item in context.survey().items}
    for at, draft in enumerate(drafts):
        try:
            data, redacted = clean_data(draft.data)
            memory = parse_memory(data, "draft", categories()[data["category"]])
        except InvalidMemory as error:
            results.append(_skipped(draft.source, str(error)))
            continue
        identity = _identity(data)
        if identity not in stored:
            new[at] = ("draft", memory)
        outcome = SAME_STORED if identity in stored else WOULD_STORE
        results.append(_result(draft, outcome, memory, redacted))
        stored.add(identity)
    with context.console.working("comparing %s with the stored ones" % counted(len(drafts), "memory")):
        return _with_similar(results, new, context)


def _identity(data: dict[str, Any]) -> str:
    fields = [data.get(name) for name in ("category", "title", "content", "record_status")]
    return json.dumps(fields, sort_keys=True)


def _with_similar(
    results: list[dict[str, Any]], new: dict[int, tuple[str, Memory]], context: CommandContext
) -> list[dict[str, Any]]:
    """Add near duplicates to the results; `new` maps an index in `results` to a memory and its key."""
    for at, similar in zip(new, similar_to(context, list(new.values()), repeated_only=True)):
        results[at]["similar"] = [memory._asdict() for memory in similar]
    return results


def _shown_source(source: str, root: str) -> str:
    """Return a source path relative to the project, if it is inside it."""
    for start in (os.path.abspath(root), os.path.realpath(root)):
        if source.startswith(start + os.sep):
            return source[len(start) + 1 :]
    return source


def _store(drafts: list[Draft], scope: str, context: CommandContext, approved: bool) -> list[dict[str, Any]]:
    if not drafts:
        return []
    store = named_store(context.paths, scope)
    with context.console.working("storing %s" % counted(len(drafts), "memory")):
        _archive_stored(drafts, context, approved)
        written = save_all(context.paths, store, (draft.data for draft in drafts), approved)
        refresh_index(context)
    if approved:
        kept = [result.stored.memory for result in written if not isinstance(result, InvalidMemory)]
        context.report_saves([(memory.id, memory.title) for memory in kept])
    results = [_stored(draft, result) for draft, result in zip(drafts, written)]
    new = {
        at: (result.stored.key, result.stored.memory)
        for at, result in enumerate(written)
        if not isinstance(result, InvalidMemory) and result.created
    }
    return _with_similar(results, new, context)


def _archive_stored(drafts: list[Draft], context: CommandContext, approved: bool) -> None:
    """Archive the stored memories of records that were replaced or rejected since they were imported."""
    ended = {
        (draft.data["category"], draft.data["title"]): draft.data
        for draft in drafts
        if draft.data["record_status"] != ACTIVE
    }
    for item in context.survey().items if ended else ():
        memory = item.stored.memory
        new = ended.get((memory.category, memory.title))
        primary = categories()[memory.category].primary
        if (
            new
            and memory.status == ACTIVE
            and memory.data["content"].get(primary) == new["content"].get(primary)
        ):
            fields = {name: new[name] for name in ("content", "record_status", "archived_reason")}
            edit(context.paths, item.stored, partial(_given, fields), "imported again", approved, "import")


def _given(fields: dict[str, Any], _present: dict[str, Any]) -> dict[str, Any]:
    return fields


def _stored(draft: Draft, result: Written | InvalidMemory) -> dict[str, Any]:
    if isinstance(result, InvalidMemory):
        return _skipped(draft.source, str(result))
    outcome = "created" if result.created else SAME_STORED
    return {**_result(draft, outcome, result.stored.memory, result.redacted), "id": result.stored.memory.id}


def _result(draft: Draft, outcome: str, memory: Memory, redacted: list[Redacted]) -> dict[str, Any]:
    """Return the result for something that is or would be stored."""
    return {
        "source": draft.source,
        "outcome": outcome,
        "category": memory.category,
        "title": memory.title,
        "context": memory.data["content"].get(CONTEXT, ""),
        "tags": list(memory.tags),
        "files": list(memory.files),
        "status": memory.status,
        "redacted": [redaction._asdict() for redaction in redacted],
    }


def _totals(counts: Counter[str]) -> dict[str, int]:
    return {name.replace(" ", "_"): counts[name] for name in ("created", SAME_STORED, SKIPPED, LEFT_OUT)}


def _print_results(results: list[dict[str, Any]], context: CommandContext) -> None:
    """Print the results as a table, then what was left out, redacted, similar or skipped."""
    console, root = context.console, context.paths.project_root
    width = max(16, console.width // _SOURCE_SHARE)
    rows = []
    for result in results:
        if result["outcome"] not in (SKIPPED, LEFT_OUT):
            source = _shown_source(result["source"], root)
            source = source if len(source) <= width else "\u2026" + source[len(source) - width + 1 :]
            is_active = result.get("status", "active") == "active"
            outcome = _OUTCOMES[result["outcome"]] if is_active else "archived"
            rows.append([outcome, result["category"], source, result["title"]])
    if rows:
        console.table(["OUTCOME", "CATEGORY", "FROM", "TITLE"], rows)
    for outcome, reason, sources in _by_reason(results):
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
    if reason.endswith(_LOADED_ANYWAY):
        text = "%s left out: %s; --all imports them too"
        context.console.paragraph(text % (counted(len(sources), "rule"), reason))
        return
    root = context.paths.project_root
    if outcome == SKIPPED:
        others = " and %d more" % (len(sources) - 1) if sources[1:] else ""
        context.console.error("%s%s: skipped: %s" % (sources[0], others, reason))
        return
    named = ", ".join(_shown_source(source, root) for source in sources[:_MAX_NAMED])
    more = ", and %d more" % (len(sources) - _MAX_NAMED) if sources[_MAX_NAMED:] else ""
    context.console.paragraph("left out: %s%s: %s" % (plain(named, _MAX_REASON), more, reason))


def _by_reason(results: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Return the outcome, the reason and the sources of what is not stored; each reason once."""
    groups: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result["outcome"] in (SKIPPED, LEFT_OUT):
            groups.setdefault((result["outcome"], result["reason"]), []).append(result["source"])
    return [(*key, sources) for key, sources in groups.items()]


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
            "They await approval and are not recalled until then: memory accept --all in a terminal, or /memory:review in Claude Code"
        )
