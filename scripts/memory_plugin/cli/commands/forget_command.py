"""`memory forget`: stop recalling a memory; its file is kept, or deleted later or at once."""

from __future__ import annotations

import argparse

from ...memories import InvalidMemory
from ...memories.lifecycle import archive, forget
from ...memories.record import RETIRED, date_text
from ...memories.survey import Item, choose, shortest_names
from ...work.memory_facts import as_json, is_guarded
from ..after_change import refresh_index, replaced_lines
from ..command_context import Approval, CommandContext, UsageError, about

HELP = "stop using a memory; its file goes after a grace period"
EXAMPLES = """\
  memory forget use-mysql
  memory forget use-mysql --reason "we moved to Postgres"
  memory forget use-mysql --now           delete its file at once
  memory forget old-release-process --keep --reason "replaced by the new pipeline"
"""


_WHOLE_ID = "nothing was deleted: what is deleted for good needs its whole id: memory forget %s --now"
_ALREADY = "%s is already forgotten%s; to bring it back: memory restore %s; to delete its file: memory forget %s --now"
_GRACE = "  its file will be deleted after %s; to bring it back until then: memory restore %s"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="a memory's id or title, or the start of one")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--now", action="store_true", help="delete the file at once, permanently")
    what.add_argument("--keep", action="store_true", help="archive the memory: its file stays")
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, kept in the file")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return what to delete permanently, or which guard ends; None for a memory that can be restored."""
    stored = choose(context.overview().items, arguments.id).stored
    if arguments.now:
        return about("permanently delete", [stored])
    if not is_guarded(stored, context):
        return None
    action = "archive" if arguments.keep else "forget"
    return about(action, [stored], "Its guard ends.")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Forget the memory; print what was removed, and when its file will be deleted."""
    items = context.overview().items
    item = choose(items, arguments.id)
    name = shortest_names(items)[item.stored.key]
    key, memory = item.stored.key, item.stored.memory
    if arguments.now and arguments.id not in (memory.id, key.partition(":")[2], key, memory.title):
        raise UsageError(_WHOLE_ID % name)
    if arguments.keep:
        _archive(arguments, item, items, context)
        return
    if item.stored.memory.status == RETIRED and not arguments.now:
        raise InvalidMemory(_ALREADY % (name, _since(item), name, name))
    days = context.settings.integer("memories.grace_period_days")
    removal = forget(context.paths, item.stored, arguments.reason, arguments.now, days)
    is_current = refresh_index(context, scrub=arguments.now)
    removed_from = ["the index and its caches"] if is_current else []
    removed_from += ["the store's index.md", "the trust record"]
    record = {
        **as_json(item),
        "status": "retired" if removal.goes_at else "deleted",
        "removed_from": removed_from,
        "deleted": removal.deleted,
        "goes_at": removal.goes_at,
    }
    lines = ["forgotten: %s" % removal.id]
    if arguments.now:
        lines.append("  removed from " + ", ".join(removed_from))
    lines += ["  deleted " + path for path in removal.deleted]
    if removal.goes_at:
        lines += [_GRACE % (removal.goes_at[:10], name), "  " + item.stored.path]
    lines += replaced_lines(items, context.overview(is_current=True).items, item.stored.key)
    context.console.result(arguments.json, record, *lines)


def _archive(arguments: argparse.Namespace, item: Item, items: list[Item], context: CommandContext) -> None:
    """Stop recalling the memory; its file stays."""
    written = archive(context.paths, item.stored, arguments.reason)
    refresh_index(context)
    name = shortest_names(items)[item.stored.key]
    context.console.result(
        arguments.json,
        as_json(item._replace(stored=written.stored)),
        "archived: %s; to bring it back: memory restore %s" % (item.stored.memory.id, name),
        *replaced_lines(items, context.overview(is_current=True).items, item.stored.key),
    )


def _since(item: Item) -> str:
    day = date_text(item.stored.memory.data.get("retired_at"))[:10]
    return ", since " + day if day else ""
