"""`memory show` prints a memory in full, without secrets; `memory list` lists the memories, `memory guards` their guards."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection

from ...kernel.fastjson import as_objects
from ...kernel.text.clean import counted, plain
from ...memories.guard import guard_in_words
from ...memories.hygiene import shown, shown_line
from ...memories.memory_files import PROJECT
from ...memories.memory_text import STATUS, TEXT, TITLE, shown_fields
from ...memories.record import ACTIVE, ARCHIVED, RETIRED, Memory, categories, date_text, quoted_name
from ...memories.relations import name_for
from ...memories.repository import gone_files
from ...memories.survey import Item, Survey, choose, item_of, life_cycle_state, shortest_names
from ...memories.trust import PENDING, REJECTED, TRUSTED, Trust
from ...work import memory_facts
from ..command_context import CommandContext, Handler, UsageError
from ..console import columns
from ..options import add_flag, up_to

_SHOW_TEXT = """\
show one memory
  memory show use-postgres
  memory show Use Postgres for billing
"""

_MAX_CHANGES, _MAX_GONE = 10, 500
_NEW_PHRASES = "pending search phrases (to accept them: memory review):"
_NOT_ACCEPTED = "changes, as the file has them (not part of what was accepted):"


def _configure_show(parser: ArgumentParser) -> None:
    text = "a memory's id or title, or the start of one"
    parser.add_argument("id", metavar="ID|TITLE", nargs="+", help=text)
    text = "also print the last changes that the file records; what you accepted does not include them"
    add_flag(parser, "--history", text)


def _show(arguments: Namespace, context: CommandContext) -> None:
    """Print the memory, without secrets and hidden characters."""
    item = choose(context.overview().items, " ".join(arguments.id))
    # The index does not know a file that changed just now.
    trust = Trust(context.paths, context.accept_from) if context.paths.state_dir else None
    item = item_of(item.stored, trust, context.paths.why_no_state)._replace(superseded_by=item.superseded_by)
    file = item.stored
    if item.trust == TRUSTED and trust is not None:
        item = item._replace(stored=trust.with_accepted_phrases(file))
    memory = item.stored.memory
    fields = shown_fields(memory)
    new = [shown_line(text) for text in file.memory.asked_as if text not in memory.asked_as]
    new = [] if context.inside_client else new  # nobody accepted them, so Claude does not read them
    history = _history(memory) if arguments.history else []
    record = {
        **memory_facts.as_json(item),
        "guard": memory_facts.guard_as_json(memory),
        "body": "\n".join(fields.get(TEXT, [])),
        "asked_as": fields.get("asked as", []),
        "content": _shown_value(memory.data["content"], categories()[memory.category].fields),
        "new_phrases": new,
    }
    context.console.result({**record, **({"history": history} if arguments.history else {})})
    _print_memory(item, fields, context)
    context.console.lines(
        *(["", _NEW_PHRASES, *("  " + text for text in new)] if new else []),
        *(["", _NOT_ACCEPTED, *("  %s  %s" % entry for entry in history)] if history else []),
    )


def _print_memory(item: Item, fields: dict[str, list[str]], context: CommandContext) -> None:
    memory, console = item.stored.memory, context.console
    status = memory_facts.status_text(item)
    pending = " (%s)" % item.reason if item.reason and memory_facts.FORGOTTEN not in status else ""
    lines = [console.style(shown_line(memory.title), "bold")]
    lines.append("%s, %s, %s%s" % (memory.category, item.stored.store.scope, status, pending))
    shown_apart = (TITLE, TEXT, STATUS)
    lines += ["%s: %s" % (name, "; ".join(fields[name])) for name in fields if name not in shown_apart]
    if item.superseded_by and not memory.superseded_by:
        lines.append("replaced by: " + name_for(item.superseded_by, item.stored.key))
    facts = (("updated", memory.updated_at), ("path", item.stored.path))
    console.lines(*lines, *("%s: %s" % fact for fact in facts if fact[1]))
    for gone in gone_files([item.stored]):
        console.lines(*(shown_line(line, _MAX_GONE) for line in gone.lines))
    console.lines("", *fields.get(TEXT, []))


def _shown_value(value: object, known: Collection[str] = ()) -> object:
    """Return a value as it may be shown; names of fields other than the known ones are quoted, as in the text that Claude sees."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, list):
        return [_shown_value(item) for item in value]
    if isinstance(value, dict):
        names = {name: name if name in known else shown_line(quoted_name(str(name))) for name in value}
        return {names[name]: _shown_value(item) for name, item in value.items()}
    return value


