"""`memory forget`: stop recalling a memory, and delete its file after a grace period or at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...memories.invalid_memory import InvalidMemory
from ...memories.lifecycle import forget
from ...memories.record import RETIRED, date_text
from ...memories.survey import choose, shortest_names
from ..after_change import refresh_index, replaced_lines
from ..approval import Approval, titled
from ..guard_view import is_guarded
from ..options import add_flag

if TYPE_CHECKING:
    import argparse

    from ...memories.survey import Item
    from ..command_context import CommandContext

HELP = "stop recalling a memory, and delete its file after a grace period"
EXAMPLES = """\
  memory forget use-mysql
  memory forget use-mysql --reason "we moved to Postgres"
  memory forget use-mysql --now           delete its file at once
"""

_ALREADY = "%s is already forgotten%s; to bring it back: memory restore %s; to delete its file: memory forget %s --now"
_GRACE = "  its file will be deleted after %s; to bring it back until then: memory restore %s"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="the memory's id, or category/id")
    add_flag(parser, "--now", "delete the file at once, permanently")
    parser.add_argument(
        "--reason", default="", metavar="TEXT", help="the reason, kept in the file until it is deleted"
    )


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return what to delete permanently, or which guard ends; None for a memory that can be restored."""
    stored = choose(context.overview().items, arguments.id).stored
    if arguments.now:
        return Approval(titled("delete permanently", [stored.memory.title]))
    return (
        Approval(titled("forget the guard of", [stored.memory.title]))
        if is_guarded(stored, context)
        else None
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Forget the memory; print what was removed, and when its file will be deleted."""
    items = context.overview().items
    item = choose(items, arguments.id)
    name = shortest_names(items)[item.stored.key]
    if item.stored.memory.status == RETIRED and not arguments.now:
        raise InvalidMemory(_ALREADY % (name, _since(item), name, name))
    days = context.settings.integer("memories.grace_period_days")
    removal = forget(context.paths, item.stored, arguments.reason, arguments.now, days)
    is_current = refresh_index(context, scrub=arguments.now)
    removed_from = ["the index and its caches"] if is_current else []
    removed_from += ["the store's index.md", "the trust record"]
    record = {
        "id": removal.id,
        "category": item.stored.memory.category,
        "scope": item.stored.store.scope,
        "path": item.stored.path,
        "status": "retired" if removal.goes_at else "deleted",
        "removed_from": removed_from,
        "deleted": removal.deleted,
        "goes_at": removal.goes_at,
    }
    lines = ["forgotten: %s" % removal.id, "  removed from " + ", ".join(removed_from)]
    lines += ["  deleted " + path for path in removal.deleted]
    if removal.goes_at:
        lines += [_GRACE % (removal.goes_at[:10], name), "  " + item.stored.path]
    lines += replaced_lines(items, context.overview(is_current=True).items, item.stored.key)
    context.console.result(arguments.json, record, *lines)


def _since(item: Item) -> str:
    day = date_text(item.stored.memory.data.get("retired_at"))[:10]
    return ", since " + day if day else ""
