"""`memory save`: stores a memory, so that Claude knows it when a prompt asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...memories.lifecycle import edit, save
from ...memories.record import MAX_TITLE, body_content, categories, new_memory
from ...memories.stores import PROJECT, USER, named_store
from ...memories.survey import choose, survey, unmistakable
from ...memories.trust import TRUSTED, load_trust
from .fields import add_fields, content_json, project_files, text_of, to_category, wrong_use
from .refresh import refresh

if TYPE_CHECKING:
    import argparse

    from ...memories.files import StoredMemory
    from ...memories.survey import Item
    from ...memories.writing import Written
    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "store a memory"
EXAMPLES = """\
  memory save --category decision --title "Postgres for billing" \\
      --body "Billing runs on Postgres 16, for its row locks." --tags billing,database --file src/billing/db.py
  memory save --category runbook --title "Roll back a release" --body - < steps.txt
  memory save --category preference --scope user --title "Tabs" --body "Indent with tabs." --asked-as "code style"
"""

DONE, USAGE_ERROR = 0, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--category",
        required=True,
        type=to_category,
        metavar="NAME",
        help="one of " + ", ".join(categories()),
    )
    parser.add_argument(
        "--title", required=True, metavar="TEXT", help="one line, at most %d characters" % MAX_TITLE
    )
    parser.add_argument(
        "--body", metavar="TEXT|-", help="what there is to know; - reads standard input (UTF-8, 1 MB)"
    )
    parser.add_argument(
        "--scope", choices=(PROJECT, USER), default=PROJECT, help="this project (default), or all of yours"
    )
    parser.add_argument(
        "--supersedes", metavar="ID", help="the memory that this one replaces; it is not recalled any more"
    )
    add_fields(parser)


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Store it, and say where, what was taken out, and whether it waits for the user's word."""
    wrong = wrong_use(arguments)
    if not wrong and arguments.body is None and arguments.content_json is None:
        wrong = "one of --body and --content-json is needed"
    if wrong:
        session.console.error(wrong)
        return USAGE_ERROR
    data = _data(arguments, session)
    store = named_store(session.places, arguments.scope)
    old = _superseded(arguments, session)
    written = save(session.places, store, data, session.has_word)
    replaced = old is not None and session.has_word
    if old is not None and replaced:
        identity = written.stored.memory.id
        successor = {"superseded_by": identity}
        edit(session.places, old.stored, lambda _: successor, "superseded by " + identity, word=True)
    refresh(session)
    _report(arguments, session, written, old.stored.memory.id if old and replaced else "")
    if old is not None and not replaced:
        session.console.error(
            "%s stays as it is: only the user's own word replaces a memory" % old.stored.memory.id
        )
    return DONE


def _data(arguments: argparse.Namespace, session: Session) -> dict[str, Any]:
    category = categories()[arguments.category]
    content = content_json(arguments.content_json) if arguments.content_json is not None else {}
    if arguments.body is not None:
        content.update(body_content(category, text_of(arguments.body, "--body")))
    extra: dict[str, Any] = {
        "tags": arguments.tags or [],
        "related_files": project_files(arguments.files or [], session.places),
    }
    if arguments.asked_as:
        extra["asked_as"] = arguments.asked_as
    if arguments.expires:
        extra["expires_at"] = arguments.expires
    return new_memory(category, "", arguments.title, content, extra)


def _superseded(arguments: argparse.Namespace, session: Session) -> Item | None:
    if arguments.supersedes is None:
        return None
    found = survey(session.places, session.accepts_pulls)
    return choose(found.items, arguments.supersedes)


def _standing(session: Session, written: Written) -> str:
    """The standing of what was written, as a later `list` will tell it."""
    trust = load_trust(session.places, written.stored.store)
    return trust.review([written.stored], session.accepts_pulls)[written.stored.key]


def _name(stored: StoredMemory, session: Session) -> str:
    items = survey(session.places, session.accepts_pulls).items
    return unmistakable(items)[stored.key]


def _report(arguments: argparse.Namespace, session: Session, written: Written, superseded: str) -> None:
    stored = written.stored
    trust = _standing(session, written)
    if arguments.json:
        session.console.json(
            {
                "id": stored.memory.id,
                "path": stored.path,
                "category": stored.memory.category,
                "scope": stored.store.scope,
                "trust": trust,
                "redacted": [found._asdict() for found in written.redacted],
                "created": written.created,
                "superseded": superseded,
            }
        )
        return
    session.console.line("%s %s" % ("saved" if written.created else "already stored as", stored.memory.id))
    session.console.line("  " + stored.path)
    if len(arguments.title) > MAX_TITLE:
        session.console.line("  the title was cut to %d characters" % MAX_TITLE)
    for rule, field in dict.fromkeys(written.redacted):
        session.console.line("  taken out of %s: %s" % (field, rule))
    if superseded:
        session.console.line("  %s is not recalled any more" % superseded)
    if trust != TRUSTED:
        session.console.line(
            "  it waits for the user's word and is not recalled until then: the user types"
            " `memory accept %s` in a terminal, or /memory:status" % _name(stored, session)
        )
