"""`memory restore`: a retired, archived or superseded memory is recalled again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...memories.lifecycle import restore, unsupersede
from ...memories.survey import SUPERSEDED, choose, life, naming, survey, unmistakable
from .memory_row import as_json, standing
from .refresh import refresh

if TYPE_CHECKING:
    import argparse

    from ..command_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "bring a forgotten, archived or superseded memory back"
EXAMPLES = """\
  memory list --status retired
  memory restore use-mysql
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="its id, or category/id")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Make it active; what the user forgot comes back on the user's word only."""
    before = survey(session.places, session.accepts_pulls).items
    item = choose(before, arguments.id)
    if life(item) == SUPERSEDED:
        stored = unsupersede(session.places, item.stored, naming(before, item), session.has_word)
    else:
        stored = restore(session.places, item.stored, session.has_word).stored
    refresh(session)
    items = survey(session.places, session.accepts_pulls).items
    after = choose(items, stored.key)
    if arguments.json:
        session.console.json(as_json(after))
    else:
        session.console.line("restored: %s (%s)" % (after.stored.memory.id, standing(after)))
        if after.waits:
            session.console.line(
                "  it waits for the user's word: memory accept %s" % unmistakable(items)[after.stored.key]
            )
    return 0
