"""`memory refresh`: bring the index up to date, and delete what was forgotten long ago."""

from __future__ import annotations

import argparse

from ...kernel.text.clean import counted
from ...recall.index_file import INDEX_ERRORS
from ...recall.index_refresh import refresh_index
from ...work.past_sessions import update_index
from ...work.refresh import prepare_counts, prune_state, tidy_stores
from ..command_context import CommandContext, CommandError

HELP = "refresh the index, and delete memories that were forgotten long ago"
EXAMPLES = "  memory refresh\n  memory refresh --root ~/shop --json\n"


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Refresh the index, delete memories that were retired long ago, and prune old session state."""
    try:
        report = refresh_index(context.paths, context.settings)
    except INDEX_ERRORS as error:
        raise CommandError("the index could not be refreshed: %s; try again later" % error) from None
    deleted, problems = tidy_stores(context)
    problems += update_index(context)
    pruned = prune_state(context.paths)
    prepare_counts(context)
    numbers = counted(report.read, "memory"), report.dropped, report.reflagged
    lines = [
        "%s read, %d removed, %d with new trust, " % numbers + counted(report.unreadable, "unreadable file")
    ]
    if report.remaining:
        lines.append("%s left; run it again to continue" % counted(report.remaining, "file"))
    if deleted:
        lines.append("deleted, because they were forgotten long ago: " + ", ".join(deleted))
    record = {**report._asdict(), "deleted": deleted, "pruned": pruned}
    context.console.result(arguments.json, record, *lines)
    for problem in problems:
        context.console.error(problem)
    return 1 if problems else 0
