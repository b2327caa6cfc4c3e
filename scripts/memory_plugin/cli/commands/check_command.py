"""`memory check`: validate the memories of a repository; find secrets in stores and lines of text; add search phrases."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from contextlib import suppress

from ...kernel.hygiene import findings
from ...kernel.hygiene.rules import places
from ...kernel.text.clean import counted, plain, terminal_safe
from ...memories import InvalidMemory
from ...memories.hygiene import clean_data
from ...memories.memory_files import Store, all_memories, stores, why_not_read
from ...work.check import GONE, StoreFinding, check_store, secrets_in, store_around
from ..command_context import DONE, FAILED, Approval, CommandContext, Handler, UsageError
from ..options import add_flag, answer_lines, require_existing

_CHECK_TEXT = """\
validate a repository's memories (commit hooks, CI)
  memory check                            this project's store
  memory check .claude/memory/decisions/use-postgres.json    report only on these files
"""

_MAX_PATH = 500


def _configure_check(parser: ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="projects, stores, or files in a store")


def _check(arguments: Namespace, context: CommandContext) -> int:
    """Print each problem as `path:line: rule: text`. The exit code is 1 if there is any except `gone`, 2 for a path without a store."""
    require_existing(*arguments.paths)
    paths_by_store: dict[Store, list[str]] = {}
    for path in arguments.paths or [context.paths.project_root]:
        store = store_around(path)
        if store is not None:
            paths_by_store.setdefault(store, []).append(os.path.abspath(path))
        elif arguments.paths:
            text = "%s: no memory store (.claude/memory) in this folder or its parents"
            raise UsageError(text % plain(path, _MAX_PATH))
    number, wanted = 0, []
    for store, paths in paths_by_store.items():
        memories, found = check_store(store)
        number += memories
        wanted += [finding for finding in found if _is_wanted(finding, paths, store)]
    problems = counted(len(wanted), "problem") if wanted else "no problems"
    lines = [*map(_finding_line, wanted), "%s in %s" % (problems, counted(number, "memory"))]
    context.console.result({"memories": number, "findings": wanted}, *lines)
    return FAILED if any(finding.rule != GONE for finding in wanted) else DONE


def _is_wanted(finding: StoreFinding, paths: list[str], store: Store) -> bool:
    """Return whether one of the paths is the finding's file or contains it, or contains the whole store."""
    inner = store.root + os.sep, finding.path + os.sep
    return any(place.startswith(path + os.sep) for path in paths for place in inner)


def _finding_line(finding: StoreFinding) -> str:
    path = plain(finding.path.removeprefix(os.getcwd() + os.sep), _MAX_PATH)
    return str(finding._replace(path=path))


_TEXT_TEXT = """\
find secrets and personal data in lines of text
  memory check text --jsonl < lines.jsonl                    {"id": 1, "text": "..."} in, {"id": 1, "findings": [...]} out
  memory check text --jsonl --place judge < lines.jsonl      what would be redacted before a judge sees it
"""


def _configure_text(parser: ArgumentParser) -> None:
    add_flag(parser, "--jsonl", "lines {id, text} on standard input, the one form that it reads")
    text = "where the text is going, which decides what is redacted (default: memory)"
    parser.add_argument("--place", default="memory", choices=sorted(places()), help=text)


def _check_text(arguments: Namespace, context: CommandContext) -> int:
    """Print `{id, findings}` for each line `{id, text}`, never the matched values. The exit code is 1 if a line has no text."""

    def found(row: Mapping[str, object], text: str) -> dict[str, object]:
        records = [one._asdict() for one in findings(text, None, arguments.place)]
        return {"id": row.get("id"), "findings": records}

    return answer_lines("text", found, context.console)


_SECRETS_TEXT = """\
find secrets in this project's store and your own
  memory check secrets
  memory check secrets --fix        redacts the findings
"""


def _configure_secrets(parser: ArgumentParser) -> None:
    add_flag(parser, "--fix", "redact the findings in the memories of the stores")


