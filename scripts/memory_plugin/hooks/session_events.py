"""SessionStart, SubagentStart, PreCompact and SessionEnd."""

from __future__ import annotations

import os

from ..kernel.context import Context, LedgerError
from ..kernel.files import os_error_text
from ..kernel.settings.load import load
from .events import PROBLEM, id_field, log_event, open_context, path_field
from .status_line import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Paths
    from ..kernel.settings.values import Settings
    from ..recall.answer import Answer
    from .environment import Taint

_START, _END, _COMPACTION, _SUBAGENT = "SessionStart", "SessionEnd", "PreCompact", "SubagentStart"
_EXPLORERS = ("Explore", "Plan")  # Claude Code's own sub-agents that change nothing
_OWN_AGENTS = "memory:"  # the start of the type of the plugin's sub-agents
_LINE_START = "memory: "
_CLEARS_CONTEXT = ("compact", "clear")  # sources
_STARTS_SESSION = ("startup", "resume")
_LANGFUSE = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "LANGFUSE_HOST", "LANGFUSE_BASE_URL")


def handle_start(
    payload: dict[str, object],
    paths: Paths,
    taint: Taint,  # noqa: ARG001  (every handler gets the same arguments)
    deadline: Deadline,
) -> dict[str, object] | None:
    """Give Claude the session catalog, tell the user what awaits approval, and refresh the index in the background.

    After a compaction or clear, the session's history is deleted first, so that everything may be injected again.
    """
    from ..replies.reply_state import tuning_reminder
    from .background import start_refresh

    if paths.state_dir is None:
        return None
    session = id_field(payload.get("session_id"))
    source = id_field(payload.get("source"))
    if source in _CLEARS_CONTEXT and session:
        _forget_history(paths, session)
    context = open_context(payload, paths, deadline)
    _refresh_status_script(paths, session)
    text, notice, receipt = _at_start(context, source)
    start_refresh(paths)
    damaged = _settings_notice(context.settings, payload)
    return _output(_START, text, [damaged, notice, _offer(context), tuning_reminder(paths), receipt])


def _offer(context: Context) -> str:
    """Return the line about memory candidates to review; without a capture folder, the usual case, nothing is imported."""
    if not os.path.isdir(context.paths.state("capture")):
        return ""
    from ..capture.offer import due_offer

    return due_offer(context)


def _at_start(context: Context, source: str) -> tuple[str, str, str]:
    """Return the text for Claude, the line about memories that await approval, and the receipt (empty unless the user wants receipts)."""
    from ..kernel.sqlite import SqliteError
    from ..recall.session_catalog import current_index, due_notice, is_catalog_on, session_catalog

    connection = current_index(context)
    notice, answer = "", None
    try:
        notice = due_notice(context.paths, connection)
        if connection is not None and is_catalog_on(context):
            answer = session_catalog(connection, source, context)
    except SqliteError as error:
        log_event(
            context.paths,
            context.session,
            _START,
            PROBLEM,
            "the index could not be read: %s" % os_error_text(error),
        )
    finally:
        if connection is not None:
            connection.close()
    return _record_answer(answer, _START, context), notice, _receipt(answer, context)


def handle_subagent(
    payload: dict[str, object],
    paths: Paths,
    taint: Taint,  # noqa: ARG001  (every handler gets the same arguments)
    deadline: Deadline,
) -> dict[str, object] | None:
    """Give a sub-agent the standing rules, unless it only explores or is one of the plugin's own, which have a fixed task."""
    kind = id_field(payload.get("agent_type"))
    if paths.state_dir is None or kind in _EXPLORERS or kind.startswith(_OWN_AGENTS):
        return None
    from ..kernel.sqlite import SqliteError
    from ..recall.session_catalog import current_index, is_catalog_on, subagent_rules

    context = open_context(payload, paths, deadline)
    connection = current_index(context) if is_catalog_on(context) else None
    if connection is None:
        return None
    try:
        answer = subagent_rules(connection, id_field(payload.get("agent_id")), context)
    except SqliteError as error:
        log_event(
            paths,
            context.session,
            _SUBAGENT,
            PROBLEM,
            "the index could not be read: %s" % os_error_text(error),
        )
        return None
    finally:
        connection.close()
    if answer is not None:
        answer.record.update(agent_type=kind, prompt_id=id_field(payload.get("prompt_id")))
    return _output(_SUBAGENT, _record_answer(answer, _SUBAGENT, context), [])


def _record_answer(answer: Answer | None, event: str, context: Context) -> str:
    """Append the decision to the ledger and return the text for Claude."""
    if answer is None:
        return ""
    try:
        context.append("recalls", dict(answer.record, ms=context.deadline.elapsed_ms()))
    except LedgerError as error:
        log_event(context.paths, context.session, event, PROBLEM, str(error))
    return answer.block


