"""`memory save` stores a memory, so that Claude sees it when a prompt is about it; `memory edit` changes one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from ...kernel.fastjson import as_texts
from ...memories import InvalidMemory
from ...memories.lifecycle import before_write, edit, rewrite
from ...memories.markdown import title_for
from ...memories.memory_files import PROJECT, USER, StoredMemory
from ...memories.record import MAX_TITLE, categories
from ...memories.statements import statement_category
from ...memories.survey import Item, choose, read_item, shortest_names
from ...memories.trust import TRUSTED, Trust
from ...memories.writing import Edit, Written
from ...work import memory_facts
from ...work import save as saving
from .. import memory_input
from ..command_context import Approval, CommandContext, Handler, UsageError, about

_SAVE_TEXT = """\
save a memory
  memory save "Staging is reset every night at 03:00. Put test data into seeds/."
  memory save --category decision --title "Postgres for billing" --body "Row locks." --file src/billing/db.py
  memory save --category runbook --title "Roll back a release" --body - < steps.txt
  memory save "Sessions live in Redis." --supersedes signed-cookies --context "Cookies of 6 KB broke the proxy."
  memory save "Never force-push main." --guard-command "git push --force" --guard-action ask
  memory save "I prefer tabs." --scope user --asked-as "code style" --asked-as "how do I indent"
"""

_TEXT = "what to remember, in one line; its first sentence becomes the title"
_BODY = "the text to remember; - reads standard input (UTF-8, at most 1 MB)"
_SUPERSEDES = "the memory that this one replaces; search still finds it, but Claude no longer sees it"
_CANDIDATE = "the suggestion from `memory capture` that becomes this memory"


def _configure_save(parser: ArgumentParser) -> None:
    parser.add_argument("text", nargs="?", metavar="TEXT", help=_TEXT)
    memory_input.add_category(parser, "one of %s (default: guessed from the text)")
    parser.add_argument("--title", metavar="TEXT", help="one line, at most %d characters" % MAX_TITLE)
    parser.add_argument("--body", metavar="TEXT|-", help=_BODY)
    memory_input.add_scope(parser)
    parser.add_argument("--supersedes", metavar="ID", help=_SUPERSEDES)
    parser.add_argument("--candidate", metavar="ID", help=_CANDIDATE)
    memory_input.add_fields(parser)


def _save(arguments: Namespace, context: CommandContext) -> None:
    """Store the memory; print its id, what was redacted, and whether it awaits approval."""
    memory_input.check_fields(arguments)
    _derive_options(arguments)
    supersedes, candidate = arguments.supersedes or "", arguments.candidate or ""
    new = new_memory(arguments, context)._replace(supersedes=supersedes, candidate=candidate)
    print_saved(saving.save(new, context), context)


def new_memory(arguments: Namespace, context: CommandContext) -> saving.NewMemory:
    """Return what to save, as the common options set it. Raises InvalidMemory."""
    content = memory_input.content_of(arguments, categories()[arguments.category])
    guard = memory_input.guard_of(arguments, context.paths)
    optional = {"asked_as": arguments.asked_as, "guard": guard, "expires_at": arguments.expires}
    files = memory_input.project_files(arguments.files or [], context.paths)
    extra = {name: value for name, value in optional.items() if value}
    extra.update(tags=arguments.tags or [], related_files=files)
    return saving.NewMemory(arguments.category, arguments.title, content, arguments.scope, extra)


def _derive_options(arguments: Namespace) -> None:
    """Derive the title and the category from the text, if they are not given. Raises UsageError."""
    if arguments.text is not None and arguments.body is not None:
        raise UsageError("TEXT is the body; leave out --body, or use --title, not TEXT")
    option, body = ("TEXT", arguments.text) if arguments.body is None else ("--body", arguments.body)
    if not (body or "").strip():
        missing = "nothing to save" if arguments.title is None else "--title needs a --body"
        raise UsageError(missing + '. Try: memory save "what to remember"')
    arguments.body = memory_input.text_of(body, option)
    arguments.title = title_for(arguments.body) if arguments.title is None else arguments.title
    arguments.category = arguments.category or statement_category(arguments.body)


def print_saved(saved: saving.Saved, context: CommandContext) -> None:
    """Print what was stored, and tell the user what Claude saved."""
    for notice in saved.notices:
        context.console.error(notice)
    context.console.result(saved.record, *saved.lines)
    if saved.is_approved:
        context.report_saves([(saved.name, saved.title)])


_EDIT_TEXT = """\
change a memory
  memory edit use-postgres                          opens all of it in $EDITOR
  memory edit use-postgres --title "Postgres 17 for billing" --add-tag upgrade
  memory edit freeze --expires 2031-12-31           or: --expires never
  memory edit freeze --asked-as "can I ship on the 29th"     adds a phrase; --asked-as none removes all
  memory edit freeze --file src/a.py --file src/b.py         replaces the list, as --tags and --guard-command do
  memory edit restart-the-ocr-worker --category runbook      or: --scope user
