"""`memory import`: import notes, rule files, JSON, or another store; `import promote` makes a memory of one of Claude Code's notes."""

from __future__ import annotations

import argparse
from collections import Counter

from ...kernel.text.clean import counted, plain
from ...memories.importing import STDIN
from ...memories.record import ACTIVE, CONTEXT, DEFAULT_CATEGORY, MAX_TITLE
from ...work.imports import (
    CREATED,
    LEFT_OUT,
    NEW,
    SAME_STORED,
    SKIPPED,
    WOULD_STORE,
    Outcome,
    gather,
    shown_source,
    store_all,
)
from ...work.memory_facts import find_note, phrase_lines
from ...work.save import save
from ..command_context import Approval, CommandContext, Handler, titled
from ..memory_input import add_category, add_fields, add_scope, check_fields, text_of
from ..options import add_flag, require_existing
from .save_command import new_memory, print_saved

_IMPORT_TEXT = """\
import notes, rule files, JSON, or another store
  memory import docs/adr .cursor/rules --dry-run  one memory per record or rule; nothing is written yet
  memory import notes.jsonl --category runbook    {"title": "...", "body": "...", "tags": ["a"]} on each line
  memory import ../other-project/.claude/memory   a whole store
"""
_PROMOTE_TEXT = """\
turn a note from Claude Code's own memory into a memory of yours or the team's
  memory list --notes
  memory import promote MEMORY.md#2
  memory import promote testing.md --category constraint --title "Tests never use the network" --asked-as "flaky tests"
  memory import promote style.md --scope user
"""
DONE, FAILED = 0, 1
_MAX_NAMED, _MAX_PATH = 3, 200
_SOURCE_SHARE = 4  # of the width of the terminal
_OUTCOMES = {WOULD_STORE: "new", SAME_STORED: "already stored", CREATED: "stored now"}
_PENDING = "Pending: Claude does not see them until you accept them: memory accept --all in a terminal, or /memory:review in Claude Code"


def _configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    text = "Markdown, .mdc, JSON or JSON Lines files; folders of them; or a store; - reads JSON Lines from standard input"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=text)
    add_category(parser, "the category of entries that name none (default: by their form): %s")
    add_scope(parser)
    add_flag(parser, "--dry-run", "print what would be saved, without writing")
    add_flag(parser, "--all", "include short instruction files that Claude loads in every session anyway")
    add_flag(parser, "--yes", "in a terminal, save without asking")


