"""`memory heal`: the index brought in line with the stores, and what has had its time cleared away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...memories import catalog
from ...memories.files import why_left_alone
from ...memories.lifecycle import remove_expired_retired
from ...memories.stores import stores
from ...memories.trust import load_trust
from ...recall.healing import heal_now
from ..upkeep import prune_state

if TYPE_CHECKING:
    import argparse

    from ..session_context import Session

HELP = "bring the index in line with the stores, and clear away what has had its time"
EXAMPLES = """\
  memory heal
  memory heal --root ~/work/shop --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Heal, delete what was retired long ago, and prune old session state."""
    places, settings = session.places, session.settings
    gone = []
    for store in stores(places):
        if not why_left_alone(store):
            gone += remove_expired_retired(places, store, settings.integer("memories.grace_period_days"))
            if load_trust(places, store).mine and store.worktree is not None:
                catalog.rebuild(store)
    report = heal_now(places, settings)
    pruned = prune_state(places)
    if arguments.json:
        session.console.json({**report._asdict(), "deleted": gone, "pruned": pruned})
    else:
        text = "%d memories read, %d dropped, %d regraded, %d files are no memories"
        session.console.line(text % report)
        if gone:
            session.console.line("deleted for good, retired long ago: " + ", ".join(gone))
    return 0