def _receipt(answer: Answer | None, context: Context) -> str:
    shows_all = context.settings.text("retrieval.receipt") == "all"
    return answer.receipt if answer is not None and shows_all else ""


def _output(event: str, context: str, lines: list[str]) -> dict[str, object] | None:
    """Return the hook's output; the user sees at most two lines, the second of which joins all but the first."""
    output: dict[str, object] = {}
    if context:
        output["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
    notices = [" ".join(line.split()) for line in lines if line]
    second = [line if at == 0 else line.removeprefix(_LINE_START) for at, line in enumerate(notices[1:])]
    if notices:
        output["systemMessage"] = "\n".join(filter(None, [notices[0], "; ".join(second)]))
    return output or None


def _settings_notice(settings: Settings, payload: dict[str, object]) -> str:
    """Return a line about recall that is off, or about settings without effect because they are invalid; usually empty."""
    if payload.get("source") not in _STARTS_SESSION:
        return ""
    if not settings.flag("retrieval.enabled"):
        return "memory: recall is off; to switch it on: memory config set retrieval.enabled true"
    unread = [problem.file for problem in settings.problems if problem.kind == "file"]
    if unread:
        from ..kernel.text.clean import terminal_safe

        return (
            "memory: %s cannot be read, so its settings have no effect; see: memory config check"
            % terminal_safe(unread[0])
        )
    own = [problem for problem in settings.problems if problem.kind != "refused"]
    if not own:
        return ""
    subject = "1 setting has" if len(own) == 1 else "%d settings have" % len(own)
    return "memory: %s no effect, because the value or the name is wrong; see: memory config check" % subject


def _refresh_status_script(paths: Paths, session: str) -> None:
    """Update the status line's script, because the plugin's folder changes with its version."""
    if not os.path.isdir(paths.state(FOLDER)):
        return
    from .status_line import refresh_script

    try:
        refresh_script(paths)
    except OSError as error:
        log_event(
            paths, session, _START, PROBLEM, "the status line was not refreshed: %s" % os_error_text(error)
        )


def _forget_history(paths: Paths, session: str) -> None:
    """Delete the history of a session whose context was compacted or cleared."""
    from ..interview.reminder import Reminder
    from ..recall.history import forget_session

    try:
        forget_session(paths, session)
        Reminder(paths, session).set_active(active=True)
    except OSError as error:
        log_event(
            paths,
            session,
            _START,
            PROBLEM,
            "the session's history was not deleted: %s" % os_error_text(error),
        )


def handle_end(
    payload: dict[str, object],
    paths: Paths,
    taint: Taint,
    deadline: Deadline,
) -> None:
    """Start background processes that search the session for memory candidates and, if switched on, grade it.

    The host gives all its hooks together 1.5 seconds.
    """
    transcript = path_field(payload.get("transcript_path"))
    if paths.state_dir is None or not transcript:
        return
    settings = load(paths.config_dir, paths.project_root)
    context = Context(paths, settings, deadline, id_field(payload.get("session_id")))
    _propose(_END, transcript, context)
    if taint.judges_off or settings.text("sessions.judge.when") != "ended":
        return
    from ..sessions.session_files import leave_note
    from .background import judge_variables, start

    session = id_field(payload.get("session_id"))
    try:
        leave_note(paths, session, transcript)
    except OSError as error:
        log_event(paths, session, _END, PROBLEM, "the session is not graded: %s" % os_error_text(error))
        return
    arguments = ["session", "ended", "--root", paths.project_root]
    if not start(arguments, b"", (*judge_variables(settings), *_LANGFUSE)):
        log_event(paths, session, _END, PROBLEM, "no process could be started to grade the session")


def handle_compaction(
    payload: dict[str, object],
    paths: Paths,
    taint: Taint,  # noqa: ARG001  (every handler gets the same arguments)
    deadline: Deadline,
) -> None:
    """Start the search for memory candidates in a session before the client summarizes it."""
    transcript = path_field(payload.get("transcript_path"))
    if paths.state_dir is None or not transcript:
        return
    settings = load(paths.config_dir, paths.project_root)
    session = id_field(payload.get("session_id"))
    _propose(_COMPACTION, transcript, Context(paths, settings, deadline, session))


def _propose(event: str, transcript: str, context: Context) -> None:
    """Start the search for memory candidates in a session, unless it is switched off or there is no transcript."""
    if not context.settings.flag("capture.enabled") or not os.path.isfile(transcript):
        return
    from .background import start_proposals

    if not start_proposals(event, transcript, context):
        log_event(
            context.paths,
            context.session,
            event,
            PROBLEM,
            "no process could be started to look for memory candidates",
        )
