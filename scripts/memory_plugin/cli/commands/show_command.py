"""`memory show`: print one memory in full, without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...memories.hygiene import shown, shown_line
from ...memories.record import body_text
from ...memories.survey import choose_titled
from ..guard_view import guard_as_json, guard_lines
from ..memory_view import as_json, status_text

if TYPE_CHECKING:
    import argparse

    from ...memories.survey import Item
    from ..command_context import CommandContext

HELP = "show one memory"
EXAMPLES = """\
  memory show use-postgres
  memory show decision/use-postgres --json
  memory show Use Postgres for billing
"""

_MAX_CHANGES = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "id",
        metavar="ID|TITLE",
        nargs="+",
        help="the memory's id, category/id, title, or the first words of the title",
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the memory, without secrets and hidden characters."""
    item = choose_titled(context.overview().items, " ".join(arguments.id))
    if not arguments.json:
        _print(item, context)
        return
    memory = item.stored.memory
    context.console.json(
        {
            **as_json(item),
            "asked_as": [shown_line(phrase) for phrase in memory.asked_as],
            "guard": guard_as_json(memory),
            "body": shown(body_text(memory)),
            "content": _shown_value(memory.data["content"]),
        }
    )


def _shown_value(value: object) -> object:
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, list):
        return [_shown_value(item) for item in value]
    if isinstance(value, dict):
        return {shown_line(str(name)): _shown_value(item) for name, item in value.items()}
    return value


def _print(item: Item, context: CommandContext) -> None:
    memory, console = item.stored.memory, context.console
    facts = as_json(item)
    console.line(console.style(str(facts["title"]), "bold"))
    pending = " (%s)" % item.reason if item.reason else ""
    console.line("%s, %s, %s%s" % (memory.category, item.stored.store.scope, status_text(item), pending))
    for name in ("tags", "files", "expires_at", "superseded_by", "supersedes", "updated_at", "path"):
        value = facts[name]
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        if text:
            console.line("%s: %s" % (name.replace("_", " "), text))
    if memory.asked_as:
        console.line("asked as: " + "; ".join(map(shown_line, memory.asked_as)))
    for line in guard_lines(memory):
        console.line(line)
    console.line()
    console.line(shown(body_text(memory)))
    _print_changes(memory.data.get("changes"), context)


def _print_changes(changes: object, context: CommandContext) -> None:
    rows = [row for row in changes if isinstance(row, dict)] if isinstance(changes, list) else []
    if rows:
        context.console.line()
    for row in rows[-_MAX_CHANGES:]:
        context.console.line(shown_line("%s  %s" % (row.get("date", ""), row.get("summary", ""))))
