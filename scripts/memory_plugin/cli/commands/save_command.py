"""`memory save`: store a memory, so that Claude sees it when a prompt touches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...memories.lifecycle import save, supersede
from ...memories.record import MAX_TITLE, InvalidMemory, body_content, categories, new_memory
from ...memories.stores import PROJECT, USER, named_store
from ...memories.supersession import older_names
from ...memories.survey import Item, choose, survey, unmistakable
from ...memories.trust import TRUSTED, load_trust
from ..after_change import refresh_index, similar_lines, similar_to
from ..command_context import UsageError
from ..memory_input import add_fields, check_fields, content_json, project_files, text_of, to_category

if TYPE_CHECKING:
    import argparse

    from ...memories.files import StoredMemory
    from ...memories.writing import Written
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "store a memory"
EXAMPLES = """\
  memory save --category decision --title "Postgres for billing" \\
      --body "Billing runs on Postgres 16, for its row locks." --tags billing,database --file src/billing/db.py
  memory save --category runbook --title "Roll back a release" --body - < steps.txt
  memory save --category decision --title "Sessions live in Redis" --body "Redis, 24 h expiry." --supersedes signed-cookies \\
      --context "Cookies of 6 KB broke the proxy." --asked-as "where are logins kept" --asked-as "why 431 errors"
  memory save --category preference --scope user --title "Tabs" --body "Indent with tabs." --asked-as "code style"
"""

DONE = 0


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
        "--body", metavar="TEXT|-", help="the text to remember; - reads standard input (UTF-8, at most 1 MB)"
    )
    parser.add_argument(
        "--scope",
        choices=(PROJECT, USER),
        default=PROJECT,
        help="this project (default), or all your projects",
    )
    parser.add_argument(
        "--supersedes",
        metavar="ID",
        help="the memory that this one replaces; from then on only search finds it",
    )
    add_fields(parser)


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Store the memory; print its path, what was redacted, and whether it awaits approval."""
    check_fields(arguments)
    if arguments.body is None and arguments.content_json is None:
        raise UsageError("expected --body or --content-json")
    items = survey(context.places, context.accepts_pulls).items
    old = None if arguments.supersedes is None else choose(items, arguments.supersedes)
    store = named_store(context.places, arguments.scope)
    written = save(context.places, store, _data(arguments, context, old), context.is_approved)
    replaced = _replace(context, old, written)
    refresh_index(context)
    _report(arguments, context, written, replaced)
    if old is not None and not replaced:
        context.console.error("%s is not replaced yet: the new memory awaits approval" % old.stored.memory.id)
    return DONE


def _replace(context: CommandContext, old: Item | None, written: Written) -> str:
    """Let the new memory replace an older one, if approved; return the id of the replaced one, or an empty text."""
    if old is None or not context.is_approved:
        return ""
    new = written.stored
    if new.key == old.stored.key:
        raise InvalidMemory(
            "--supersedes: %s is the same memory, which is already stored" % old.stored.memory.id
        )
    supersede(context.places, old, Item(new, TRUSTED, ""))
    return old.stored.memory.id


def _data(arguments: argparse.Namespace, context: CommandContext, old: Item | None) -> dict[str, Any]:
    category = categories()[arguments.category]
    content = content_json(arguments.content_json) if arguments.content_json is not None else {}
    if arguments.body is not None:
        content.update(body_content(category, text_of(arguments.body, "--body")))
    if arguments.context is not None:
        content["context"] = text_of(arguments.context, "--context").strip()
    extra: dict[str, Any] = {
        "tags": arguments.tags or [],
        "related_files": project_files(arguments.files or [], context.places),
    }
    if arguments.asked_as:
        extra["asked_as"] = arguments.asked_as
    if arguments.expires:
        extra["expires_at"] = arguments.expires
    if old is not None:
        new = "%s:%s/" % (arguments.scope, category.name)
        extra["supersedes"] = older_names(old.stored.key, old.stored.memory.supersedes, new)
    return new_memory(category, "", arguments.title, content, extra)


def _trust(context: CommandContext, written: Written) -> str:
    """Return the trust of what was written, as `list` will show it."""
    trust = load_trust(context.places, written.stored.store)
    return trust.review([written.stored], context.accepts_pulls)[written.stored.key]


def _name(stored: StoredMemory, context: CommandContext) -> str:
    items = survey(context.places, context.accepts_pulls).items
    return unmistakable(items)[stored.key]


def _report(
    arguments: argparse.Namespace, context: CommandContext, written: Written, superseded: str
) -> None:
    stored = written.stored
    trust = _trust(context, written)
    similar = similar_to(context, [(stored.key, stored.memory)])[0]
    name = _name(stored, context)
    missing = [] if stored.memory.asked_as else [_asked_as_missing(name)]
    if arguments.json:
        context.console.json(
            {
                "id": stored.memory.id,
                "path": stored.path,
                "category": stored.memory.category,
                "scope": stored.store.scope,
                "trust": trust,
                "redacted": [found._asdict() for found in written.redacted],
                "created": written.created,
                "superseded": superseded,
                "similar": [one._asdict() for one in similar],
                "missing": missing,
            }
        )
        return
    context.console.line("%s %s" % ("saved" if written.created else "already stored as", stored.memory.id))
    context.console.line("  " + stored.path)
    if len(arguments.title) > MAX_TITLE:
        context.console.line("  the title was cut to %d characters" % MAX_TITLE)
    for rule, field in dict.fromkeys(written.redacted):
        context.console.line("  redacted in %s: %s" % (field, rule))
    if superseded:
        context.console.line("  %s is no longer recalled" % superseded)
    for line in similar_lines(similar):
        context.console.line(line)
    for one in missing:
        context.console.line("  %s: %s" % (one["why"], one["command"]))
    if trust != TRUSTED:
        context.console.line(
            "  it awaits approval and is not recalled until then: the user types"
            " `memory accept %s` in a terminal, or /memory:status" % name
        )


def _asked_as_missing(name: str) -> dict[str, str]:
    """Return the advice for a memory without phrases, which match prompts that use other words."""
    return {
        "field": "asked_as",
        "why": "it has no phrases by which a prompt may ask for it; with two to five it is found far more often",
        "command": "memory edit %s --asked-as 'first phrase' --asked-as 'second phrase'" % name,
    }