def _check_secrets(arguments: Namespace, context: CommandContext) -> int:
    """Print path, line and rule of each finding, never its value. The exit code is 1 if anything is found."""
    readable = [store for store in stores(context.paths) if not why_not_read(store)]
    fixed = _fix(readable, context) if arguments.fix else []
    found = list(secrets_in(store.root for store in readable))
    summary = counted(len(found), "finding") if found else "nothing found"
    lines = ["fixed: " + plain(path, _MAX_PATH) for path in fixed]
    context.console.result({"findings": found, "fixed": fixed}, *lines, *map(_finding_line, found), summary)
    return FAILED if found else DONE


def _fix(readable: list[Store], context: CommandContext) -> list[str]:
    """Redact the memories in their files and return the paths."""
    from ...memories.lifecycle import redact

    fixed = []
    for stored in [stored for store in readable for stored in all_memories(store)]:
        with suppress(InvalidMemory):
            if clean_data(stored.memory.data)[1]:
                redact(context.paths, stored)
                fixed.append(stored.path)
    if fixed:
        context.refresh_index()
    return fixed


_PHRASES_TEXT = """\
add search phrases to memories that have none
  memory check phrases                    lists the memories without search phrases
  memory check phrases --json             the first 20 with their text, to write phrases for them
  memory check phrases - < new.txt        stores phrases: lines `memory: ID`, each with `asked_as: PHRASE; PHRASE` below it
  memory check phrases --judge            a judge writes them; shows the price first
"""
_LEFT = "%s without search phrases"
_ADVICE = "  To add some: /memory:phrases in Claude Code; in a terminal: memory edit ID --asked-as 'a phrase'"


def _configure_phrases(parser: ArgumentParser) -> None:
    parser.add_argument("input", nargs="?", choices=["-"], metavar="-", help="phrases on standard input")
    add_flag(parser, "--judge", "ask the recall judge for phrases (to turn it on: memory judge on)")
    add_flag(parser, "--yes", "with --judge: accept the price")


def _approve_phrases(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return what asking a judge costs; None for phrases that Claude writes."""
    if not arguments.judge:
        return None
    from ...work.search_phrases import phrases_request, without_own_phrases

    return Approval(phrases_request(without_own_phrases(context), context).price + "?")


def _check_phrases(arguments: Namespace, context: CommandContext) -> None:
    """List the memories without phrases, or store phrases for them."""
    from ...work import search_phrases as phrases
    from ..memory_input import text_of

    due = phrases.without_own_phrases(context)
    if arguments.judge:
        request = phrases.phrases_request(due, context)
        context.accept_price(request.price, arguments.yes)
        with context.console.working("asking %s" % terminal_safe(request.judge.model)):
            rows, failures = request.ask(context)
        for failure in failures:
            context.console.error(failure)
    elif arguments.input:
        rows = phrases.decoded_rows(text_of("-", "phrases"))
    else:
        batch = phrases.texts_of(due)[: phrases.BATCH]
        lines = ["  %s  %s" % (row["id"], row["title"]) for row in batch]
        lines += [_LEFT % counted(len(due), "memory"), *([_ADVICE] if due else [])]
        context.console.result({"memories": batch, "left": len(due) - len(batch)}, *lines)
        return
    stored, refused = phrases.store_phrases(rows, due, context)
    if stored:
        context.refresh_index()
        context.notify([phrases.NOTICE % counted(len(stored), "memory")])
    lines = ["%s: %s" % (name, "; ".join(texts)) for name, texts in stored.items()]
    lines += ["%s: refused: %s" % (row["id"], row["reason"]) for row in refused]
    rows = [{"id": name, "asked_as": texts} for name, texts in stored.items()]
    record = {"stored": rows, "refused": refused, "left": len(due)}
    context.console.result(record, *lines, _LEFT % counted(len(due), "memory"))


HANDLERS = {
    "check": Handler(_CHECK_TEXT, _check, _configure_check),
    "check text": Handler(_TEXT_TEXT, _check_text, _configure_text),
    "check secrets": Handler(_SECRETS_TEXT, _check_secrets, _configure_secrets),
    "check phrases": Handler(_PHRASES_TEXT, _check_phrases, _configure_phrases, _approve_phrases),
}
