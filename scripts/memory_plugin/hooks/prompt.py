"""UserPromptSubmit: what the features tell Claude on one prompt, in a fixed order and within one size limit.

The prompt is read once and handed to the correction of the last reply, the reminder of an open interview, the grant of a save request,
recall and the ledger. What goes wrong in one of them is a line in the events ledger and does not stop the others.
"""

from __future__ import annotations

import os

from ..kernel.context import Context, LedgerError
from ..kernel.files import cause
from ..kernel.settings.load import load
from ..kernel.state_file import session_file
from ..memories.save_requests import request_in
from ..recall.gate import Prompt
from ..recall.pipeline import EXPECTED_PROBLEMS, Answer, recall
from .events import PROBLEM, follow_hygiene, identity, note, path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from .environment import Taint

__all__ = ["MAX_CHARACTERS", "handle"]

EVENT = "UserPromptSubmit"
# The host cuts a hook's output at 10,000 characters and then shows a file path instead.
MAX_CHARACTERS = 9500
_MAX_WRITTEN = 2000


def handle(
    payload: dict[str, object],
    places: Places,
    taint: Taint,
    deadline: Deadline,
) -> dict[str, object] | None:
    """Return what the host is told on a prompt; None for nothing."""
    if places.state_dir is None:
        return None
    session = identity(payload.get("session_id"))
    text = payload.get("prompt", payload.get("user_prompt"))  # the name in older hosts
    if not isinstance(text, str):
        note(places, session, EVENT, "bad_input", "the event holds no prompt")
        return None
    settings = load(places.config_dir, places.project_root)
    follow_hygiene(settings)
    context = Context(places, settings, deadline, session)
    prompt = Prompt(
        text,
        identity(payload.get("prompt_id")),
        path(payload.get("transcript_path")),
        judges_off=taint.judges_off,
    )
    return _answer(prompt, context)


def _answer(prompt: Prompt, context: Context) -> dict[str, object] | None:
    """Ask the features in turn; their problems become lines in the events ledger, here and nowhere else."""
    answer = Answer()
    problems: list[str] = []
    correction = _correction(prompt, context, problems)
    reminder = _reminder(prompt, context, problems)
    question = _question(prompt, context, problems)
    saved = _leave_grant(prompt, context, problems)
    room = MAX_CHARACTERS - sum(len(part) + 2 for part in (correction, reminder, question) if part)
    try:
        recall(answer, prompt, room, context)
    finally:  # the record says so when recall itself fails
        problems.append(_unexpected_problem(answer))
        _write_down(answer, prompt, context, problems)
        for problem in filter(None, problems):
            note(context.places, context.session, EVENT, PROBLEM, problem)
    if answer.needs_refresh:
        from .background import start_refresh

        start_refresh(context.places)
    return _output([correction, reminder, question, answer.context], [saved, answer.receipt, answer.notice])


def _output(parts: list[str], lines: list[str]) -> dict[str, object] | None:
    """Return the output: for Claude the correction, interview and memories, and lines for the person.

    A part that does not fit any more is omitted completely.
    """
    output: dict[str, object] = {}
    context = ""
    for part in parts:
        if part and len(context) + 2 + len(part) <= MAX_CHARACTERS:
            context += "\n\n" + part if context else part
    if context:
        output["hookSpecificOutput"] = {"hookEventName": EVENT, "additionalContext": context}
    message = "\n".join(filter(None, lines))
    if message:
        output["systemMessage"] = message
    return output or None


def _has_state(prompt: Prompt, context: Context, part: str) -> bool:
    """Return whether a feature left something for this session's next prompt, by one look at a file: most prompts import no more of it.

    A notice from the client is not a prompt: its reply is not for the user.
    """
    return (
        prompt.is_typed
        and bool(context.session)
        and os.path.lexists(session_file(context.places, context.session, part))
    )


def _correction(prompt: Prompt, context: Context, problems: list[str]) -> str:
    """Return the correction that the last reply left for this session, once; mostly empty."""
    if not _has_state(prompt, context, "drift"):
        return ""
    from ..replies.reply_state import ReplyState

    drift_id, text = ReplyState(context.places, context.session).take_correction()
    settings = context.settings
    if not text or not settings.flag("scoring.enabled") or not settings.flag("scoring.corrections"):
        return ""
    try:
        context.append("drift", {"kind": "said", "id": drift_id, "prompt_id": prompt.id})
    except LedgerError as error:
        problems.append(str(error))
    return text


def _reminder(prompt: Prompt, context: Context, problems: list[str]) -> str:
    """Return the line about the session's open interview, if Claude was not told yet; mostly empty."""
    if not _has_state(prompt, context, "interview"):
        return ""
    from ..interview.reminder import Reminder

    try:
        line = Reminder(context.places, context.session).prompted()
    except OSError as error:
        problems.append("the open interview was not noted: %s" % cause(error))
        return ""
    return line if context.settings.flag("interview.reminder") else ""


def _question(prompt: Prompt, context: Context, problems: list[str]) -> str:
    """Return the note that the user may want a correction kept; empty unless they switched on being asked."""
    if context.settings.text("capture.offer") != "ask" or not prompt.is_typed:
        return ""
    from ..capture.asking import ask_about
    from ..recall.gate import load_gate

    if load_gate().opts_out(prompt.text):
        return ""
    try:
        return ask_about(prompt.typed, context)
    except OSError as error:
        problems.append("that the user was to be asked was not noted: %s" % cause(error))
        return ""


def _leave_grant(prompt: Prompt, context: Context, problems: list[str]) -> str:
    """End the grant of the prompt before, and leave one if the user asks for something to be saved.

    Returns a line about what Claude saved under the old one, if no Stop hook has shown it.
    """
    kind = request_in(prompt.text) if prompt.is_typed else ""
    if not kind and not os.path.lexists(session_file(context.places, context.session, "grant")):
        return ""
    from ..memories.grants import grant, revoke, take_unshown

    try:
        unshown = take_unshown(context.places, context.session)
        revoke(context.places, context.session)
        if kind:
            grant(context.places, context.session, kind)
    except OSError as error:
        problems.append("the grant could not be changed: %s" % cause(error))
        return ""
    return "\n".join(unshown)


def _unexpected_problem(answer: Answer) -> str:
    """Return what prevented recall from doing its best; a refresh of the index that is under way is expected."""
    problem = str(answer.record.get("problem") or "")
    return "" if problem in EXPECTED_PROBLEMS else problem


def _write_down(answer: Answer, prompt: Prompt, context: Context, problems: list[str]) -> None:
    """Append the decision to the ledger."""
    record = dict(answer.record, prompt_id=prompt.id, ms=context.deadline.elapsed_ms())
    if context.settings.flag("ledger.prompt_text"):
        record["prompt"] = _allowed_text(prompt)
    try:
        context.append("recalls", record)
    except LedgerError as error:
        problems.append(str(error))


def _allowed_text(prompt: Prompt) -> str:
    """Return a prompt as the user allows the ledger to hold it: without private passages and secrets, at most 2,000 characters."""
    from ..kernel.hygiene import redact

    return redact(prompt.typed, "ledger").text[:_MAX_WRITTEN]
