"""Clean up the state folder: old session state, temporary files of killed writers, and indexes of projects that are gone."""

from __future__ import annotations

import os

from ..kernel.clock import now
from ..kernel.files import is_draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..kernel.paths import Paths

_DAY = 86400
_SESSION_DAYS = 30
_INDEX_DAYS = 90  # an index that is deleted too early costs only the time to rebuild it
_LEFTOVER_FOLDERS = ("", "trust", "guards", "judge", "sessions", "notices", "clients", "index")
_SESSION_FOLDERS = (
    "sessions",
    "grants",
    "clients",
    "handed-over",
    "tickets",
    os.path.join("grading", "pulled"),
    os.path.join("grading", "ended"),
)


def prune_state(paths: Paths) -> int:
    """Delete session state unchanged for 30 days and temporary files of killed writers; return the number of deleted files."""
    deleted = delete_leftovers(paths)
    oldest = now() - _SESSION_DAYS * _DAY
    for name in _SESSION_FOLDERS:
        try:
            entries = list(os.scandir(paths.state(name)))
        except OSError:
            continue
        for entry in entries:
            try:
                if (
                    entry.is_file(follow_symlinks=False)
                    and entry.stat(follow_symlinks=False).st_mtime < oldest
                ):
                    os.unlink(entry.path)
                    deleted += 1
            except OSError:
                continue
    return deleted


def delete_leftovers(paths: Paths) -> int:
    """Delete drafts older than a day and indexes unchanged for 90 days, except this project's; return the number of deleted files."""
    if paths.state_dir is None:
        return 0
    folders = [paths.state(name) if name else paths.state_dir for name in _LEFTOVER_FOLDERS]
    deleted = 0
    for folder in [*folders, paths.config_dir or ""]:
        for path, days in _leftovers(folder, paths.project_key):
            deleted += _delete_if_older(path, days)
    return deleted


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