def _history(memory: Memory) -> list[tuple[str, str]]:
    """Return the date and the summary of the last changes, as the file has them."""
    rows = as_objects(memory.data.get("changes"))
    last = [(row.get("date"), str(row.get("summary", ""))) for row in rows[-_MAX_CHANGES:]]
    return [(date_text(date)[:10], shown_line(summary)) for date, summary in last]


_LIST_TEXT = """\
list the memories
  memory list
  memory list --status pending            what you have not accepted yet
  memory list --rules                     the standing rules
  memory list --notes                     Claude Code's own notes (to make one a memory: memory import promote)
  memory list --tag billing --limit 10
  memory list --status all --category decision --json
"""

ALL = "all"
_MAX_REASON, _MOST = 300, 100_000
_HEADERS = ("ID", "CATEGORY", "SCOPE", "UPDATED", "STATUS", "TITLE")
_NO_NOTES = "Claude Code has no notes for this project."


def _configure_list(parser: ArgumentParser) -> None:
    from ..memory_input import add_category  # showing one memory needs none of it

    statuses = (ACTIVE, memory_facts.FORGOTTEN, ARCHIVED, PENDING, REJECTED, ALL)
    text = "only memories with this status (default: active, which includes pending and replaced ones)"
    parser.add_argument("--status", choices=statuses, default=ACTIVE, help=text)
    add_category(parser, "only this category, one of %s")
    parser.add_argument("--tag", metavar="TAG", help="only memories with this tag")
    parser.add_argument("--limit", type=up_to(_MOST), metavar="N", help="only the newest N memories")
    add_flag(parser, "--rules", "only the standing rules, which Claude sees at the start of every session")
    add_flag(parser, "--notes", "only Claude Code's own notes")


def _list(arguments: Namespace, context: CommandContext) -> None:
    """Print the memories, newest first, and the number of unreadable files on standard error."""
    if arguments.notes:
        _list_notes(context)
        return
    result = context.overview()  # also brings the index up to date
    items = [item for item in result.items if _is_wanted(item, arguments)]
    items.sort(key=lambda item: item.stored.memory.updated_at, reverse=True)
    items = items[: arguments.limit]
    notes = memory_facts.named_notes(context)
    problems = [{"path": one.path, "reason": plain(one.reason, _MAX_REASON)} for one in result.problems]
    memories = list(map(memory_facts.as_json, items))
    record = {"memories": memories, "problems": problems, "left_alone": result.left_alone}
    context.console.result({**record, "notes": [note.as_json() for note in notes]})
    if items:
        _print_items(items, context)
    else:
        context.console.line(_nothing(result, arguments))
    _print_problems(result, context)
    if notes and not arguments.category and arguments.status in (ACTIVE, ALL):
        text = "Also %s in Claude Code's own memory. To list them: memory list --notes"
        context.console.line(text % counted(len(notes), "note"))


def _list_notes(context: CommandContext) -> None:
    """Print the notes of Claude Code's own memory, which are recalled unchanged."""
    notes = memory_facts.named_notes(context)
    context.console.result({"notes": [note.as_json() for note in notes]})
    if notes:
        context.console.table(("NOTE", "TITLE"), [[note.name, shown_line(note.note.title)] for note in notes])
        context.console.line("To turn one into a memory: memory import promote NOTE")
    else:
        from ...memories.nearby import notes_elsewhere

        is_on = context.settings.flag("native.enabled")
        for text in (notes_elsewhere(context.paths) if is_on else ()) or [_NO_NOTES]:
            context.console.paragraph(text)


def _is_wanted(item: Item, arguments: Namespace) -> bool:
    if arguments.category and item.stored.memory.category != arguments.category:
        return False
    if arguments.tag and arguments.tag.casefold() not in map(str.casefold, item.stored.memory.tags):
        return False
    if arguments.rules:
        from ...recall.documents import is_standing_rule

        in_force = (item.trust, life_cycle_state(item)) == (TRUSTED, ACTIVE)
        if not (in_force and is_standing_rule(item.stored.memory)):
            return False
    if arguments.status == PENDING:
        return item.is_pending
    if arguments.status == REJECTED:
        return item.trust == REJECTED
    is_refused = arguments.status == ACTIVE and item.trust == REJECTED
    status = RETIRED if arguments.status == memory_facts.FORGOTTEN else arguments.status
    return status in (ALL, item.stored.memory.status) and not is_refused


def _nothing(result: Survey, arguments: Namespace) -> str:
    """Return the message for an empty list."""
    if not result.items:
        return 'No memories in this project yet.\nSave one: memory save "..."\nImport notes: memory import FILE --dry-run'
    if arguments.rules:
        return 'No standing rules yet. To add one: memory save --category constraint "..."'
    return "No memories match. To list all: memory list --status all"


