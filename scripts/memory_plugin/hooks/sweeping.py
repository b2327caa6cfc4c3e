"""Delete leftovers in the state folder: temporary files of killed writers, and indexes of projects that are gone."""

from __future__ import annotations

import os

from ..kernel.clock import now
from ..kernel.files import is_draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..kernel.paths import Places

__all__ = ["sweep"]

_DAY = 86400
_INDEX_DAYS = 90  # an index that is deleted too early is rebuilt, which costs only time
_FOLDERS = ("", "trust", "guards", "judge", "sessions", "notices", "clients", "index")


def sweep(places: Places) -> int:
    """Delete drafts older than a day and indexes unchanged for 90 days, except this project's; return the number of deleted files."""
    if places.state_dir is None:
        return 0
    folders = [places.state(name) if name else places.state_dir for name in _FOLDERS]
    swept = 0
    for folder in [*folders, places.config_dir or ""]:
        for path, days in _leftovers(folder, places.project_key):
            swept += _delete_if_older(path, days)
    return swept


def _leftovers(folder: str, project: str) -> Iterator[tuple[str, int]]:
    """Yield (path, days to keep it) for each leftover in a folder."""
    try:
        names = os.listdir(folder) if folder else []
    except OSError:
        return
    in_index = os.path.basename(folder) == "index"
    for name in names:
        if is_draft(name) or (in_index and name.endswith(".new")):
            yield os.path.join(folder, name), 1
        elif in_index and not name.startswith(project + "."):
            yield os.path.join(folder, name), _INDEX_DAYS


def _delete_if_older(path: str, days: int) -> int:
    try:
        status = os.lstat(path)
        if now() - status.st_mtime <= days * _DAY or os.path.isdir(path):
            return 0
        os.unlink(path)
    except OSError:
        return 0
    return 1
