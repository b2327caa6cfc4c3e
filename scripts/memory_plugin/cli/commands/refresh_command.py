"""`memory refresh`: refresh the index, delete memories that were forgotten long ago, and prune session state."""

from __future__ import annotations

import argparse
import os
import stat

from ...kernel.clock import now
from ...kernel.files import is_draft
from ...kernel.paths import Paths
from ...memories import InvalidMemory
from ...memories.lifecycle import remove_expired_retired
from ...memories.memory_files import stores, why_not_read
from ...memories.record import RETIRED
from ...memories.survey import read_item
from ...memories.trust import TRUSTED
from ...memories.writing import rebuild_index_md
from ...recall.index_file import DAMAGED, INDEX_ERRORS, LOCKED, UNWRITABLE, failure_reason
from ...recall.index_refresh import refresh_index
from ...recall.store_refresh import RefreshReport
from ..after_change import prepare_counts
from ..command_context import CommandContext, CommandError
from ..console import counted

HELP = "refresh the index, and delete memories that were forgotten long ago"
EXAMPLES = """\
  memory refresh
  memory refresh --root ~/shop --json
"""
_KEYS = (
    "read",
    "dropped",
    "regraded",
    "unreadable",
    "left",
    "problem",
)  # of a report, in the output for programs
_ADVICE = {
    LOCKED: "another process is writing it; try again later",
    UNWRITABLE: "free disk space or make the state folder writable, then try again",
    DAMAGED: "delete the file, then try again",
}

_DAY = 86400
_SESSION_DAYS = 30
_INDEX_DAYS = 90  # an index that is deleted too early costs only the time to rebuild it
# Of the state folder, those with files of sessions, and the others in which a killed writer leaves drafts.
_SESSION_FOLDERS = (
    *("sessions", "grants", "clients", "handed-over", "tickets"),
    *(os.path.join("grading", name) for name in ("pulled", "ended")),
)
_OTHER_FOLDERS = ("", "trust", "guards", "judge", "notices", "index")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Refresh the index, delete memories that were retired long ago, and prune old session state."""
    report = _refreshed(context)
    deleted, problems = _tidy_stores(context)
    pruned = prune_state(context.paths)
    prepare_counts(context)
    if arguments.json:
        context.console.json({**dict(zip(_KEYS, report)), "deleted": deleted, "pruned": pruned})
    else:
        read, dropped, reflagged, unreadable = report[:4]
        text = "%s read, %d removed, %d with new trust, %s"
        counts = counted(read, "memory"), dropped, reflagged, counted(unreadable, "unreadable file")
        context.console.line(text % counts)
        if report.remaining:
            context.console.line("%s left; run it again to continue" % counted(report.remaining, "file"))
        if deleted:
            context.console.line("deleted, because they were forgotten long ago: " + ", ".join(deleted))
    for problem in problems:
        context.console.error(problem)
    return 1 if problems else 0


def _refreshed(context: CommandContext) -> RefreshReport:
    """Refresh the index. Raises CommandError with advice for a full disk, a lock or a damaged file."""
    try:
        return refresh_index(context.paths, context.settings)
    except INDEX_ERRORS as error:
        reason = failure_reason(error)
        if reason not in _ADVICE:
            raise
        raise CommandError("the index could not be refreshed: %s; %s" % (error, _ADVICE[reason])) from None


def _tidy_stores(context: CommandContext) -> tuple[list[str], list[str]]:
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
