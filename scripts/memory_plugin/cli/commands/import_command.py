"""`memory import`: store what notes, JSON files or another store contain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel.text.clean import plain
from ...memories.hygiene import clean_data
from ...memories.importing import Draft, read
from ...memories.lifecycle import save_all
from ...memories.record import InvalidMemory, categories, parse_memory
from ...memories.stores import PROJECT, USER, named_store
from ..after_change import refresh_index, similar_to
from ..command_context import require_existing
from ..console import counted
from ..memory_input import to_category

if TYPE_CHECKING:
    import argparse

    from ...memories.record import Memory
    from ...memories.writing import Written
from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "store what notes, JSON files or another store contain"
EXAMPLES = """\
  memory import CLAUDE.md docs/adr --dry-run      one memory per section; nothing is written yet
  memory import notes.jsonl --category runbook    {"title": "...", "body": "...", "tags": ["a"]} on each line
  memory import ../other-project/.claude/memory   a whole store
"""

DONE, FAILED = 0, 1
_MAX_REASON = 300


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="Markdown, JSON or JSON lines; a folder of them; a store"
    )
    parser.add_argument(
        "--category",
        type=to_category,
        metavar="NAME",
        help="for entries that name none: " + ", ".join(categories()),
    )
    parser.add_argument(
        "--scope",
        choices=(PROJECT, USER),
        default=PROJECT,
        help="this project (default), or all your projects",
    )
    parser.add_argument("--dry-run", action="store_true", help="only print what would be stored")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Store everything that can be read, and list the rest. The exit code is 1 if anything was skipped."""
    require_existing(*arguments.paths)
    drafts: list[Draft] = []
    skipped: list[tuple[str, str]] = []
    for path in arguments.paths:
        reading = read(path, arguments.category or "")
        drafts += reading.drafts
        skipped += reading.problems
    results = _would_store(drafts, context) if arguments.dry_run else _store(drafts, arguments.scope, context)
    results += [
        {"source": source, "outcome": "skipped", "reason": plain(why, _MAX_REASON)} for source, why in skipped
    ]
    if arguments.json:
        pending = bool(drafts) and not context.is_approved
        context.console.json(
            {"dry_run": arguments.dry_run, "waits_for_user": pending, "items": results, **_counts(results)}
        )
    else:
        _print(results, arguments, context)
    return FAILED if _counts(results)["skipped"] else DONE


def _store(drafts: list[Draft], scope: str, context: CommandContext) -> list[dict[str, Any]]:
    if not drafts:
        return []
    store = named_store(context.places, scope)
    written = save_all(context.places, store, (draft.data for draft in drafts), context.is_approved)
    refresh_index(context)
    results = [_stored(draft, one) for draft, one in zip(drafts, written)]
    new = {
        at: (one.stored.key, one.stored.memory)
        for at, one in enumerate(written)
        if not isinstance(one, InvalidMemory) and one.created
    }
    return _with_similar(results, new, context)


def _with_similar(
    results: list[dict[str, Any]], new: dict[int, tuple[str, Memory]], context: CommandContext
) -> list[dict[str, Any]]:
    """Add to the results of the new memories, by their indexes, the stored ones that say the same."""
    for at, similar in zip(new, similar_to(context, list(new.values()), repeated_only=True)):
        results[at]["similar"] = [one._asdict() for one in similar]
    return results


def _stored(draft: Draft, result: Written | InvalidMemory) -> dict[str, Any]:
    if isinstance(result, InvalidMemory):
        return {"source": draft.source, "outcome": "skipped", "reason": plain(str(result), _MAX_REASON)}
    memory = result.stored.memory
    return {
        "source": draft.source,
        "outcome": "created" if result.created else "same",
        "id": memory.id,
        "category": memory.category,
        "title": memory.title,
        "redacted": [found._asdict() for found in result.redacted],
    }


def _would_store(drafts: list[Draft], context: CommandContext) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    new: dict[int, tuple[str, Memory]] = {}
    for draft in drafts:
        try:
            data, redacted = clean_data(draft.data)
            memory = parse_memory(data, "draft", categories()[data["category"]])
        except InvalidMemory as error:
            reason = plain(str(error), _MAX_REASON)
            results.append({"source": draft.source, "outcome": "skipped", "reason": reason})
            continue
        new[len(results)] = ("draft", memory)
        results.append(
            {
                "source": draft.source,
                "outcome": "would be stored",
                "category": data["category"],
                "title": data["title"],
                "redacted": [found._asdict() for found in redacted],
            }
        )
    return _with_similar(results, new, context)


def _counts(results: list[dict[str, Any]]) -> dict[str, int]:
    outcomes = [result["outcome"] for result in results]
    return {name: outcomes.count(name) for name in ("created", "same", "skipped")}


def _print(results: list[dict[str, Any]], arguments: argparse.Namespace, context: CommandContext) -> None:
    console = context.console
    kept = [result for result in results if result["outcome"] != "skipped"]
    if kept:
        console.table(
            ("OUTCOME", "CATEGORY", "TITLE", "FROM"),
            [[result["outcome"], result["category"], result["title"], result["source"]] for result in kept],
        )
    for result in results:
        if result["outcome"] == "skipped":
            console.error("%s: skipped: %s" % (result["source"], result["reason"]))
        for found in result.get("redacted", ()):
            console.line("redacted in %s, %s: %s" % (result["source"], found["field"], found["rule"]))
        for one in result.get("similar", ()):
            console.line(
                "%s, from %s: %s: %s  %s"
                % (result["title"], result["source"], one["why"], one["id"], one["title"])
            )
            if one["command"]:
                console.line("  if the new one replaces it: " + one["command"])
    if arguments.dry_run:
        console.line(
            "%s would be stored, %d skipped" % (counted(len(kept), "memory"), len(results) - len(kept))
        )
    else:
        console.line("%(created)d stored, %(same)d already stored, %(skipped)d skipped" % _counts(results))
    if kept and not arguments.dry_run and not context.is_approved:
        console.line(
            "they await approval and are not recalled until then: /memory:status, or memory accept --all in a terminal"
        )