"""

_GUARD = ("guard_commands", "guard_files", "guard_action")
_TEXTS = ("title", "body", "context", "tags", "add_tag", "files", "asked_as", "expires")
_PLACE = ("category", "scope")
_NOTHING = "name what to change, such as --title or --body; in a terminal, `memory edit ID` opens $EDITOR"
_NEW_PHRASES = "--asked-as: %s has pending search phrases; first run: memory review"


def _configure_edit(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a memory's id or title, or the start of one")
    parser.add_argument("--title", metavar="TEXT", help="one line, at most %d characters" % MAX_TITLE)
    parser.add_argument("--body", metavar="TEXT|-", help="replace the main text; - reads standard input")
    parser.add_argument("--add-tag", action="append", metavar="TAG", help="add a tag; can be repeated")
    parser.add_argument("--superseded-by", metavar="ID|none", help="the memory that replaces this one")
    memory_input.add_category(parser, "move it to another category: %s")
    parser.add_argument("--scope", choices=(PROJECT, USER), help="move it to this project, or all projects")
    memory_input.add_fields(parser)


def _edit_approval(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return the trusted memory that would change; None for one with a guard, which is pending after the change."""
    if not _changed_fields(arguments) and arguments.superseded_by is None:
        return None
    stored = read_item(choose(context.overview().items, arguments.id)).stored
    has_guard = memory_facts.is_guarded(stored, context) or memory_facts.holds_guard(stored)
    if has_guard or _has_guard_option(arguments) or before_write(context.paths, stored).state != TRUSTED:
        return None
    return about("change", [stored], "Claude will see the changed text.")


def _edit(arguments: Namespace, context: CommandContext) -> None:
    """Change the memory, which stays trusted, pending or rejected."""
    memory_input.check_fields(arguments)
    items = context.overview().items
    item = choose(items, arguments.id)
    if _changed_fields(arguments) or arguments.superseded_by is not None:
        _edit_by_options(arguments, context, item, items)
    elif not context.inside_client and context.console.can_prompt():
        _edit_by_hand(arguments, context, item)
    else:
        raise UsageError(_NOTHING)


def _changed_fields(arguments: Namespace) -> list[str]:
    names = (*_TEXTS, *_GUARD, *_PLACE)
    return [name.replace("_", " ") for name in names if getattr(arguments, name) is not None]


def _has_guard_option(arguments: Namespace) -> bool:
    return any(getattr(arguments, name) is not None for name in _GUARD)


