"""Clearing away state that nobody needs any more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..kernel.clock import now

if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["prune_state"]

_DAYS = 30
_FOLDERS = (
    "sessions",
    "grants",
    "clients",
    os.path.join("grading", "pulled"),
    os.path.join("grading", "ended"),
)


def prune_state(places: Places) -> int:
    """Delete session state untouched for 30 days; how many files went."""
    gone = 0
    oldest = now() - _DAYS * 86400
    for name in _FOLDERS:
        try:
            entries = list(os.scandir(places.state(name)))
        except OSError:
            continue
        for entry in entries:
            try:
                if (
                    entry.is_file(follow_symlinks=False)
                    and entry.stat(follow_symlinks=False).st_mtime < oldest
                ):
                    os.unlink(entry.path)
                    gone += 1
            except OSError:
                continue
    return gone
