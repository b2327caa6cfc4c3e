"""SessionStart, SubagentStart, Stop, PreCompact and SessionEnd, after which background processes go on; and the client's status line."""

from __future__ import annotations

import os
import sys

from ..kernel.fastjson import as_object, as_text, digest, loads
from ..kernel.files import make_folder, open_to_read, os_error_text, write_problem
from ..kernel.paths import Paths, read_state, record_once, session_file
from ..work.status_line import FOLDER, refresh_script, status_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.settings import Settings
    from ..kernel.sqlite import Connection
    from .entry import Event

_EXPLORERS = ("Explore", "Plan")  # Claude Code's own sub-agents that change nothing
_OWN_AGENTS = "memory:"  # the start of the type of the plugin's sub-agents
_LINE_START = "memory: "
_CLEARS_CONTEXT = ("compact", "clear")  # sources
_RESUMES = "resume"
_STARTS_SESSION = ("startup", _RESUMES)
_MAX_INPUT = 1 << 20
_WAIT = 1.0  # seconds for the client to write the rows of its last calls
_LASTING_TASKS = ("shell", "monitor")  # may run for the rest of the session
_PENDING, _PHRASES = "pending", "phrases"  # names of what the user was told last
_MIN_WITHOUT_PHRASES, _OFFER_DAYS = 5, 7
_UNWRITABLE = "memory: nothing can be saved in the state folder (%s); see: memory doctor"
_LANGFUSE = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "LANGFUSE_HOST", "LANGFUSE_BASE_URL")


def handle_start(event: Event) -> dict[str, object] | None:
    """Give Claude the session catalog, tell the user what awaits approval, and refresh the index in the background.

    After a compaction or clear, the session's history is deleted first, so that everything may be injected again.
    """
    from ..replies import tuning_reminder
    from ..work.background import start_refresh

    source = event.field("source")
    why = _why_unusable(event.paths)
    if why:
        notice = "memory: Claude is shown nothing: " + why
        return event.output("", notice) if source in _STARTS_SESSION else None
    if source in _CLEARS_CONTEXT and event.session:
        _forget_history(event)
    _refresh_status_script(event)
    text, notice, receipt = _at_start(event, source)
    text = "\n\n".join(filter(None, (text, _past_sessions(event, source))))
    start_refresh(event.paths)
    damaged = _settings_notice(event.context.settings, source)
    why = write_problem(event.paths.state())
    readonly = _UNWRITABLE % why if why else ""
    unread = _unread_nearby(event.paths) if source == "startup" else ""
    lines = [damaged, readonly, notice, unread, _offer(event), tuning_reminder(event.paths), receipt]
    return event.output(text, _two_lines(lines))


def _why_unusable(paths: Paths) -> str:
    """Return why the plugin has no state folder, without which it does nothing; empty if it has one."""
    if paths.state_dir is None:
        return paths.why_no_state
    try:
        make_folder(paths.state_dir)
    except OSError as error:
        return "the state folder cannot be used (%s); see: memory doctor" % os_error_text(error)
    return ""


def _offer(event: Event) -> str:
    """Return the line about memory candidates to review; without a capture folder, the usual case, nothing is imported."""
    if not os.path.isdir(event.paths.state("capture")):
        return ""
    from ..capture.candidate import due_offer

    return due_offer(event.context)


def _past_sessions(event: Event, source: str) -> str:
    """Return the last sessions, by which Claude knows that it can look them up; empty for a session that goes on and has them."""
    if source == _RESUMES:
        return ""
    from ..work.past_sessions import catalog_lines

    problems: list[str] = []
    text = catalog_lines(event.context, problems)
    for problem in problems:
        event.log(problem)
    return text


def _unread_nearby(paths: Paths) -> str:
    """Return a line about a project's store that is not read, or about memories next to a project without any; usually empty."""
    store = os.path.join(paths.project_root, ".claude", "memory")
    if os.path.isdir(store) and os.path.realpath(store) == store and os.access(store, os.R_OK | os.X_OK):
        return ""
    from ..memories.memory_files import project_store, why_not_read
    from ..memories.nearby import unread_nearby

    why = why_not_read(project_store(paths))
    found = ["not read: " + why] if why else unread_nearby(paths)
    return "".join("memory: " + text for text in found[:1])


def _at_start(event: Event, source: str) -> tuple[str, str, str]:
    """Return the text for Claude, the line about memories that await approval, and the receipt (empty unless the user wants receipts)."""
    from ..recall.index_file import INDEX_ERRORS
    from ..recall.session_catalog import current_index, is_catalog_on, session_catalog

    context = event.context
    connection = current_index(context)
    notice, answer = "", None
    try:
        notice = _due_notice(context.paths, connection)
        if connection is not None and is_catalog_on(context):
            answer = session_catalog(connection, source, context)
    except INDEX_ERRORS as error:
        event.log("the index could not be read: %s" % os_error_text(error))
    finally:
        if connection is not None:
            connection.close()
    if answer is None:
        return "", notice, ""
    event.record(answer.record)
    return answer.block, notice, answer.receipt if context.settings.text("retrieval.receipt") == "all" else ""


