"""Bring the index and the counts of the status line up to date after a change to a store."""

from __future__ import annotations

from typing import NamedTuple

from ..kernel.files import error_text
from ..kernel.sqlite import SqliteError
from ..kernel.text.counted import counted
from ..recall.index_file import IndexUnavailable
from ..recall.index_refresh import refresh_index, scrub_index
from .background import start_refresh
from .context import WorkContext
from .counts import prepare_counts

_FAILED = "The change is stored, but the index could not be refreshed (%s). The next prompt will try again."
_LEFT = "The change is stored. The index is still being refreshed in the background: %s left."


class Refreshed(NamedTuple):
    """Whether the index could be refreshed, and a sentence for the user if something is left to do; usually empty."""

    is_done: bool
    notice: str


def refresh(context: WorkContext, *, scrub: bool = False) -> Refreshed:
    """Refresh the index so that the next prompt sees the change, which is stored either way; a later prompt retries.

    With `scrub`, no text of deleted memories remains in the index file.
    """
    try:
        report = refresh_index(context.paths, context.settings, rounds=1, full=False)
        prepare_counts(context)
        if scrub:
            scrub_index(context.paths)
    except (IndexUnavailable, SqliteError, OSError) as error:
        return Refreshed(False, _FAILED % error_text(error))
    if not report.remaining:
        return Refreshed(True, "")
    start_refresh(context.paths)
    return Refreshed(True, _LEFT % counted(report.remaining, "file"))
