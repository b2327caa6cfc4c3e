"""`memory forget` and `memory restore`: stop recalling a memory (its file is kept, or deleted later or at once), and bring it back."""

from __future__ import annotations

import argparse
from types import SimpleNamespace

from ...memories import InvalidMemory
from ...memories.lifecycle import archive, forget, restore, unsupersede
from ...memories.record import RETIRED, date_text
from ...memories.survey import (
    SUPERSEDED,
    Item,
    choose,
    life_cycle_state,
    read_item,
    shortest_names,
    superseding,
)
from ...memories.trust import REJECTED, TRUSTED
from ...memories.written_trust import before_write
from ..after_change import refresh_index, replaced_lines
from ..command_context import Approval, CommandContext, UsageError, about
from ..memory_view import approval_lines, as_json, is_guarded, status_text

_FORGET_EXAMPLES = """\
  memory forget use-mysql
  memory forget use-mysql --reason "we moved to Postgres"
  memory forget use-mysql --now           delete its file at once
  memory forget old-release-process --keep --reason "replaced by the new pipeline"
"""
_RESTORE_EXAMPLES = """\
  memory list --status retired
  memory restore use-mysql
"""

_WHOLE_ID = "nothing was deleted: what is deleted for good needs its whole id: memory forget %s --now"
_ALREADY = "%s is already forgotten%s; to bring it back: memory restore %s; to delete its file: memory forget %s --now"
_GRACE = "  its file will be deleted after %s; to bring it back until then: memory restore %s"


def _configure_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the memory's id, or category/id")


def _configure(parser: argparse.ArgumentParser) -> None:
    _configure_id(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--now", action="store_true", help="delete the file at once, permanently")
    what.add_argument("--keep", action="store_true", help="archive the memory: its file stays")
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, kept in the file")


def _approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return what to delete permanently, or which guard ends; None for a memory that can be restored."""
    stored = choose(context.overview().items, arguments.id).stored
    if arguments.now:
        return about("permanently delete", [stored])
    if not is_guarded(stored, context):
        return None
    action = "archive" if arguments.keep else "forget"
    return about(action, [stored], "Its guard ends.")


def _forget(arguments: argparse.Namespace, context: CommandContext) -> None:
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
    lines = ["forgotten: %s" % removal.id, "  removed from " + ", ".join(removed_from)]
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


def _restoration(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return the memory that is recalled again; None for one that stays pending or cannot be restored."""
    stored = read_item(choose(context.overview().items, arguments.id)).stored
    if before_write(context.paths, stored).state != TRUSTED:
        return None
    return about("restore", [stored], "Claude will see it from then on.")


def _restore(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Make the memory active again; a text that the user never accepted stays pending."""
    before = context.overview().items
    item = choose(before, arguments.id)
    if item.trust == REJECTED:
        text = "%s was rejected, not forgotten; to undo that: memory accept %s"
        raise InvalidMemory(text % ((shortest_names(before)[item.stored.key],) * 2))
    approved = not context.only_new
    if life_cycle_state(item) == SUPERSEDED:
        stored = unsupersede(context.paths, item.stored, superseding(before, item), approved)
    else:
        stored = restore(context.paths, item.stored, approved).stored
    refresh_index(context)
    items = context.overview(is_current=True).items
    after = choose(items, stored.key)
    name = shortest_names(items)[after.stored.key]
    context.console.result(
        arguments.json,
        as_json(after),
        "restored: %s (%s)" % (after.stored.memory.id, status_text(after)),
        *approval_lines(after, name),
    )
    if approved:
        context.report_saves([(name, after.stored.memory.title)])


PARTS = {
    "forget": SimpleNamespace(
        HELP="stop recalling a memory, and delete its file after a grace period",
        EXAMPLES=_FORGET_EXAMPLES,
        configure=_configure,
        approval=_approval,
        run=_forget,
    ),
    "restore": SimpleNamespace(
        HELP="bring back a forgotten, archived or superseded memory",
        EXAMPLES=_RESTORE_EXAMPLES,
        configure=_configure_id,
        approval=_restoration,
        run=_restore,
    ),
}