def _due_notice(paths: Paths, connection: Connection | None) -> str:
    """Return a line for the user about memories that await approval or cannot be read, once per set of memories; usually empty.

    If none await it, several memories without phrases are a reason for a line, at most once a week in each project. `connection` is the
    index, or None if it cannot answer. Raises SqliteError.
    """
    for name in ("trusted.jsonl", "rejected.jsonl"):
        path = paths.state("trust", name)
        try:
            open(path, "rb", opener=open_to_read).close()
        except FileNotFoundError:
            pass
        except OSError as error:
            from ..memories.trust_file import TrustUnreadable

            return "memory: " + os_error_text(TrustUnreadable(path, os_error_text(error)))
    if connection is None:
        return ""
    from ..recall.session_catalog import pending_texts, unreadable_files

    pending, unreadable = pending_texts(connection), unreadable_files(connection)
    path = paths.state("notices", paths.project_key + ".json")
    if not pending and not unreadable:
        return _phrases_notice(path, connection)
    current = digest("\n".join([*map("".join, pending), *unreadable]).encode("utf-8", "replace"))
    # Record first: if this fails, stay silent rather than repeat the line in every session.
    if not record_once(path, _PENDING, current):
        return ""
    phrases = sum(bool(new_phrases) for _, new_phrases in pending)
    texts = len(pending) - phrases
    lines = []
    if unreadable:
        number = "1 file" if len(unreadable) == 1 else "%d files" % len(unreadable)
        lines.append(number + " of a store cannot be read (memory doctor)")
    if texts:
        number, them = ("1 pending memory", "it") if texts == 1 else ("%d pending memories" % texts, "them")
        lines.append("%s: Claude sees %s after you accept %s" % (number, them, them))
    if phrases:
        number = "1 memory has" if phrases == 1 else "%d memories have" % phrases
        lines.append(number + " new search phrases to review")
    return "memory: %s%s" % ("; ".join(lines), ". To review: /memory:review" if pending else "")


def _phrases_notice(path: str, connection: Connection) -> str:
    from ..kernel.context import days_ago, now_iso
    from ..recall.session_catalog import count_without_phrases

    if str(read_state(path).get(_PHRASES, "")) > days_ago(_OFFER_DAYS):
        return ""
    number = count_without_phrases(connection)
    if number < _MIN_WITHOUT_PHRASES or not record_once(path, _PHRASES, now_iso()):
        return ""
    why = "have no search phrases, so prompts in other words miss them. To add some: /memory:phrases"
    return "memory: %d memories %s" % (number, why)


def handle_subagent(event: Event) -> dict[str, object] | None:
    """Give a sub-agent the standing rules, unless it only explores or is one of the plugin's own, which have a fixed task."""
    kind = event.field("agent_type")
    if kind in _EXPLORERS or kind.startswith(_OWN_AGENTS):
        return None
    from ..recall.index_file import INDEX_ERRORS
    from ..recall.session_catalog import current_index, is_catalog_on, subagent_rules

    context = event.context
    connection = current_index(context) if is_catalog_on(context) else None
    if connection is None:
        return None
    try:
        answer = subagent_rules(connection, event.field("agent_id"), context)
    except INDEX_ERRORS as error:
        event.log("the index could not be read: %s" % os_error_text(error))
        return None
    finally:
        connection.close()
    if answer is None:
        return None
    event.record({**answer.record, "agent_type": kind})
    return event.output(answer.block)


def _two_lines(lines: list[str]) -> str:
    """Return what the user sees: at most two lines, the second of which joins all but the first."""
    notices = [" ".join(line.split()) for line in lines if line]
    others = [*notices[1:2], *(line.removeprefix(_LINE_START) for line in notices[2:])]
    return "\n".join(filter(None, [*notices[:1], "; ".join(others)]))


def _settings_notice(settings: Settings, source: str) -> str:
    """Return a line about recall that is off, or about settings without effect because they are invalid; usually empty."""
    if source not in _STARTS_SESSION:
        return ""
    if not settings.flag("retrieval.enabled"):
        return "memory: recall is off; to turn it on: " + settings.to_set("retrieval.enabled", "true")
    unread = [problem.file for problem in settings.problems if problem.kind == "file"]
    if unread:
        from ..kernel.text.clean import terminal_safe

        text = "memory: %s cannot be read, so its settings are ignored; see: memory config check"
        return text % terminal_safe(unread[0])
    own = [problem for problem in settings.problems if problem.kind != "refused"]
    if not own:
        return ""
    subject = "1 setting is" if len(own) == 1 else "%d settings are" % len(own)
    return "memory: %s ignored (wrong name or value); see: memory config check" % subject


