"""`memory import`: import notes, rule files, JSON, or another store; `import promote` makes a memory of one of Claude Code's notes."""

from __future__ import annotations

import argparse
import os
from collections import Counter

from ...kernel.text.clean import counted
from ...memories.importing import STDIN
from ...memories.record import DEFAULT_CATEGORY, MAX_TITLE
from ...work import imports
from ...work.memory_facts import find_note, phrase_lines, place_lines
from ...work.save import save
from ..command_context import DONE, FAILED, Approval, CommandContext, Handler, titled
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
"""
_MAX_NAMED = 3
_MAX_SOURCE = 24  # characters in a table; what distinguishes a file is at the end
_PENDING = "Pending: Claude does not see them until you accept them: memory accept --all in a terminal, or /memory:review in Claude Code"


def _configure(parser: argparse.ArgumentParser) -> None:
    text = "Markdown, .mdc, JSON or JSON Lines files; folders of them; or a store; - reads JSON Lines from standard input"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=text)
    add_category(parser, "the category of entries that name none (default: by their form): %s")
    add_scope(parser)
    add_flag(parser, "--dry-run", "print what would be saved, without writing")
    text = "include the files of a folder that Claude Code reads itself, such as CLAUDE.md"
    add_flag(parser, "--all", text)
    add_flag(parser, "--yes", "in a terminal, save without asking")


def _import(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Store everything that can be read, and list what cannot. The exit code is 1 if anything was skipped.

    In a terminal, the table is shown first and the user confirms.
    """
    require_existing(*(path for path in arguments.paths if path != STDIN))
    kind, scope, console, dry = arguments.category or "", arguments.scope, context.console, arguments.dry_run
    given = text_of(STDIN, "PATH") if STDIN in arguments.paths else ""
    with console.working("reading"):
        found = imports.gather(arguments.paths, given, kind, scope, context, everything=arguments.all)
    new = sum(one.memory is not None for one in found)
    asks = new > 0 and not (dry or arguments.yes) and console.can_prompt()
    if asks:
        _print_outcomes(found, context)
        if not console.confirm("Save %s?" % counted(new, "memory")):
            console.line("nothing was saved")
            return DONE
    waits = new > 0 and context.only_new  # a request to save covers no files
    if new and not dry:
        with console.working("storing %s" % counted(new, "memory")):
            found, notice = imports.store_all(found, scope, context, approved=not waits)
        context.report(notice)
        if not waits:
            context.report_saves((one.memory.id, one.memory.title) for one in found if one.memory)
    counts = Counter(one.outcome for one in found)
    totals = {name.replace(" ", "_"): counts[name] for name in imports.OUTCOMES}
    console.result({"dry_run": dry, "waits_for_user": waits, "items": list(map(_as_json, found)), **totals})
    if not asks:
        _print_outcomes(found, context)
    said = ["%d %s" % (counts[name], name) for name in imports.OUTCOMES if counts[name]]
    console.line(", ".join(said) or "nothing to import")
    if new and not dry:
        console.lines(*place_lines(scope, context), *([_PENDING] if waits else phrase_lines(context)))
    return FAILED if counts[imports.SKIPPED] else DONE


def _as_json(one: imports.Outcome) -> dict[str, object]:
    said = {"source": one.source, "outcome": one.outcome, "reason": one.reason}
    names = ("id", "category", "title", "tags", "files", "status") if one.memory else ()
    return {**said, **{name: getattr(one.memory, name) for name in names}, "redacted": one.redacted}


def _print_outcomes(outcomes: list[imports.Outcome], context: CommandContext) -> None:
    """Print the memories as a table, then what was left out or skipped, and what was redacted."""
    console, rows, root = context.console, [], os.path.join(context.paths.project_root, "")
    why: dict[tuple[str, str], list[str]] = {}
    for one in outcomes:
        source = one.source.removeprefix(root)
        if one.reason:
            why.setdefault((one.outcome, one.reason), []).append(source)
        if one.memory:
            end = "\u2026" + source[-_MAX_SOURCE:] if console.wraps and source[_MAX_SOURCE:] else source
            rows.append([one.outcome, one.memory.category, end, one.memory.title])
    if rows:
        console.table(["OUTCOME", "CATEGORY", "FROM", "TITLE"], rows)
    for (outcome, reason), sources in why.items():
        more = " and %d more" % (len(sources) - _MAX_NAMED) if sources[_MAX_NAMED:] else ""
        text = "%s: %s%s: %s" % (outcome, ", ".join(sources[:_MAX_NAMED]), more, reason)
        (console.error if outcome == imports.SKIPPED else console.paragraph)(text)
    for one in outcomes:
        for redaction in one.redacted:
            console.line("redacted in %s, %s: %s" % (one.source, redaction.field, redaction.rule))


def _configure_promote(parser: argparse.ArgumentParser) -> None:
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
