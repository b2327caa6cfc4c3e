"""`memory refresh`: bring the index up to date with the stores, and delete what is no longer needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...hooks.session_events import prune_state
from ...memories import catalog
from ...memories.files import why_left_alone
from ...memories.lifecycle import remove_expired_retired
from ...memories.stores import stores
from ...memories.trust import load_trust
from ...recall.index_refresh import refresh_index

if TYPE_CHECKING:
    import argparse

    from ..command_context import Session

HELP = "bring the index up to date with the stores, and delete what is no longer needed"
EXAMPLES = """\
  memory refresh
  memory refresh --root ~/shop --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Refresh the index, delete what was retired long ago, and prune old session state."""
    report = refresh_index(session.places, session.settings)
    deleted, troubles = _tidy_stores(session)
    pruned = prune_state(session.places)
    if arguments.json:
        session.console.json({**report._asdict(), "deleted": deleted, "pruned": pruned})
    else:
        text = "%d memories read, %d dropped, %d regraded, %d files are no memories"
        session.console.line(text % report[:4])
        if report.left:
            session.console.line("%d files are left; run it again to go on" % report.left)
        if deleted:
            session.console.line("deleted for good, retired long ago: " + ", ".join(deleted))
    for trouble in troubles:
        session.console.error(trouble)
    return 1 if troubles else 0


def _tidy_stores(session: Session) -> tuple[list[str], list[str]]:
    """What was deleted for good, and what could not be tidied; one store that cannot be written keeps no other from it."""
    deleted: list[str] = []
    troubles: list[str] = []
    for store in stores(session.places):
        if why_left_alone(store):
            continue
        try:
            deleted += remove_expired_retired(
                session.places, store, session.settings.integer("memories.grace_period_days")
            )
            if load_trust(session.places, store).mine and store.worktree is not None:
                catalog.rebuild(store)
        except OSError as error:
            troubles.append("%s: not tidied: %s" % (store.root, error))
    return deleted, troubles
