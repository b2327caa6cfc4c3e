"""After a command changed a store: the index is brought up to date, so that the very next prompt sees the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...hooks.background import start_refresh
from ...kernel.files import in_words
from ...kernel.sqlite import SqliteError
from ...recall.index_file import IndexUnavailable
from ...recall.index_refresh import refresh_index, scrub_index

if TYPE_CHECKING:
    from ..command_context import Session

__all__ = ["refresh"]


def refresh(session: Session, *, scrub: bool = False) -> bool:
    """Whether the index is up to date now; where not, the user is told: the change itself is stored, and a later prompt heals.

    With `scrub` no word of what was deleted is left in the index's file either.
    """
    try:
        report = refresh_index(session.places, session.settings, rounds=1)
        if scrub:
            scrub_index(session.places)
    except (IndexUnavailable, SqliteError, OSError) as error:
        session.console.error(
            "done, but the index is not up to date yet (%s); the next prompt sees to it" % in_words(error)
        )
        return False
    if report.left:
        start_refresh(session.places)
        session.console.error(
            "done; the index is still being brought up to date in the background: %d files are left"
            % report.left
        )
    return True
