"""`memory save`: store a memory, so that Claude sees it when a prompt is about it."""

from __future__ import annotations

import argparse
from typing import Any

from ...memories.hygiene import shown_line
from ...memories.importing import statement_category
from ...memories.markdown import title_for
from ...memories.memory_files import PROJECT
from ...memories.record import MAX_TITLE, categories
from ...memories.trust import TRUSTED
from ...work.memory_facts import as_json, guard_as_json, is_personal, redaction_lines
from ...work.save import NewMemory, Saved, save
from ..command_context import CommandContext, UsageError
from ..memory_input import (
    add_category,
    add_fields,
    add_scope,
    check_fields,
    content_of,
    guard_of,
    project_files,
    text_of,
)
from ..memory_view import guard_lines, similar_lines

HELP = "store a memory"
EXAMPLES = """\
  memory save "Staging is reset every night at 03:00. Put test data into seeds/."
  memory save --category decision --title "Postgres for billing" \\
      --body "Billing runs on Postgres 16, for its row locks." --tags billing,database --file src/billing/db.py
  memory save --category runbook --title "Roll back a release" --body - < steps.txt
  memory save --category decision --title "Sessions live in Redis" --body "Redis, 24 h expiry." --supersedes signed-cookies \\
      --context "Cookies of 6 KB broke the proxy." --asked-as "where are logins kept" --asked-as "why 431 errors"
  memory save --category constraint --title "Never force-push main" --body "Others build on it; open a pull request." \\
      --guard-command "git push --force" --guard-action ask
  memory save --category preference --scope user --title "Tabs" --body "Indent with tabs." --asked-as "code style"
"""

_LONG_TITLE = 80
_TEXT = "what to remember, in one line; its first sentence becomes the title"
_BODY = "the text to remember; - reads standard input (UTF-8, at most 1 MB)"
_SUPERSEDES = "the memory that this one replaces; search still finds it, but Claude no longer sees it"
_CANDIDATE = "the suggestion from `memory capture` that becomes this memory"
_PENDING = "  Pending: Claude does not see it until you accept it. In Claude Code: /memory:review"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help=_TEXT)
    add_category(parser, "one of %s (default: guessed from the text)")
    parser.add_argument("--title", metavar="TEXT", help="one line, at most %d characters" % MAX_TITLE)
    parser.add_argument("--body", metavar="TEXT|-", help=_BODY)
    add_scope(parser)
    parser.add_argument("--supersedes", metavar="ID", help=_SUPERSEDES)
    parser.add_argument("--candidate", metavar="ID", help=_CANDIDATE)
    add_fields(parser)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Store the memory; print its id, what was redacted, and whether it awaits approval."""
    _derive_options(arguments)
    check_fields(arguments)
    content = content_of(arguments, categories()[arguments.category])
    new = new_memory(arguments, arguments.category, arguments.title, content, context)
    saved = save(
        new._replace(supersedes=arguments.supersedes or "", candidate=arguments.candidate or ""), context
    )
    print_saved(saved, arguments, context)


def new_memory(
    arguments: argparse.Namespace, category: str, title: str, content: dict[str, Any], context: CommandContext
) -> NewMemory:
    """Return what to save, with the fields that the common options set."""
    optional = {
        "asked_as": arguments.asked_as,
        "guard": guard_of(arguments, context.paths),
        "expires_at": arguments.expires,
    }
    extra: dict[str, Any] = {name: value for name, value in optional.items() if value}
    extra["tags"] = arguments.tags or []
    extra["related_files"] = project_files(arguments.files or [], context.paths)
    return NewMemory(category, title, content, arguments.scope, extra)


def _derive_options(arguments: argparse.Namespace) -> None:
    """Derive missing options from the one-line form. Raises UsageError."""
    text = arguments.text
    if text is None:
        if arguments.body is None and arguments.content_json is None:
            raise UsageError('nothing to save. Try: memory save "what to remember"')
        is_derived = arguments.title is None or arguments.category is None
        if is_derived and arguments.body is not None and arguments.content_json is None:
            text = arguments.body = text_of(arguments.body, "--body")
            arguments.title = title_for(text) if arguments.title is None else arguments.title
            arguments.category = arguments.category or statement_category(text)
        missing = " and --".join(name for name in ("category", "title") if getattr(arguments, name) is None)
        if missing:
            raise UsageError("expected --%s with --content-json" % missing)
        return
    if arguments.body is not None or arguments.content_json is not None:
        raise UsageError("TEXT is the body; leave out --body and --content-json, or use --title, not TEXT")
    text = arguments.body = text_of(text, "TEXT")
    arguments.title = title_for(text) if arguments.title is None else arguments.title
    arguments.category = arguments.category or statement_category(text)


def print_saved(saved: Saved, arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print what was stored, and tell the user what Claude saved."""
    context.report(saved.refreshed)
    memory, old = saved.written.stored.memory, saved.old
    record = {
        **as_json(saved.item),
        "guard": guard_as_json(memory),
        "redacted": [redaction._asdict() for redaction in saved.written.redacted],
        "created": saved.written.created,
        "superseded": saved.replaced,
        "similar": [row._asdict() for row in saved.similar],
    }
    line = "saved {0}: {1}" if saved.written.created else "already saved as {2} ({0}): {1}"
    lines = [line.format(memory.category, shown_line(memory.title, _LONG_TITLE), saved.name)]
    lines += ["undo: memory forget " + saved.name] if saved.written.created else []
    if len(arguments.title or "") > MAX_TITLE:
        lines.append("  The title was cut to %d characters." % MAX_TITLE)
    lines += ["  " + line for line in redaction_lines(saved.written) + guard_lines(memory)]
    lines += ["  %s is no longer shown" % saved.replaced] if saved.replaced else []
    lines += similar_lines(saved.similar)
    lines += [] if saved.item.trust == TRUSTED else [_PENDING, "next: memory accept " + saved.name]
    if arguments.scope == PROJECT and is_personal(memory.category, memory.title):
        lines.append("personal, not the team's? memory edit %s --scope user" % saved.name)
    context.console.result(arguments.json, record, *lines)
    if saved.is_approved:
        context.report_saves([(saved.name, memory.title)])
    elif old is not None:
        context.console.error("%s is not replaced yet: the new memory is pending" % old.stored.memory.id)
