"""`memory forget` stops recalling a memory: its file is kept, or deleted later or at once. `memory restore` brings it back."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...memories import InvalidMemory, survey
from ...memories.lifecycle import archive, before_write, forget, restore, unsupersede
from ...memories.record import ACTIVE, RETIRED, date_text
from ...memories.trust import REJECTED, TRUSTED
from ...work.memory_facts import approval_lines, as_json, current, is_guarded, status_text
from ..command_context import Approval, CommandContext, Handler, UsageError, about

_FORGET_TEXT = """\
stop using a memory; its file is deleted after a grace period
  memory forget use-mysql
  memory forget use-mysql --now           deletes its file now, permanently
  memory forget old-release-process --keep --reason "replaced by the new pipeline"
"""

_WHOLE_ID = "nothing was deleted; to delete permanently, give the whole id: memory forget %s --now"
_ALREADY = "%s is already forgotten%s; to bring it back: memory restore %s; to delete its file: memory forget %s --now"
_SHOWN_AGAIN = "  {0}, which it had replaced, is shown again"
_STAYS_REPLACED = "  {0}, which it had replaced, stays replaced; to bring it back: memory restore {0}"
_UNDO = "undo: memory restore "
_GRACE = "  After %s, its file will be deleted: %s"


def _configure_forget(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a memory's id or title, or the start of one")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--now", action="store_true", help="delete the file now, permanently")
    what.add_argument("--keep", action="store_true", help="archive the memory: its file stays")
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, kept in the file")


def _chosen(arguments: Namespace, items: list[survey.Item]) -> survey.Item:
    """Return the named memory. Raises UsageError for the start of a name if the memory would be deleted permanently."""
    item = survey.choose(items, arguments.id)
    key, memory = item.stored.key, item.stored.memory
    if arguments.now and arguments.id not in (memory.id, key.partition(":")[2], key, memory.title):
        raise UsageError(_WHOLE_ID % survey.shortest_names(items)[key])
    return item


def _forget_approval(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return what to delete permanently, or which guard ends; None for a memory that can be restored."""
    stored = _chosen(arguments, context.overview().items).stored
    if arguments.now:
        return about("permanently delete", [stored])
    if not is_guarded(stored, context):
        return None
    return about("archive" if arguments.keep else "forget", [stored], "Its guard ends.")


def _forget(arguments: Namespace, context: CommandContext) -> None:
    """Forget the memory; print what was removed, and when its file will be deleted."""
    items = context.overview().items
    item = _chosen(arguments, items)
    name = survey.shortest_names(items)[item.stored.key]
    key, memory = item.stored.key, item.stored.memory
    if arguments.keep:
        written = archive(context.paths, item.stored, arguments.reason)
        context.refresh_index()
        lines = ["archived: " + memory.id, _UNDO + name, *_replaced_lines(items, context, key)]
        context.console.result(as_json(item._replace(stored=written.stored)), *lines)
        return
    if memory.status == RETIRED and not arguments.now:
        day = date_text(memory.data.get("retired_at"))[:10]
        raise InvalidMemory(_ALREADY % (name, ", since " + day if day else "", name, name))
    days = context.settings.integer("memories.grace_period_days")
    removal = forget(context.paths, item.stored, arguments.reason, arguments.now, days)
    context.refresh_index(scrub=arguments.now)
    record = {**as_json(item), "status": "retired" if removal.goes_at else "deleted"}
    record.update(deleted=removal.deleted, goes_at=removal.goes_at)
    lines = ["forgotten: %s" % removal.id, *("  deleted " + path for path in removal.deleted)]
    if removal.goes_at:
        lines += [_UNDO + name, _GRACE % (removal.goes_at[:10], item.stored.path)]
    lines += _replaced_lines(items, context, key)
    context.console.result(record, *lines)


def _replaced_lines(before: list[survey.Item], context: CommandContext, gone: str) -> list[str]:
    """Return lines about the memories that the removed one had superseded; `gone` is the key of the removed memory."""
    items = context.overview(is_current=True).items
    names = survey.shortest_names(items)
    freed = {item.stored.key for item in before if item.superseded_by == gone}
    lines = []
    for item in items:
        if item.stored.key in freed:
            is_active = survey.life_cycle_state(item) == ACTIVE
            lines.append((_SHOWN_AGAIN if is_active else _STAYS_REPLACED).format(names[item.stored.key]))
    return lines


_RESTORE_TEXT = """\
bring back a forgotten, archived or replaced memory
  memory list --status forgotten
  memory restore use-mysql
"""


def _configure_restore(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a memory's id or title, or the start of one")


def _restore_approval(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return the memory that is recalled again; None for one that stays pending or cannot be restored."""
    stored = survey.read_item(survey.choose(context.overview().items, arguments.id)).stored
    if before_write(context.paths, stored).state != TRUSTED:
        return None
    return about("restore", [stored], "Claude will see it from then on.")


def _restore(arguments: Namespace, context: CommandContext) -> None:
    """Make the memory active again; a text that the user never accepted stays pending."""
    before = context.overview().items
    item = survey.choose(before, arguments.id)
    if item.trust == REJECTED:
        text = "%s was rejected, not forgotten; to undo that: memory accept %s"
        raise InvalidMemory(text % ((survey.shortest_names(before)[item.stored.key],) * 2))
    approved = not context.only_new
    if survey.life_cycle_state(item) == survey.SUPERSEDED:
        stored = unsupersede(context.paths, item.stored, survey.superseding(before, item), approved)
    else:
        stored = restore(context.paths, item.stored, approved).stored
    context.refresh_index()
    after, name = current(context.overview(is_current=True).items, stored.key)
    restored = "restored: %s (%s)" % (after.stored.memory.id, status_text(after))
    context.console.result(as_json(after), restored, *approval_lines(after, name))
    if approved:
        context.report_saves([(name, after.stored.memory.title)])


HANDLERS = {
    "forget": Handler(_FORGET_TEXT, _forget, _configure_forget, _forget_approval),
    "restore": Handler(_RESTORE_TEXT, _restore, _configure_restore, _restore_approval),
}
