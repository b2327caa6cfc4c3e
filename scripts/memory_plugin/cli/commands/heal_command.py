"""`memory heal`: the index brought in line with the stores, and what has had its time cleared away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...hooks.upkeep import prune_state
from ...memories import catalog
from ...memories.files import why_left_alone
from ...memories.lifecycle import remove_expired_retired
from ...memories.stores import stores
from ...memories.trust import load_trust
from ...recall.healing import heal_now

if TYPE_CHECKING:
    import argparse

    from ..command_context import CommandContext

HELP = "bring the index in line with the stores, and clear away what has had its time"
EXAMPLES = """\
  memory heal
  memory heal --root ~/shop --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Heal the index, delete what was retired long ago, and prune old session state."""
    report = heal_now(context.places, context.settings)
    deleted, troubles = _tidy_stores(context)
    pruned = prune_state(context.places)
    if arguments.json:
        context.console.json({**report._asdict(), "deleted": deleted, "pruned": pruned})
    else:
        text = "%d memories read, %d dropped, %d regraded, %d files are no memories"
        context.console.line(text % report[:4])
        if report.left:
            context.console.line("%d files are left for the next run" % report.left)
        if deleted:
            context.console.line("deleted for good, retired long ago: " + ", ".join(deleted))
    for trouble in troubles:
        context.console.error(trouble)
    return 1 if troubles else 0


def _tidy_stores(context: CommandContext) -> tuple[list[str], list[str]]:
    """What was deleted for good, and what could not be tidied; one store that cannot be written keeps no other from it."""
    deleted: list[str] = []
    troubles: list[str] = []
    for store in stores(context.places):
        if why_left_alone(store):
            continue
        try:
            deleted += remove_expired_retired(
                context.places, store, context.settings.integer("memories.grace_period_days")
            )
            if load_trust(context.places, store).mine and store.worktree is not None:
                catalog.rebuild(store)
        except OSError as error:
            troubles.append("%s: not tidied: %s" % (store.root, error))
    return deleted, troubles
