"""`memory restore`: a retired or archived memory is recalled again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...memories.lifecycle import restore
from ...memories.survey import choose, survey, unmistakable
from .memory_row import as_json, standing
from .refresh import refresh

if TYPE_CHECKING:
    import argparse

    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "bring a forgotten or archived memory back"
EXAMPLES = """\
  memory list --status retired
  memory restore use-mysql
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", metavar="ID", help="its id, or category/id")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Make it active; what the user forgot comes back on the user's word only."""
    item = choose(survey(session.places, session.accepts_pulls).items, arguments.id)
    written = restore(session.places, item.stored, session.has_word)
    refresh(session)
    items = survey(session.places, session.accepts_pulls).items
    after = choose(items, written.stored.key)
    if arguments.json:
        session.console.json(as_json(after))
    else:
        session.console.line("restored: %s (%s)" % (after.stored.memory.id, standing(after)))
        if after.waits:
            session.console.line(
                "  it waits for the user's word: memory accept %s" % unmistakable(items)[after.stored.key]
            )
    return 0
