"""Commands that hooks start: `memory refresh`, `memory grade`, `memory propose` and `memory describe`."""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
from types import SimpleNamespace

from ...host.events import PROBLEM, id_field, log_event, path_field
from ...kernel.clock import Deadline, now
from ...kernel.context import Context
from ...kernel.files import is_draft, os_error_text
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
from ..after_change import prepare_counts
from ..command_context import CommandContext, CommandError, UsageError, needed_approval
from ..command_line import module_of, parse_arguments
from ..console import counted

DONE, FAILED = 0, 1
_TURN_ENDED = "Stop"
_MAX_GRADED, _MAX_PROPOSED = 1 << 20, 1 << 16  # bytes of a request
_PROPOSE_SECONDS = 120.0
_NOTE_DAYS = 1.0
_DAY = 86400
_SESSION_DAYS = 30
_INDEX_DAYS = 90  # an index that is deleted too early costs only the time to rebuild it
# Of the state folder, those with files of sessions, and the others in which a killed writer leaves drafts.
_SESSION_FOLDERS = (
    *("sessions", "grants", "clients", "handed-over", "tickets"),
    *(os.path.join("grading", name) for name in ("pulled", "ended")),
)
_OTHER_FOLDERS = ("", "trust", "guards", "judge", "notices", "index")


def _grade(arguments: argparse.Namespace, context: CommandContext) -> int:  # noqa: ARG001  (every command has this signature)
    """Judge the reply and record the result; a failure that disables the judge for the session is recorded as an event."""
    from ...kernel.judge.asking import Judge
    from ...replies.grading import DISABLING_FAILURES, GradeRequest, grade_reply, read_turn

    try:
        request = GradeRequest(sys.stdin.buffer.read(_MAX_GRADED))
    except ValueError:
        raise UsageError("expected a grade request of the Stop hook on standard input") from None
    settings, paths = context.settings, context.paths
    user, calls = read_turn(path_field(request.score["transcript"]))
    deadline = Deadline(settings.integer("scoring.judge.timeout_ms") / 1000)
    timed = Context(paths, settings, deadline, id_field(request.session))
    try:
        judge = Judge("scoring", timed, off=context.taint.why_off)
        failure = grade_reply(request, user, calls, judge, timed)
    except OSError as error:
        log_event(paths, timed.session, _TURN_ENDED, PROBLEM, str(error))
        return FAILED
    if failure in DISABLING_FAILURES:
        text = "replies of this session are no longer judged: %s; see: memory judge check" % failure
        log_event(paths, timed.session, _TURN_ENDED, "judge", text)
    return FAILED if failure else DONE


def _propose(arguments: argparse.Namespace, context: CommandContext) -> int:  # noqa: ARG001  (every command has this signature)
    """Store the candidates in the state folder; a failure is recorded in the events ledger."""
    from ...capture.pipeline import capture_session, capture_turn
    from ...work.candidate_check import check_for, keep_other_candidates, may_use, section_watch

    try:
        request = json.loads(sys.stdin.buffer.read(_MAX_PROPOSED))
        transcript, session = path_field(request["transcript"]), id_field(request["session"])
        event = id_field(request["event"])
    except (ValueError, KeyError, TypeError):
        raise UsageError("expected a request of a hook on standard input") from None
    if context.settings.text("capture.mode") == "off":
        return DONE
    timed = Context(context.paths, context.settings, Deadline(_PROPOSE_SECONDS), session)
    try:
        if event == _TURN_ENDED:
            capture_turn(transcript, may_use, check_for(timed), timed)
        else:
            capture_session(transcript, may_use, check_for(timed), timed, section_watch(timed))
            keep_other_candidates(timed, _NOTE_DAYS)
    except OSError as error:
        log_event(context.paths, session, event, PROBLEM, "nothing was captured: %s" % os_error_text(error))
        return FAILED
    return DONE


def _take_words(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `describe`."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="WORD", help="the command")


def _describe(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Print the action, the digests of its texts, and the project; an empty object if no approval is needed."""
    described = parse_arguments(arguments.words)
    approval = needed_approval(module_of(described.command), described, context)
    record: dict[str, object] = {}
    if approval is not None:
        project = context.paths.project_key
        record = {"action": approval.action, "texts": sorted(approval.texts), "project": project}
    context.console.json(record)


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
    "grade": SimpleNamespace(
        HELP="judge one reply, given by the Stop hook on standard input (used by the plugin itself)",
        EXAMPLES="  memory grade < request.json\n",
        run=_grade,
    ),
    "propose": SimpleNamespace(
        HELP="find what may be worth keeping in a session (used by the plugin itself)",
        EXAMPLES="  memory propose < request.json\n",
        run=_propose,
    ),
    "describe": SimpleNamespace(
        HELP="print what a command needs the user's approval for",
        EXAMPLES="  memory describe accept --all\n",
        configure=_take_words,
        run=_describe,
    ),
}
