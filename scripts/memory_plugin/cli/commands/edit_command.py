"""`memory edit`: change some fields of a memory, or all of it in the user's editor."""

from __future__ import annotations

import argparse
from typing import Any, Callable

from ...kernel.fastjson import as_texts
from ...memories import InvalidMemory
from ...memories.lifecycle import edit, rewrite
from ...memories.memory_files import PROJECT, USER, StoredMemory
from ...memories.record import MAX_TITLE, categories
from ...memories.survey import (
    Item,
    choose,
    item_of,
    read_item,
    shortest_names,
)
from ...memories.trust import TRUSTED, load_trust
from ...memories.writing import Written
from ...memories.written_trust import before_write
from ...work.edit import (
    NONE,
    chosen_successor,
    edit_draft,
    moved,
    refuse_title,
    renewed_title,
    resupersede,
)
from ...work.memory_facts import as_json, holds_guard, is_guarded, redaction_lines
from ...work.review import lines_to_decide
from ..command_context import Approval, CommandContext, UsageError, about
from ..memory_input import (
    add_category,
    add_fields,
    check_fields,
    content_of,
    guard_of,
    project_files,
    text_of,
)
from ..memory_view import approval_lines, status_text

HELP = "change a memory"
EXAMPLES = """\
  memory edit use-postgres                          opens all of it in $EDITOR
  memory edit use-postgres --title "Postgres 17 for billing" --add-tag upgrade
  memory edit freeze --expires 2031-12-31           or: --expires never
  memory edit freeze --asked-as "can I ship on the 29th"     adds a phrase; --asked-as none removes all
  memory edit use-mysql --superseded-by use-postgres
  memory edit restart-the-ocr-worker --category runbook      or: --scope user
"""

_GUARD = ("guard_commands", "guard_files", "guard_action")
_OPTIONS = (
    *("title", "body", "context", "content_json", "tags", "add_tag", "files", "asked_as", "expires"),
    *_GUARD,
)
_PLACE = ("category", "scope")
_NOTHING = "name what to change, such as --title or --body; in a terminal, `memory edit ID` opens $EDITOR"
_NEW_PHRASES = "--asked-as: %s has pending search phrases; first run: memory review"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="a memory's id or title, or the start of one")
    parser.add_argument("--title", metavar="TEXT", help="one line, at most %d characters" % MAX_TITLE)
    parser.add_argument("--body", metavar="TEXT|-", help="replace the main text; - reads standard input")
    tag = "add a tag; can be repeated"
    parser.add_argument("--add-tag", action="append", default=[], metavar="TAG", help=tag)
    parser.add_argument("--superseded-by", metavar="ID|none", help="the memory that replaces this one")
    add_category(parser, "move it to another category: %s")
    parser.add_argument(
        "--scope", choices=(PROJECT, USER), help="move it to this project, or to all your projects"
    )
    add_fields(parser)


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return the trusted memory that would change; None for one with a guard, which is pending after the change."""
    if not _changed_fields(arguments) and arguments.superseded_by is None:
        return None
    stored = read_item(choose(context.overview(names=[arguments.id]).items, arguments.id)).stored
    if _is_about_guard(arguments, stored, context) or before_write(context.paths, stored).state != TRUSTED:
        return None
    return about("change", [stored], "Claude will see the changed text.")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Change the memory, which stays trusted, pending or rejected."""
    check_fields(arguments)
    # Only a chain of successors leads to other memories.
    items = context.overview(names=[arguments.id] if arguments.superseded_by is None else None).items
    item = choose(items, arguments.id)
    fields = _changed_fields(arguments)
    if fields or arguments.superseded_by is not None:
        _edit_by_options(arguments, context, item, items, fields)
    elif not context.inside_client and context.console.can_prompt():
        _edit_by_hand(arguments, context, item)
    else:
        raise UsageError(_NOTHING)


def _changed_fields(arguments: argparse.Namespace) -> list[str]:
    names = (*_OPTIONS, *_PLACE)
    return [name.replace("_", " ") for name in names if getattr(arguments, name) not in (None, [])]


