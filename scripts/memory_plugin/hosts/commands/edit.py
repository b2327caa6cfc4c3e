"""`memory edit`: changes some fields of a memory, or all of it in the user's editor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable

from ...kernel.files import in_words
from ...memories.lifecycle import edit, rewrite
from ...memories.record import MAX_TITLE, InvalidMemory, body_content, categories
from ...memories.survey import choose, survey, unmistakable
from .draft import edited_draft
from .fields import add_fields, content_json, project_files, text_of, wrong_use
from .memory_row import as_json, standing
from .refresh import refresh

if TYPE_CHECKING:
    import argparse

    from ...memories.files import StoredMemory
    from ...memories.survey import Item
    from ...memories.writing import Written
    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "change a memory"
EXAMPLES = """\
  memory edit use-postgres                          all of it, in $EDITOR
  memory edit use-postgres --title "Postgres 17 for billing" --add-tag upgrade
  memory edit freeze --expires 2031-12-31           or: --expires never
  memory edit freeze --asked-as "can I ship on the 29th"     one more phrase; --asked-as none takes all away
  memory edit use-mysql --superseded-by use-postgres
"""

DONE, USAGE_ERROR = 0, 2
_NONE = "none"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="its id, or category/id")
    parser.add_argument("--title", metavar="TEXT", help="one line, at most %d characters" % MAX_TITLE)
    parser.add_argument(
        "--body", metavar="TEXT|-", help="replaces the category's main field; - reads standard input"
    )
    parser.add_argument(
        "--add-tag", action="append", default=[], metavar="TAG", help="one more tag; may be repeated"
    )
    parser.add_argument("--superseded-by", metavar="ID|none", help="the memory that replaces it")
    add_fields(parser)


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Change it; without the user's word the changed memory waits for it."""
    wrong = wrong_use(arguments)
    if wrong:
        session.console.error(wrong)
        return USAGE_ERROR
    items = survey(session.places, session.accepts_pulls).items
    item = choose(items, arguments.id)
    named = _named(arguments)
    if named:
        change = _change(arguments, session, item.stored, items)
        summary = "edited: " + ", ".join(named)
        _report(arguments, session, edit(session.places, item.stored, change, summary, session.has_word))
        return DONE
    if _has_terminal(session):
        return _edit_by_hand(arguments, session, item.stored)
    session.console.error(
        "name what to change, such as --title or --body; in a terminal, $EDITOR is opened without them"
    )
    return USAGE_ERROR


def _has_terminal(session: Session) -> bool:
    return not session.inside_client and bool(sys.stdin) and sys.stdin.isatty() and sys.stdout.isatty()


def _edit_by_hand(arguments: argparse.Namespace, session: Session, stored: StoredMemory) -> int:
    draft = edited_draft(session, stored)
    if draft is None:
        session.console.line("nothing changed")
        return DONE
    try:
        written = rewrite(session.places, stored, draft.data, "edited by hand", session.has_word)
    except (InvalidMemory, OSError) as error:
        raise InvalidMemory("%s; your draft is %s" % (in_words(error), draft.path)) from None
    draft.discard()
    _report(arguments, session, written)
    return DONE


def _named(arguments: argparse.Namespace) -> list[str]:
    """The options that were given and change something."""
    options = (
        "title",
        "body",
        "content_json",
        "tags",
        "add_tag",
        "files",
        "asked_as",
        "expires",
        "superseded_by",
    )
    return [name.replace("_", " ") for name in options if getattr(arguments, name) not in (None, [])]


def _change(
    arguments: argparse.Namespace, session: Session, stored: StoredMemory, items: list[Item]
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What the options make of a memory's data, whatever it is by the time it is written."""
    given = {"title": arguments.title, "tags": arguments.tags}
    fixed: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if arguments.files is not None:
        fixed["related_files"] = project_files(arguments.files, session.places)
    if arguments.expires is not None:
        fixed["expires_at"] = arguments.expires or None
    if arguments.superseded_by is not None:
        fixed["superseded_by"] = _successor(arguments.superseded_by, stored, items)
    content = _content(arguments, stored)

    def fields(data: dict[str, Any]) -> dict[str, Any]:
        made = dict(fixed)
        if arguments.asked_as is not None:
            made["asked_as"] = _phrases(data.get("asked_as"), arguments.asked_as)
        if arguments.add_tag:
            tags = fixed.get("tags", data.get("tags"))
            kept = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
            made["tags"] = list(dict.fromkeys([*kept, *arguments.add_tag]))
        if content:
            made["content"] = {**data["content"], **content}
        return made

    return fields


def _phrases(present: object, given: list[str]) -> list[str]:
    """Return the phrases of a memory with those given after them; `none` takes away what was there."""
    kept = [phrase for phrase in present if isinstance(phrase, str)] if isinstance(present, list) else []
    if _NONE in given:
        kept, given = [], [phrase for phrase in given if phrase != _NONE]
    return list(dict.fromkeys([*kept, *given]))


def _successor(name: str, stored: StoredMemory, items: list[Item]) -> str | None:
    if name == _NONE:
        return None
    chosen = choose(items, name).stored
    if chosen.key == stored.key:
        raise InvalidMemory("--superseded-by: a memory cannot replace itself")
    return chosen.memory.id


def _content(arguments: argparse.Namespace, stored: StoredMemory) -> dict[str, Any]:
    content = content_json(arguments.content_json) if arguments.content_json is not None else {}
    if arguments.body is not None:
        content.update(body_content(categories()[stored.memory.category], text_of(arguments.body, "--body")))
    if arguments.expires is not None and "expires" in stored.memory.data["content"]:
        content["expires"] = None  # a constraint's own date must not go on holding
    return content


def _report(arguments: argparse.Namespace, session: Session, written: Written) -> None:
    refresh(session)
    items = survey(session.places, session.accepts_pulls).items
    item = choose(items, written.stored.key)
    if arguments.json:
        session.console.json({**as_json(item), "redacted": [found._asdict() for found in written.redacted]})
        return
    session.console.line("changed: %s (%s)" % (item.stored.memory.id, standing(item)))
    for rule, field in dict.fromkeys(written.redacted):
        session.console.line("  taken out of %s: %s" % (field, rule))
    if item.waits:
        session.console.line(
            "  it waits for the user's word: memory accept %s" % unmistakable(items)[item.stored.key]
        )