def _edit_by_options(arguments: Namespace, context: CommandContext, item: Item, items: list[Item]) -> None:
    successor = saving.chosen_successor(arguments.superseded_by, item, items)
    approved, stored = not context.only_new, item.stored
    written, fields = Written(stored, [], False), _changed_fields(arguments)
    if arguments.asked_as and Trust(context.paths, context.accept_from).has_new_phrases(stored):
        raise InvalidMemory(_NEW_PHRASES % stored.memory.id)
    if arguments.body is not None and arguments.title is None:
        arguments.body = memory_input.text_of(arguments.body, "--body")
        arguments.title = saving.renewed_title(stored.memory, arguments.body)
    if arguments.title is not None:
        saving.refuse_title(context, item, arguments.title)
    if set(fields).difference(_PLACE):
        change = _change(arguments, context, stored)
        written = edit(context.paths, stored, change, "edited: " + ", ".join(fields), approved)
    if arguments.superseded_by is not None:
        trust = Trust(context.paths, context.accept_from).state_of(written.stored)
        item = item._replace(stored=written.stored, trust=trust)
        written = written._replace(stored=saving.resupersede(context, item, successor, items))
    written = saving.moved(context, written, arguments.category, arguments.scope)
    _report(arguments, context, written)
    if approved:
        context.report_saves([(shortest_names(items)[stored.key], written.stored.memory.title)])


def _edit_by_hand(arguments: Namespace, context: CommandContext, item: Item) -> None:
    def stored(data: dict[str, Any]) -> Written:
        saving.refuse_title(context, item, str(data["title"]))
        return rewrite(context.paths, item.stored, data, "edited by hand")

    written = saving.edit_draft(context, item.stored, stored)
    if written is None:
        context.console.line("nothing changed")
    else:
        _report(arguments, context, written)


def _change(arguments: Namespace, context: CommandContext, stored: StoredMemory) -> Edit:
    """Return a function that applies the options to a memory's data, which is read again just before writing."""
    content: dict[str, object] = memory_input.content_of(arguments, categories()[stored.memory.category])
    if arguments.context is not None and content["context"] == saving.NONE:
        content["context"] = None
    if arguments.expires is not None and "expires" in stored.memory.data["content"]:
        content["expires"] = None  # otherwise the constraint's own date would still apply
    named = [name for name in arguments.files or () if name != saving.NONE]
    files = memory_input.project_files(named, context.paths)

    def changed(data: dict[str, Any]) -> dict[str, object]:
        change: dict[str, object] = {"title": arguments.title} if arguments.title is not None else {}
        if arguments.files is not None:
            change["related_files"] = files
        if arguments.expires is not None:
            change["expires_at"] = arguments.expires or None
        if arguments.asked_as is not None:
            phrases = [] if saving.NONE in arguments.asked_as else as_texts(data.get("asked_as"))
            phrases += [phrase for phrase in arguments.asked_as if phrase != saving.NONE]
            change["asked_as"] = list(dict.fromkeys(phrases))
        if arguments.tags is not None or arguments.add_tag:
            tags = as_texts(data.get("tags")) if arguments.tags is None else arguments.tags
            tags = [tag for tag in (*tags, *(arguments.add_tag or ())) if tag != saving.NONE]
            change["tags"] = list(dict.fromkeys(tags))
        if content:
            change["content"] = {**data["content"], **content}
        if _has_guard_option(arguments):
            change["guard"] = memory_input.guard_of(arguments, context.paths, data.get("guard"))
        return change

    return changed


def _report(arguments: Namespace, context: CommandContext, written: Written) -> None:
    context.refresh_index()
    item, name = memory_facts.current(context.overview(is_current=True).items, written.stored.key)
    memory = item.stored.memory
    facts = memory.category, item.stored.store.scope, memory_facts.status_text(item)
    lines = ["changed: %s (%s)" % (memory.id, ", ".join(facts))]
    lines += ["  title kept: %s" % item.stored.memory.title] if arguments.body and not arguments.title else []
    lines += ["  " + line for line in memory_facts.redaction_lines(written)]
    lines += ["  " + line for line in memory_facts.gone_lines(item.stored) if arguments.files]
    lines += memory_facts.approval_lines(item, name)
    context.console.result({**memory_facts.as_json(item), "redacted": written.redacted}, *lines)


HANDLERS = {
    "save": Handler(_SAVE_TEXT, _save, _configure_save),
    "edit": Handler(_EDIT_TEXT, _edit, _configure_edit, _edit_approval),
}
