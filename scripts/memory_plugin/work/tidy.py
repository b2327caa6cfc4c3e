"""Delete what is old: memories forgotten long ago, and files of past sessions."""

from __future__ import annotations

import os
import stat

from ..kernel.clock import now
from ..kernel.files import is_draft
from ..kernel.paths import Paths
from ..memories import InvalidMemory
from ..memories.lifecycle import remove_expired_retired
from ..memories.memory_files import stores, why_not_read
from ..memories.record import RETIRED
from ..memories.survey import read_item
from ..memories.trust import TRUSTED
from ..memories.writing import rebuild_index_md
from .context import WorkContext

_DAY = 86400
_SESSION_DAYS = 30
_INDEX_DAYS = 90  # an index that is deleted too early costs only the time to rebuild it
# Of the state folder, those with files of sessions, and the others in which a killed writer leaves drafts.
_SESSION_FOLDERS = (
    *("sessions", "grants", "clients", "handed-over", "tickets"),
    *(os.path.join("grading", name) for name in ("pulled", "ended")),
)
_OTHER_FOLDERS = ("", "trust", "guards", "judge", "notices", "index")


def tidy_stores(context: WorkContext) -> tuple[list[str], list[str]]:
    """Delete retired memories whose grace period is over and rebuild the catalogs; return the deleted files and the problems."""
    deleted: list[str] = []
    problems: list[str] = []
    items = context.overview(is_current=True).items
    for store in stores(context.paths):
        if why_not_read(store):
            continue
        own = [item for item in items if item.stored.store == store]
        retired = (read_item(item).stored for item in own if item.stored.memory.status == RETIRED)
        try:
            days = context.settings.integer("memories.grace_period_days")
            deleted += remove_expired_retired(context.paths, store, retired, days)
            if store.worktree is not None and any(item.trust == TRUSTED for item in own):
                rebuild_index_md(store, (item.stored for item in own if item.stored.path not in deleted))
        except (OSError, InvalidMemory) as error:
            problems.append("%s: not cleaned up: %s" % (store.root, error))
    return deleted, problems


def prune_state(paths: Paths) -> int:
    """Delete what is old in the state folder and drafts beside the user's settings; return the number of deleted files."""
    if paths.state_dir is None:
        return 0
    folders = [os.path.join(paths.state_dir, name) for name in (*_SESSION_FOLDERS, *_OTHER_FOLDERS)]
    deleted = 0
    for folder in [*folders, paths.config_dir or ""]:
        try:
            names = os.listdir(folder) if folder else []
        except OSError:
            continue
        for name in names:
            days = _days_kept(os.path.relpath(folder, paths.state_dir), name, paths.project_key)
            deleted += days is not None and _delete_if_older(os.path.join(folder, name), days)
    return deleted


def _days_kept(folder: str, name: str, project: str) -> int | None:
    """Return for how many days an unchanged file is kept; None forever. This project's index is."""
    if is_draft(name) or (folder == "index" and name.endswith(".new")):
        return 1
    if folder == "index":
        return None if name.startswith(project + ".") else _INDEX_DAYS
    return _SESSION_DAYS if folder in _SESSION_FOLDERS else None


def _delete_if_older(path: str, days: int) -> bool:
    try:
        status = os.lstat(path)
        if now() - status.st_mtime <= days * _DAY or not stat.S_ISREG(status.st_mode):
            return False
        os.unlink(path)
    except OSError:
        return False
    return True
