"""Commands that hooks start: `memory refresh`, `memory background` and `memory describe`."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from types import SimpleNamespace
from typing import Any

from ...host.background import MAX_INPUT
from ...kernel.clock import now
from ...kernel.fastjson import loads
from ...kernel.files import is_draft
from ...kernel.paths import Paths
from ...memories import InvalidMemory
from ...memories.lifecycle import remove_expired_retired
from ...memories.memory_files import stores, why_not_read
from ...memories.record import RETIRED
from ...memories.survey import read_item
from ...memories.trust import TRUSTED
from ...memories.writing import rebuild_index_md
from ...recall.index_file import INDEX_ERRORS
from ...recall.index_refresh import refresh_index
from ...work.afterward import Ended, run_steps
from ..after_change import prepare_counts
from ..command_context import CommandContext, CommandError, UsageError, needed_approval
from ..command_line import module_of, parse_arguments
from ..console import counted
from ..running import carry_out

DONE, FAILED = 0, 1
_DAY = 86400
_SESSION_DAYS = 30
_INDEX_DAYS = 90  # an index that is deleted too early costs only the time to rebuild it
# Of the state folder, those with files of sessions, and the others in which a killed writer leaves drafts.
_SESSION_FOLDERS = (
    *("sessions", "grants", "clients", "handed-over", "tickets"),
    *(os.path.join("grading", name) for name in ("pulled", "ended")),
)
_OTHER_FOLDERS = ("", "trust", "guards", "judge", "notices", "index")


def _background(arguments: argparse.Namespace, context: CommandContext) -> int:  # noqa: ARG001  (every command has this signature)
    """Run the steps that follow a reply or a session; what fails is in the events ledger."""
    try:
        ended = Ended.parse(sys.stdin.buffer.read(MAX_INPUT + 1))
    except ValueError:
        raise UsageError("expected a request of a hook on standard input") from None
    return FAILED if run_steps(ended, context, context.taint.why_off) else DONE


def _take_words(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `describe`."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="WORD", help="the command")


def _describe(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the question, the digests of its texts, and the project; an empty object if no approval is needed."""
    described = parse_arguments(arguments.words)
    approval = needed_approval(module_of(described.command), described, context)
    record: dict[str, object] = {}
    if approval is not None:
        project = context.paths.project_key
        record = {"question": approval.question, "texts": sorted(approval.texts), "project": project}
    context.console.json(record)


def _settle(arguments: argparse.Namespace, context: CommandContext) -> int:  # noqa: ARG001  (every command has this signature)
    """Carry out the commands that a hook passes, because the user allowed them; for Claude, that was done before this."""
    if context.inside_client:
        return DONE
    try:
        wishes: Any = loads(sys.stdin.buffer.read(MAX_INPUT + 1).decode("ascii"))
        return carry_out(wishes, context)
    except (ValueError, KeyError, TypeError):
        raise UsageError("expected the wishes of a hook on standard input") from None


def _refresh(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Refresh the index, delete memories that were retired long ago, and prune old session state."""
    try:
        report = refresh_index(context.paths, context.settings)
    except INDEX_ERRORS as error:
        raise CommandError("the index could not be refreshed: %s; try again later" % error) from None
    deleted, problems = _tidy_stores(context)
    pruned = prune_state(context.paths)
    prepare_counts(context)
    numbers = counted(report.read, "memory"), report.dropped, report.reflagged
    lines = [
        "%s read, %d removed, %d with new trust, " % numbers + counted(report.unreadable, "unreadable file")
    ]
    if report.remaining:
        lines.append("%s left; run it again to continue" % counted(report.remaining, "file"))
    if deleted:
        lines.append("deleted, because they were forgotten long ago: " + ", ".join(deleted))
    record = {**report._asdict(), "deleted": deleted, "pruned": pruned}
    context.console.result(arguments.json, record, *lines)
    for problem in problems:
        context.console.error(problem)
    return 1 if problems else 0


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


PARTS = {
    "refresh": SimpleNamespace(
        HELP="refresh the index, and delete memories that were forgotten long ago",
        EXAMPLES="  memory refresh\n  memory refresh --root ~/shop --json\n",
        run=_refresh,
    ),
    "background": SimpleNamespace(
        HELP="run what follows a reply or a session (used by the plugin itself)",
        EXAMPLES="  memory background < request.json\n",
        run=_background,
    ),
    "settle": SimpleNamespace(
        HELP="carry out what the user allowed in Claude Code's dialog (used by the plugin itself)",
        EXAMPLES="  memory settle\n",
        run=_settle,
    ),
    "describe": SimpleNamespace(
        HELP="print what a command needs the user's approval for",
        EXAMPLES="  memory describe accept --all\n",
        configure=_take_words,
        run=_describe,
    ),
}
