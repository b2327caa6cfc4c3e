"""`memory forget`: a memory is not recalled any more, at once; its file goes later, or now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...memories.hygiene import shown_line
from ...memories.lifecycle import forget
from ...memories.record import RETIRED, InvalidMemory
from ...memories.survey import choose, survey, unmistakable
from ..after_change import refresh_index
from ..memory_view import replaced_lines

if TYPE_CHECKING:
    import argparse

    from ...memories.lifecycle import Removal
    from ...memories.survey import Item
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "forget a memory"
EXAMPLES = """\
  memory forget use-mysql
  memory forget use-mysql --reason "we moved to Postgres"
  memory forget use-mysql --now           delete its file at once
"""

DONE, FAILED = 0, 1
_ALREADY = (
    "%s is forgotten already%s; `memory restore %s` brings it back, `memory forget %s --now` deletes its file"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="its id, or category/id")
    parser.add_argument("--now", action="store_true", help="delete the file at once, for good")
    parser.add_argument("--reason", default="", metavar="TEXT", help="kept in the file until it goes")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Take it out of use and say what was removed, and when the file goes."""
    if arguments.now:
        context.require_approval("delete a memory for good")
    items = survey(context.places, context.accepts_pulls).items
    item = choose(items, arguments.id)
    name = unmistakable(items)[item.stored.key]
    if item.stored.memory.status == RETIRED and not arguments.now:
        raise InvalidMemory(_ALREADY % (name, _since(item), name, name))
    days = context.settings.integer("memories.grace_period_days")
    removal = forget(context.places, item.stored, arguments.reason, arguments.now, days)
    behind = not refresh_index(context, scrub=arguments.now)
    removed = [] if behind else ["the index and what it caches"]
    removed += ["the store's index.md", "what was known of its trust"]
    if arguments.json:
        _print_json(item, removal, removed, context)
        return DONE
    context.console.line("forgotten: %s" % removal.id)
    context.console.line("  gone from " + ", ".join(removed))
    for path in removal.deleted:
        context.console.line("  deleted " + path)
    if removal.goes_at:
        context.console.line(
            "  its file goes after %s; until then: memory restore %s" % (removal.goes_at[:10], name)
        )
        context.console.line("  " + item.stored.path)
    after = survey(context.places, context.accepts_pulls).items
    for line in replaced_lines(items, after, item.stored.key):
        context.console.line(line)
    return DONE


def _since(item: Item) -> str:
    day = shown_line(str(item.stored.memory.data.get("retired_at") or ""))[:10]
    return ", since " + day if day else ""


def _print_json(item: Item, removal: Removal, removed: list[str], context: CommandContext) -> None:
    context.console.json(
        {
            "id": removal.id,
            "category": item.stored.memory.category,
            "scope": item.stored.store.scope,
            "path": item.stored.path,
            "status": "retired" if removal.goes_at else "deleted",
            "removed_from": removed,
            "deleted": removal.deleted,
            "goes_at": removal.goes_at,
        }
    )