def _refresh_status_script(event: Event) -> None:
    """Update the status line's script, because the plugin's folder changes with its version."""
    if not os.path.isdir(event.paths.state(FOLDER)):
        return
    try:
        refresh_script(event.paths)
    except OSError as error:
        event.log("the status line was not refreshed: %s" % os_error_text(error))


def _forget_history(event: Event) -> None:
    """Delete the history of a session whose context was compacted or cleared."""
    from ..interview import Reminder
    from ..recall.history import forget_session

    try:
        forget_session(event.paths, event.session)
        Reminder(event.paths, event.session).set_active(active=True)
    except OSError as error:
        event.log("the session's history was not deleted: %s" % os_error_text(error))


def handle_stop(event: Event) -> dict[str, object] | None:
    """Start what follows the reply; return a line for the user about what Claude saved at their request, or None, the usual case.

    Any other output of a Stop hook could make the turn continue.
    """
    if _awaits_sub_agents(event.payload):
        return None
    _hand_over(event)
    return event.output("", _unseen_saves(event))


def _hand_over(event: Event) -> None:
    """Start the process that scores the reply, and have the next prompt wait for its correction."""
    from ..replies import ReplyState
    from ..work.background import judge_variables

    context = event.context
    settings, state = context.settings, ReplyState(context.paths, context.session)
    scores = settings.text("scoring.mode") != "off"
    if not scores and not settings.flag("retrieval.feedback") and settings.text("capture.mode") == "off":
        return
    try:
        if scores and settings.flag("scoring.corrections"):
            state.await_score()
    except OSError as error:
        event.log("a correction may come too late: %s" % os_error_text(error))
    asks = any(map(settings.is_judge_enabled, ("scoring", "capture")))
    variables = judge_variables(settings) if asks else ()
    if not _start_steps(event, variables, judges_off=event.taint.judges_off):
        state.discard_correction()


def _unseen_saves(event: Event) -> str:
    """Return lines about what Claude saved under this session's grant, unless the user has seen them; settle what they allowed."""
    paths, session = event.paths, event.session
    if not any(map(os.path.lexists, (session_file(paths, session, "grant"), paths.state("tickets")))):
        return ""
    from ..work.background import settle_deferred

    try:
        return "\n".join(settle_deferred(event.context, wait=_WAIT))
    except OSError as error:
        event.log("the list of saved memories is not shown: %s" % os_error_text(error))
        return ""


def _awaits_sub_agents(payload: dict[str, object]) -> bool:
    """Return whether background work continues this turn; if so, the host sends Stop again with the final reply.

    A shell command or a monitor, such as a development server, does not count.
    """
    tasks = payload.get("background_tasks")
    if not isinstance(tasks, list):
        return False
    return any(not isinstance(task, dict) or task.get("type") not in _LASTING_TASKS for task in tasks)


def handle_end(event: Event) -> None:
    """Start the process that searches the session for memory candidates, indexes it and, if switched on, grades it.

    The host gives all its hooks together 1.5 seconds.
    """
    settings = event.context.settings
    if event.taint.judges_off or settings.text("sessions.judge.when") != "ended":
        handle_compaction(event)
        return
    from ..work.background import judge_variables

    if os.path.isfile(event.transcript):
        _start_steps(event, (*judge_variables(settings), *_LANGFUSE), judges_off=False)


def handle_compaction(event: Event) -> None:
    """Start the search for memory candidates in a session, unless it is switched off or there is no transcript."""
    if os.path.isfile(event.transcript) and event.context.settings.text("capture.mode") != "off":
        _start_steps(event, ())


def _start_steps(event: Event, variables: tuple[str, ...], *, judges_off: bool = True) -> bool:
    """Hand over what the event ended; return whether a process could be started."""
    from ..work.background import start_steps

    text = as_text(event.payload.get("last_assistant_message"))
    request: dict[str, object] = {
        "event": event.name,
        "session": event.session,
        "transcript": event.transcript,
        "prompt_id": event.field("prompt_id"),
        "text": text,
        "length": len(text),
        "judges_off": judges_off,
    }
    is_started = start_steps(request, event.context, variables)
    if not is_started:
        event.log("no process could be started for what follows")
    return is_started


def print_status_line() -> int:
    """Print the line for the session that the client describes on standard input, and return 0; nothing on any error."""
    try:
        is_described = sys.stdin is not None and not sys.stdin.isatty()
        text = sys.stdin.buffer.read(_MAX_INPUT).decode("utf-8", "replace") if is_described else "{}"
        payload = as_object(loads(text))
        line = status_text(Paths(_folder(payload)), as_text(payload.get("session_id")))
        os.write(1, (line + "\n").encode("utf-8"))
    except Exception:
        return 0
    return 0


def _folder(payload: dict[str, object]) -> str:
    """Return the project's folder as the client names it, or the current folder outside the client."""
    places = as_object(payload.get("workspace"))
    for name in (places.get("project_dir"), places.get("current_dir"), payload.get("cwd")):
        if isinstance(name, str) and "\0" not in name and os.path.isabs(name):
            return name
    return os.getcwd()
