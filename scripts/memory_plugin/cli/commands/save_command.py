"""`memory save`: store a memory, so that Claude sees it when a prompt is about it."""

from __future__ import annotations

import argparse

from ...memories.markdown import statement_category, title_for
from ...memories.record import MAX_TITLE, categories
from ...work.save import NewMemory, Saved, save
from .. import memory_input
from ..command_context import CommandContext, UsageError

HELP = "save a memory"
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

_TEXT = "what to remember, in one line; its first sentence becomes the title"
_BODY = "the text to remember; - reads standard input (UTF-8, at most 1 MB)"
_SUPERSEDES = "the memory that this one replaces; search still finds it, but Claude no longer sees it"
_CANDIDATE = "the suggestion from `memory capture` that becomes this memory"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help=_TEXT)
    memory_input.add_category(parser, "one of %s (default: guessed from the text)")
    parser.add_argument("--title", metavar="TEXT", help="one line, at most %d characters" % MAX_TITLE)
    parser.add_argument("--body", metavar="TEXT|-", help=_BODY)
    memory_input.add_scope(parser)
    parser.add_argument("--supersedes", metavar="ID", help=_SUPERSEDES)
    parser.add_argument("--candidate", metavar="ID", help=_CANDIDATE)
    memory_input.add_fields(parser)


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Store the memory; print its id, what was redacted, and whether it awaits approval."""
    _derive_options(arguments)
    memory_input.check_fields(arguments)
    new = new_memory(arguments, context)._replace(
        supersedes=arguments.supersedes or "", candidate=arguments.candidate or ""
    )
    print_saved(save(new, context), arguments, context)


def new_memory(arguments: argparse.Namespace, context: CommandContext) -> NewMemory:
    """Return what to save, as the common options set it. Raises InvalidMemory."""
    content = memory_input.content_of(arguments, categories()[arguments.category])
    guard = memory_input.guard_of(arguments, context.paths)
    optional = {"asked_as": arguments.asked_as, "guard": guard, "expires_at": arguments.expires}
    files = memory_input.project_files(arguments.files or [], context.paths)
    extra = {name: value for name, value in optional.items() if value}
    extra.update(tags=arguments.tags or [], related_files=files)
    return NewMemory(arguments.category, arguments.title, content, arguments.scope, extra)


def _derive_options(arguments: argparse.Namespace) -> None:
    """Derive missing options from the one-line form. Raises UsageError."""
    given = arguments.body is not None or arguments.content_json is not None
    if arguments.text is None and not given:
        raise UsageError('nothing to save. Try: memory save "what to remember"')
    if arguments.text is not None and given:
        raise UsageError("TEXT is the body; leave out --body and --content-json, or use --title, not TEXT")
    option, body = ("--body", arguments.body) if given else ("TEXT", arguments.text)
    if not given or (arguments.content_json is None and None in (arguments.title, arguments.category)):
        arguments.body = memory_input.text_of(body, option)
        arguments.title = title_for(arguments.body) if arguments.title is None else arguments.title
        arguments.category = arguments.category or statement_category(arguments.body)
    missing = " and --".join(name for name in ("category", "title") if getattr(arguments, name) is None)
    if missing:
        raise UsageError("expected --%s with --content-json" % missing)


def print_saved(saved: Saved, arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print what was stored, and tell the user what Claude saved."""
    for notice in saved.notices:
        context.console.error(notice)
    context.console.result(arguments.json, saved.record, *saved.lines)
    if saved.is_approved:
        context.report_saves([(saved.name, saved.title)])
