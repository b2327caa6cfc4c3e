"""Bring the index and the counts of the status line up to date after a change to a store."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from ..kernel.context import now
from ..kernel.files import error_text, is_draft
from ..kernel.paths import Paths, write_state
from ..kernel.sqlite import SqliteError
from ..kernel.text.clean import counted
from ..memories import InvalidMemory
from ..memories.lifecycle import remove_expired_retired
from ..memories.memory_files import stores, why_not_read
from ..memories.record import ACTIVE, RETIRED
from ..memories.survey import life_cycle_state, read_item
from ..memories.trust import TRUSTED
from ..memories.writing import index_md, rebuild_index_md
from ..recall.index_file import IndexUnavailable
from ..recall.index_refresh import refresh_index, scrub_index
from . import WorkContext
from .background import start_refresh
from .status_line import FOLDER, counts_path

_FAILED = "The change is stored, but the index could not be refreshed (%s). The next prompt will try again."
_LEFT = "The change is stored. The index is still being refreshed in the background: %s left."
_MAX_UPDATED = 256 << 10  # bytes of a list for people


def refresh(context: WorkContext, *, scrub: bool = False) -> str:
    """Refresh the index so that the next prompt sees the change, which is stored either way; a later prompt retries.

    Return a sentence for the user if something is left to do; usually empty.

    With `scrub`, no text of deleted memories remains in the index file.
    """
    try:
        _update_lists(context, always=scrub)
        report = refresh_index(context.paths, context.settings, rounds=1)
        prepare_counts(context)
        if scrub:
            scrub_index(context.paths)
    except (IndexUnavailable, SqliteError, OSError) as error:
        return _FAILED % error_text(error)
    if not report.remaining:
        return ""
    start_refresh(context.paths)
    return _LEFT % counted(report.remaining, "file")


def _update_lists(context: WorkContext, *, always: bool) -> None:
    """Rebuild the list of memories for people in each store that has one. Raises TrustUnreadable.

    A long one is left to `memory refresh`, unless the change must be seen at once (`always`). Without a list, nothing else is wrong. This
    comes before the refresh of the index, which would look again at the folder that a new list changes.
    """
    present = [store for store in stores(context.paths) if os.path.isfile(index_md(store))]
    due = [store for store in present if always or os.path.getsize(index_md(store)) <= _MAX_UPDATED]
    items = context.overview().items if due else []
    for store in due:
        with suppress(OSError):
            rebuild_index_md(store, (item.stored for item in items if item.stored.store == store))


def prepare_counts(context: WorkContext) -> None:
    """Write the counts of this project if the status line is installed. Raises OSError and TrustUnreadable."""
    paths = context.paths
    if paths.state_dir is None or not os.path.isdir(paths.state(FOLDER)):
        return
    write_state(counts_path(paths), current_counts(context))


def current_counts(context: WorkContext) -> dict[str, object]:
    """Return how many memories of this project are active and pending, and whether recall is on. Raises TrustUnreadable."""
    items = context.overview().items
    return {
        "memories": sum(life_cycle_state(item) == ACTIVE and item.trust == TRUSTED for item in items),
        "pending": sum(item.is_pending for item in items),
        "recall": context.settings.flag("retrieval.enabled"),
    }


_DAY = 86400
_SESSION_DAYS = 30
_INDEX_DAYS = 90  # an index that is deleted too early costs only the time to rebuild it
# Of the state folder, those with files that end with time, and the others in which a killed writer leaves drafts.
_SESSION_FOLDERS = (
    *("sessions", "grants", "clients", "handed-over", "tickets", "drafts"),
    os.path.join("grading", "pulled"),
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
        with suppress(OSError):
            for name in os.listdir(folder):
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
    with suppress(OSError):
        status = os.lstat(path)
        if now() - status.st_mtime > days * _DAY and stat.S_ISREG(status.st_mode):
            os.unlink(path)
            return True
    return False
