"""Stop: hand the reply that just ended to a background process, and tell the user what Claude saved at their request."""

from __future__ import annotations

import os

from ..kernel.fastjson import as_text
from ..kernel.files import os_error_text
from ..kernel.paths import session_file
from ..replies import ReplyState
from ..work.background import judge_variables, settle_deferred, start_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from .entry import Event

_WAIT = 1.0  # seconds for the client to write the rows of its last calls
_LASTING_TASKS = ("shell", "monitor")  # may run for the rest of the session


def handle(event: Event) -> dict[str, object] | None:
    """Start what follows the reply; return a line for the user about what Claude saved at their request, or None, the usual case.

    Any other output of a Stop hook could make the turn continue.
    """
    if event.paths.state_dir is None or _awaits_sub_agents(event.payload):
        return None
    problems: list[str] = []
    _hand_over(event, problems)
    saved = _unseen_saves(event.context, problems)
    for problem in problems:
        event.log(problem)
    return event.output("", saved)


def _hand_over(event: Event, problems: list[str]) -> None:
    """Start the process that scores the reply, and have the next prompt wait for its correction."""
    context = event.context
    settings, state = context.settings, ReplyState(context.paths, context.session)
    scores = settings.text("scoring.mode") != "off"
    if not scores and not settings.flag("retrieval.feedback") and settings.text("capture.mode") == "off":
        return
    try:
        if scores and settings.flag("scoring.corrections"):
            state.await_score()
    except OSError as error:
        problems.append("a correction may come too late: %s" % os_error_text(error))
    is_started = start_steps(
        event.name,
        event.transcript,
        context,
        judge_variables(settings) if any(map(settings.is_judge_enabled, ("scoring", "capture"))) else (),
        prompt_id=event.field("prompt_id"),
        text=as_text(event.payload.get("last_assistant_message")),
        judges_off=event.taint.judges_off,
    )
    if not is_started:
        problems.append("no process could be started to score the reply")
        state.discard_correction()


def _unseen_saves(context: Context, problems: list[str]) -> str:
    """Return lines about what Claude saved under this session's grant, unless the user has seen them; settle what they allowed."""
    paths, session = context.paths, context.session
    if not any(map(os.path.lexists, (session_file(paths, session, "grant"), paths.state("tickets")))):
        return ""
    from ..memories.grants import take_unshown_saves

    try:
        lines = settle_deferred(context, wait=_WAIT)
        return "\n".join([*take_unshown_saves(paths, session), *lines])
    except OSError as error:
        problems.append("the list of saved memories is not shown: %s" % os_error_text(error))
        return ""


def _awaits_sub_agents(payload: dict[str, object]) -> bool:
    """Return whether background work continues this turn; if so, the host sends Stop again with the final reply.

    A shell command or a monitor, such as a development server, does not count.
    """
    tasks = payload.get("background_tasks")
    if not isinstance(tasks, list):
        return False
    return any(not isinstance(task, dict) or task.get("type") not in _LASTING_TASKS for task in tasks)
