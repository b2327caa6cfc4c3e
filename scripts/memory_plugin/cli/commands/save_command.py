"""`memory save`: store a memory, so that Claude sees it when a prompt is about it."""

from __future__ import annotations

import argparse
from typing import Any

from ...memories import InvalidMemory
from ...memories.hygiene import shown_line
from ...memories.importing import statement_category
from ...memories.lifecycle import save, supersede
from ...memories.markdown import title_for
from ...memories.memory_files import named_store
from ...memories.record import MAX_TITLE, categories, new_memory
from ...memories.relations import older_names
from ...memories.survey import Item, choose, shortest_names
from ...memories.trust import TRUSTED, load_trust
from ...memories.writing import Written
from ...work.memory_facts import as_json, guard_as_json, is_guarded, may_trust, redaction_lines
from ...work.similar import similar_to
from ...work.titles import refuse_taken_title
from ..after_change import refresh_index, similar_lines
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
from ..memory_view import guard_lines

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
_SUPERSEDES = "the memory that this one replaces; search still finds it, but it is no longer recalled"
_CANDIDATE = "the candidate from `memory capture` that this memory is based on; it is then closed"
_PENDING = (
    "  It awaits approval and is not recalled until then: the user types"
    " `memory accept %s` in a terminal, or /memory:review in Claude Code"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help=_TEXT)
    add_category(parser, "one of %s (with TEXT, its form decides)")
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
    if arguments.body is None and arguments.content_json is None:
        raise UsageError("expected --body or --content-json")
    names = [] if arguments.supersedes is None else [arguments.supersedes]
    items = context.overview(names=names, title=shown_line(arguments.title, MAX_TITLE)).items
    old = None if arguments.supersedes is None else choose(items, arguments.supersedes)
    store = named_store(context.paths, arguments.scope)
    data = _data(arguments, context, old)
    refuse_taken_title(items, arguments.scope, data, old)
    guarded = "guard" in data or (old is not None and is_guarded(old.stored, context))
    approved = may_trust(context, guarded=guarded)
    written = save(context.paths, store, data, approved, only_new=context.only_new)
    if arguments.candidate and approved:
        from ...capture.candidate import CandidateFile  # most saves have no candidate

        CandidateFile(context.paths).change(lambda candidates: candidates.close([arguments.candidate]))
    replaced = _replace(context, old, written) if approved else ""
    refresh_index(context)
    name = _report(arguments, context, written, replaced)
    if approved:
        context.report_saves([(name, written.stored.memory.title)])
    if old is not None and not replaced:
        context.console.error("%s is not replaced yet: the new memory awaits approval" % old.stored.memory.id)


def _derive_options(arguments: argparse.Namespace) -> None:
    """Derive missing options from the one-line form. Raises UsageError."""
    text = arguments.text
    if text is None:
        missing = " and --".join(name for name in ("category", "title") if getattr(arguments, name) is None)
        if missing:
            raise UsageError('expected --%s, or the one-line form: memory save "..."' % missing)
        return
    if arguments.body is not None or arguments.content_json is not None:
        raise UsageError("TEXT is the body; leave out --body and --content-json, or use --title, not TEXT")
    text = arguments.body = text_of(text, "TEXT")
    arguments.title = title_for(text) if arguments.title is None else arguments.title
    arguments.category = arguments.category or statement_category(text)


def _replace(context: CommandContext, old: Item | None, written: Written) -> str:
    """Let the new memory supersede `old`, if given; return the id of the superseded memory, or ""."""
    if old is None:
        return ""
    new, identity = written.stored, old.stored.memory.id
    if new.key == old.stored.key:
        raise InvalidMemory("--supersedes: %s is the same memory, which is already stored" % identity)
    trust = load_trust(context.paths, context.accept_from).state_of(new)
    supersede(context.paths, old, Item(new, trust, ""))
    return identity


def _data(arguments: argparse.Namespace, context: CommandContext, old: Item | None) -> dict[str, Any]:
    category = categories()[arguments.category]
    optional = {
        "asked_as": arguments.asked_as,
        "guard": guard_of(arguments, context.paths),
        "expires_at": arguments.expires,
    }
    extra: dict[str, Any] = {name: value for name, value in optional.items() if value}
    extra["tags"] = arguments.tags or []
    extra["related_files"] = project_files(arguments.files or [], context.paths)
    if arguments.candidate:
        from ...work.candidate_check import find_candidate

        extra["source"] = find_candidate(context, arguments.candidate).source
    if old is not None:
        new = "%s:%s/" % (arguments.scope, category.name)
        extra["supersedes"] = older_names(old.stored.key, old.stored.memory.supersedes, new)
    return new_memory(category, "", arguments.title, content_of(arguments, category), extra)


def _report(arguments: argparse.Namespace, context: CommandContext, written: Written, superseded: str) -> str:
    """Print what was stored; return the memory's shortest unique name."""
    stored, memory = written.stored, written.stored.memory
    items = context.overview(is_current=True, names=[stored.key]).items
    item = choose(items, stored.key)
    similar = similar_to(context, [(stored.key, memory)])[0]
    name = shortest_names(items)[stored.key]
    record = {
        **as_json(item),
        "guard": guard_as_json(memory),
        "redacted": [redaction._asdict() for redaction in written.redacted],
        "created": written.created,
        "superseded": superseded,
        "similar": [row._asdict() for row in similar],
    }
    saved, known = "saved as {0}: {1}; to undo: memory forget {2}", "already stored as {2} ({0}): {1}"
    line = saved if written.created else known
    lines = [line.format(memory.category, shown_line(memory.title, _LONG_TITLE), name)]
    if len(arguments.title) > MAX_TITLE:
        lines.append("  The title was cut to %d characters." % MAX_TITLE)
    lines += ["  " + line for line in redaction_lines(written) + guard_lines(memory)]
    lines += ["  %s is no longer recalled" % superseded] if superseded else []
    lines += similar_lines(similar)
    lines += [] if item.trust == TRUSTED else [_PENDING % name]
    context.console.result(arguments.json, record, *lines)
    return name