def _edit_by_options(
    arguments: argparse.Namespace, context: CommandContext, item: Item, items: list[Item], fields: list[str]
) -> None:
    successor = chosen_successor(arguments.superseded_by, item, items)
    written = Written(item.stored, [], False)
    trust = load_trust(context.paths, context.accept_from)
    if arguments.asked_as and trust.has_new_phrases(item.stored):
        raise InvalidMemory(_NEW_PHRASES % item.stored.memory.id)
    approved = not context.only_new
    if arguments.body is not None and arguments.title is None:
        arguments.body = text_of(arguments.body, "--body")
        arguments.title = renewed_title(item.stored.memory, arguments.body)
    if arguments.title is not None:
        refuse_title(context, item, {"title": arguments.title})
    if set(fields).difference(_PLACE):
        change = _change(arguments, context, item.stored)
        summary = "edited: " + ", ".join(fields)
        written = edit(context.paths, item.stored, change, summary, approved)
    if arguments.superseded_by is not None:
        trust = load_trust(context.paths, context.accept_from)
        item = item._replace(stored=written.stored, trust=trust.state_of(written.stored))
        written = written._replace(stored=resupersede(context, item, successor, items, approved))
    written = moved(context, written, arguments.category, arguments.scope, approved)
    _report(arguments, context, written)
    if approved:
        context.report_saves([(shortest_names(items)[item.stored.key], written.stored.memory.title)])


def _is_about_guard(arguments: argparse.Namespace, stored: StoredMemory, context: CommandContext) -> bool:
    return is_guarded(stored, context) or holds_guard(stored) or _has_guard_option(arguments)


def _has_guard_option(arguments: argparse.Namespace) -> bool:
    return any(getattr(arguments, name) is not None for name in _GUARD)


def _edit_by_hand(arguments: argparse.Namespace, context: CommandContext, item: Item) -> None:
    def stored(data: dict[str, Any]) -> Written:
        refuse_title(context, item, data)
        return rewrite(context.paths, item.stored, data, "edited by hand")

    written = edit_draft(context, item.stored, stored)
    if written is None:
        context.console.line("nothing changed")
    else:
        _report(arguments, context, written)


def _change(
    arguments: argparse.Namespace, context: CommandContext, stored: StoredMemory
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that applies the options to a memory's data, which is read again just before writing."""
    fixed: dict[str, Any] = {}
    if arguments.title is not None:
        fixed["title"] = arguments.title
    if arguments.files is not None:
        named = [name for name in arguments.files if name != NONE]
        fixed["related_files"] = project_files(named, context.paths)
    if arguments.expires is not None:
        fixed["expires_at"] = arguments.expires or None
    content = _content(arguments, stored)

    def fields(data: dict[str, Any]) -> dict[str, Any]:
        changed = dict(fixed)
        if arguments.asked_as is not None:
            phrases = [] if NONE in arguments.asked_as else as_texts(data.get("asked_as"))
            phrases += [phrase for phrase in arguments.asked_as if phrase != NONE]
            changed["asked_as"] = list(dict.fromkeys(phrases))
        if arguments.tags is not None or arguments.add_tag:
            tags = as_texts(data.get("tags")) if arguments.tags is None else arguments.tags
            changed["tags"] = list(dict.fromkeys([*tags, *arguments.add_tag]))
        if content:
            changed["content"] = {**data["content"], **content}
        if _has_guard_option(arguments):
            changed["guard"] = guard_of(arguments, context.paths, data.get("guard"))
        return changed

    return fields


def _content(arguments: argparse.Namespace, stored: StoredMemory) -> dict[str, Any]:
    content = content_of(arguments, categories()[stored.memory.category])
    if arguments.context is not None and content["context"] == NONE:
        content["context"] = None
    if arguments.expires is not None and "expires" in stored.memory.data["content"]:
        content["expires"] = None  # otherwise the constraint's own date would still apply
    return content


def _report(arguments: argparse.Namespace, context: CommandContext, written: Written) -> None:
    context.refresh_index()
    items = context.overview(is_current=True, names=[written.stored.key]).items
    item = choose(items, written.stored.key)
    if item.trust != TRUSTED and not arguments.json:
        item = _offered(context, item)
    context.console.result(
        arguments.json,
        {**as_json(item), "redacted": [redaction._asdict() for redaction in written.redacted]},
        "changed: %s (%s)" % (item.stored.memory.id, status_text(item)),
        *(["  title kept: %s" % item.stored.memory.title] if arguments.body and not arguments.title else []),
        *("  " + line for line in redaction_lines(written)),
        *approval_lines(item, shortest_names(items)[item.stored.key]),
    )


def _offered(context: CommandContext, item: Item) -> Item:
    """Show the user in a terminal an edited text that is not trusted, ask whether to accept it, and return it with its trust."""
    if context.inside_client or not context.console.can_prompt():
        return item
    trust = load_trust(context.paths)
    for line in lines_to_decide(item, trust):
        context.console.line("  " + line)
    if not context.console.confirm("accept this text?"):
        return item
    trust.accept([item.stored], "edit")
    context.refresh_index()
    return item_of(item.stored, trust, "")
