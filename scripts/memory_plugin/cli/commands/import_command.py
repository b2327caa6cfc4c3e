"""`memory import`: import notes, rule files, JSON, or another store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel.text.clean import plain
from ...memories.invalid_memory import InvalidMemory
from ...memories.lifecycle import save_all
from ...memories.stores import named_store
from ..after_change import refresh_index
from ..console import counted
from ..import_plan import LEFT_OUT, REPEATED, SAME_STORED, SKIPPED, gather, with_similar, would_store
from ..import_view import print_results
from ..memory_input import add_category, add_scope
from ..options import add_flag, require_existing

if TYPE_CHECKING:
    import argparse

    from ...memories.importing import Draft
    from ...memories.writing import Written
    from ..command_context import CommandContext

HELP = "import notes, rule files, JSON, or another store"
EXAMPLES = """\
  memory import docs/adr .cursor/rules --dry-run  one memory per record or rule; nothing is written yet
  memory import notes.jsonl --category runbook    {"title": "...", "body": "...", "tags": ["a"]} on each line
  memory import ../other-project/.claude/memory   a whole store
"""

DONE, FAILED = 0, 1
_MAX_REASON = 300


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="Markdown, .mdc, JSON or JSON Lines files; folders of them; or a store",
    )
    add_category(parser, "the category of entries that name none: %s")
    add_scope(parser)
    add_flag(parser, "--dry-run", "print what would be stored, without writing")
    add_flag(parser, "--all", "include short instruction files that Claude loads in every session anyway")
    add_flag(parser, "--yes", "in a terminal, store without confirmation")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Store everything that can be read, and list what cannot. The exit code is 1 if anything was skipped.

    In a terminal, the table is shown first and the user confirms.
    """
    require_existing(*arguments.paths)
    with context.console.working("reading"):
        plan = gather(arguments.paths, arguments.category or "", arguments.all, context, arguments.scope)
    drafts, dry = plan.drafts, arguments.dry_run
    asks = bool(drafts) and not (dry or arguments.yes or arguments.json) and context.console.can_prompt()
    if asks:
        print_results(_would_store(drafts, context) + plan.others, plan.offered, context)
        if not context.console.confirm("store %s?" % counted(len(drafts), "memory")):
            context.console.line("nothing was stored")
            return DONE
    approved = bool(drafts) and not dry and context.approve_saves(len(drafts))
    results = _would_store(drafts, context) if dry else _store(drafts, arguments.scope, context, approved)
    results += plan.others
    counts = _counts(results)
    if arguments.json:
        pending = bool(drafts) and (context.inside_client if dry else not approved)
        context.console.json({"dry_run": dry, "waits_for_user": pending, "items": results, **counts})
    else:
        if not asks:
            print_results(results, plan.offered, context)
        _print_summary(counts, len(results), dry, context, approved)
    return FAILED if counts["skipped"] else DONE


def _would_store(drafts: list[Draft], context: CommandContext) -> list[dict[str, Any]]:
    with context.console.working("comparing %s with the stored ones" % counted(len(drafts), "memory")):
        return would_store(drafts, context)


def _store(drafts: list[Draft], scope: str, context: CommandContext, approved: bool) -> list[dict[str, Any]]:
    if not drafts:
        return []
    store = named_store(context.paths, scope)
    with context.console.working("storing %s" % counted(len(drafts), "memory")):
        written = save_all(context.paths, store, (draft.data for draft in drafts), approved)
        refresh_index(context)
    if approved:
        kept = [result.stored.memory for result in written if not isinstance(result, InvalidMemory)]
        context.report_saves([(memory.id, memory.title) for memory in kept])
    results = [_stored(draft, result) for draft, result in zip(drafts, written)]
    new = {
        at: (result.stored.key, result.stored.memory)
        for at, result in enumerate(written)
        if not isinstance(result, InvalidMemory) and result.created
    }
    return with_similar(results, new, context)


def _stored(draft: Draft, result: Written | InvalidMemory) -> dict[str, Any]:
    if isinstance(result, InvalidMemory):
        return {"source": draft.source, "outcome": SKIPPED, "reason": plain(str(result), _MAX_REASON)}
    memory = result.stored.memory
    return {
        "source": draft.source,
        "outcome": "created" if result.created else SAME_STORED,
        "id": memory.id,
        "category": memory.category,
        "title": memory.title,
        "redacted": [redaction._asdict() for redaction in result.redacted],
    }


def _counts(results: list[dict[str, Any]]) -> dict[str, int]:
    outcomes = [result["outcome"] for result in results]
    names = ("created", SAME_STORED, SKIPPED, LEFT_OUT, REPEATED)
    return {name.replace(" ", "_"): outcomes.count(name) for name in names}


def _print_summary(
    counts: dict[str, int], number: int, dry: bool, context: CommandContext, approved: bool
) -> None:
    """Print the counts; `number` is that of all results, of which `_counts` counts some."""
    console, same, skipped = context.console, counts["same"], counts["skipped"]
    accepted = number - skipped - counts["left_out"] - counts["repeated"]
    if dry:
        new = counted(accepted - same, "memory")
        console.line("%s would be stored, %d already stored, %d skipped" % (new, same, skipped))
        return
    console.line("%d stored, %d already stored, %d skipped" % (counts["created"], same, skipped))
    if accepted and not approved:
        console.line(
            "They await approval and are not recalled until then: /memory:status, or memory accept --all in a terminal"
        )