def _import(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Store everything that can be read, and list what cannot. The exit code is 1 if anything was skipped.

    In a terminal, the table is shown first and the user confirms.
    """
    require_existing(*(path for path in arguments.paths if path != STDIN))
    kind, scope, console, dry = arguments.category or "", arguments.scope, context.console, arguments.dry_run
    given = text_of(STDIN, "PATH") if STDIN in arguments.paths else ""
    with console.working("reading"):
        found = gather(arguments.paths, given, kind, scope, context, everything=arguments.all)
    new = sum(one.memory is not None for one in found)
    asks = new > 0 and not (dry or arguments.yes) and console.can_prompt()
    if asks:
        _print_outcomes(found, context)
        if not console.confirm("Save %s?" % counted(new, "memory")):
            console.line("nothing was saved")
            return DONE
    approved = new > 0 and not dry and not context.only_new  # a request to save covers no files
    if new and not dry:
        found = _store(found, scope, context, approved)
    counts = Counter(one.outcome for one in found)
    pending = new > 0 and (context.inside_client if dry else not approved)
    totals = {name.replace(" ", "_"): counts[name] for name in (CREATED, SAME_STORED, SKIPPED, LEFT_OUT)}
    items = list(map(_as_json, found))
    console.result({"dry_run": dry, "waits_for_user": pending, "items": items, **totals})
    if not asks:
        _print_outcomes(found, context)
    _print_summary(found, counts, dry, context, approved)
    return FAILED if counts[SKIPPED] else DONE


def _store(found: list[Outcome], scope: str, context: CommandContext, approved: bool) -> list[Outcome]:
    with context.console.working("storing %s" % counted(len(found), "memory")):
        outcomes, refreshed = store_all(found, scope, context, approved=approved)
    context.report(refreshed)
    if approved:
        context.report_saves([(one.memory.id, one.memory.title) for one in outcomes if one.memory])
    return outcomes


def _as_json(one: Outcome) -> dict[str, object]:
    found: dict[str, object] = {"source": one.source, "outcome": one.outcome}
    memory = one.memory
    if memory is None:
        return {**found, "reason": one.reason}
    names = ("category", "title", "tags", "files", "status", *(["id"] if memory.id != NEW else []))
    return {
        **found,
        **{name: getattr(memory, name) for name in names},
        "context": memory.data["content"].get(CONTEXT, ""),
        "redacted": one.redacted,
    }


def _print_outcomes(outcomes: list[Outcome], context: CommandContext) -> None:
    """Print the memories as a table, then what was redacted, left out or skipped."""
    console, root, rows = context.console, context.paths.project_root, []
    width = max(16, console.width // _SOURCE_SHARE)
    not_stored: dict[tuple[str, str], list[str]] = {}
    for one in outcomes:
        if one.memory is None:
            not_stored.setdefault((one.outcome, one.reason), []).append(one.source)
            continue
        source = shown_source(one.source, root)
        source = source if len(source) <= width else "\u2026" + source[len(source) - width + 1 :]
        outcome = _OUTCOMES[one.outcome] if one.memory.status == ACTIVE else "archived"
        rows.append([outcome, one.memory.category, source, one.memory.title])
    if rows:
        console.table(["OUTCOME", "CATEGORY", "FROM", "TITLE"], rows)
    for (outcome, reason), sources in not_stored.items():
        _print_reason(outcome, reason, sources, context)
    for one in outcomes:
        for redaction in one.redacted:
            console.line("redacted in %s, %s: %s" % (one.source, redaction.field, redaction.rule))


def _print_reason(outcome: str, reason: str, sources: list[str], context: CommandContext) -> None:
    """Print why some sources are not stored, with the names of the first."""
    names = [plain(shown_source(source, context.paths.project_root), _MAX_PATH) for source in sources]
    more = " and %d more" % len(names[_MAX_NAMED:]) if names[_MAX_NAMED:] else ""
    text = "%s: %s%s: %s" % (outcome, ", ".join(names[:_MAX_NAMED]), more, reason)
    (context.console.error if outcome == SKIPPED else context.console.paragraph)(text)


def _print_summary(
    found: list[Outcome], counts: Counter[str], dry: bool, context: CommandContext, approved: bool
) -> None:
    """Print how many memories are stored, and why Claude may not see them yet."""
    first = (
        counted(counts[WOULD_STORE], "memory") + " would be stored" if dry else "%d stored" % counts[CREATED]
    )
    ended = sum(
        one.outcome == CREATED and one.memory is not None and one.memory.status != ACTIVE for one in found
    )
    first += " (%d of them archived)" % ended if ended else ""
    rest = [(SAME_STORED, "already stored"), (LEFT_OUT, LEFT_OUT), (SKIPPED, SKIPPED)]
    context.console.line(", ".join([first, *("%d %s" % (counts[name], words) for name, words in rest)]))
    for line in phrase_lines(context) if approved else []:
        context.console.line(line)
    if counts[CREATED] + counts[SAME_STORED] and not (approved or dry):
        context.console.line(_PENDING)


def _configure_promote(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `import promote`."""
    parser.add_argument("note", metavar="NOTE", help="the note's name, as listed by memory list --notes")
    add_category(parser, "one of %%s (default: %s)" % DEFAULT_CATEGORY)
    text = "one line, at most %d characters (default: the note's title)" % MAX_TITLE
    parser.add_argument("--title", metavar="TEXT", help=text)
    add_fields(parser)
    add_scope(parser)


def _promote_approval(arguments: argparse.Namespace, context: CommandContext) -> Approval:
    """Return the note to store."""
    title = arguments.title or find_note(arguments.note, context).note.title
    return Approval(titled("store", [title], "note"))


def _promote(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Store the note as `memory save` would. The note itself is kept: only Claude Code writes its file."""
    note = find_note(arguments.note, context).note
    arguments.title, arguments.body = arguments.title or note.title, note.body
    arguments.category = arguments.category or DEFAULT_CATEGORY
    check_fields(arguments)
    print_saved(save(new_memory(arguments, context), context), context)
    context.console.line("  the note stays in " + note.path)


HANDLERS = {
    "import": Handler(_IMPORT_TEXT, _import, _configure),
    "import promote": Handler(_PROMOTE_TEXT, _promote, _configure_promote, _promote_approval),
}