def _as_row(item: Item) -> list[str]:
    """Return the cells of a table row, in the order of `_HEADERS`."""
    memory = item.stored.memory
    cells = [memory.id, memory.category, item.stored.store.scope, memory.updated_at[:10]]
    return [*cells, memory_facts.status_text(item), shown_line(memory.title)]


def _print_items(items: list[Item], context: CommandContext) -> None:
    """Print a table if the terminal has room for it, else each memory's title with its id below, neither cut."""
    console, rows = context.console, [_as_row(item) for item in items]
    needed = [max(map(columns, column)) for column in zip(_HEADERS, *rows)]
    if not console.wraps or sum(needed) + 2 * (len(needed) - 1) <= console.width:
        console.table(_HEADERS, rows)
        return
    for identity, category, scope, updated, status, title in rows:
        console.line(console.style(title, "bold"))
        facts = [fact for fact in (category, scope, status, updated) if fact not in (PROJECT, ACTIVE)]
        shown_facts = console.style(", ".join(facts), "dim")
        console.line("    %s  %s" % (console.style(identity, "cyan"), shown_facts))


def _print_problems(result: Survey, context: CommandContext) -> None:
    if context.paths.why_no_state:
        context.console.error(context.paths.why_no_state + "; Claude is shown nothing until this is fixed")
    if result.problems:
        number = counted(len(result.problems), "file")
        context.console.error("%s cannot be read; see: memory doctor" % number)
    for reason in result.left_alone:
        context.console.error(reason)


_GUARDS_TEXT = """\
list guards, or test a command or file against them
  memory guards
"""
_TEST_TEXT = """\
test a command or file against the guards
  memory guards test "cd app && git push --force"
  memory guards test --file db/migrations/0007_users.sql
"""

_MAX_GUARD = 2000
_ASKS, _BLOCKS = "Claude Code would ask you", "the first call in each session would be blocked"
_OFF = "guards are off; to turn them on: memory config set guards.enabled true"


def _list_guards(arguments: Namespace, context: CommandContext) -> None:
    """List the guards with their state."""
    items = context.survey().items
    found = memory_facts.guard_rows(items, context)
    enabled = context.settings.flag("guards.enabled")
    names = shortest_names(items)
    rows, lines = [], [] if enabled else [_OFF]
    for row in found:
        key, title, problem = row.item.stored.key, shown_line(row.version.title), shown_line(row.problem)
        head = {"id": row.item.stored.memory.id, "key": key, "title": title, "state": row.state}
        rows.append({**head, "guard": memory_facts.guard_as_json(row.version), "problem": problem})
        words = row.problem or (guard_in_words(row.version.guard) if row.version.guard else "")
        lines += ["%s  %s" % (names[key], title), "  %s: %s" % (row.state, shown_line(words, _MAX_GUARD))]
        if row.state in (PENDING, memory_facts.LAST_TRUSTED):
            lines.append("  The version in its file is pending: memory accept " + names[key])
    if not found:
        lines.append('No memory has a guard. To add one: memory edit ID --guard-command "git push --force"')
    context.console.result({"enabled": enabled, "guards": rows}, *lines)


def _configure_test(parser: ArgumentParser) -> None:
    parser.add_argument("tested", nargs="?", metavar="COMMAND", help="the command line to test; not run")
    parser.add_argument("--file", metavar="PATH", help="test a change to this file")


def _test_guards(arguments: Namespace, context: CommandContext) -> None:
    """Print what the guards in force would do, using the same file that the hook reads."""
    if (arguments.tested is None) == (arguments.file is None):
        raise UsageError('expected a command or a file: memory guards test "COMMAND", or --file PATH')
    context.refresh_index()
    has_state, tested = context.paths.state_dir is not None, (arguments.tested, arguments.file)
    rows = memory_facts.match_rows(*tested, context) if has_state else []
    enabled = context.settings.flag("guards.enabled")
    lines, names = [], shortest_names(context.survey().items)
    for row in rows:
        effect = _ASKS if row["action"] == "ask" else _BLOCKS
        lines.append("`%s` matches: %s" % (shown_line(row["matched"]), effect))
        lines.append("  %s  %s" % (names.get(row["key"], row["key"]), shown_line(row["title"])))
    if not rows:
        lines.append("No guard in force matches.")
    elif not enabled:
        lines.append(_OFF)
    context.console.result({"enabled": enabled, "matches": rows}, *lines)


HANDLERS = {
    "show": Handler(_SHOW_TEXT, _show, _configure_show),
    "list": Handler(_LIST_TEXT, _list, _configure_list),
    "guards": Handler(_GUARDS_TEXT, _list_guards),
    "guards test": Handler(_TEST_TEXT, _test_guards, _configure_test),
}
