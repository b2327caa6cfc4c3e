"""UserPromptSubmit: what the features have to say on one prompt, in a fixed order and within one size limit."""

from __future__ import annotations

from ..interview.reminder import Reminder
from ..kernel.files import cause
from ..kernel.ledger import open_ledger
from ..kernel.settings.load import load
from ..memories.grants import asks_to_remember, grant
from ..recall.gate import load_gate, typed_text
from ..recall.pipeline import Answer, Prompt, recall
from ..replies.reply_state import ReplyState
from .event_fields import identity, path
from .event_log import note
from .hygiene_setting import follow_hygiene

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from .environment import Taint

__all__ = ["MAX_CHARACTERS", "handle"]

EVENT = "UserPromptSubmit"
# The host cuts a hook's output at 10,000 characters and then shows a file path instead.
MAX_CHARACTERS = 9500
_MAX_WRITTEN = 2000
_EXPECTED = ("healing", "healed_elsewhere")


def handle(
    payload: dict[str, object],
    places: Places,
    taint: Taint,
    deadline: Deadline,
) -> dict[str, object] | None:
    """What the host is to be told on a prompt; None for nothing."""
    if places.state_dir is None:
        return None
    prompt = _prompt(payload, judges_off=taint.judges_off)
    if prompt is None:
        note(places, identity(payload.get("session_id")), EVENT, "bad_input", "the event holds no prompt")
        return None
    settings = load(places.config_dir, places.project_root)
    follow_hygiene(settings)
    answer = Answer()
    correction, trouble = _correction(prompt, places, settings)
    reminder, unkept = _reminder(prompt, places, settings)
    troubles = [trouble, unkept, _leave_grant(prompt, places)]
    prompt.room = MAX_CHARACTERS - sum(len(part) + 2 for part in (correction, reminder) if part)
    try:
        recall(answer, prompt, places, settings, deadline)
    finally:
        troubles += [
            _worth_noting(answer),
            _write_down(answer, prompt, places, settings, deadline),
        ]
        for trouble in filter(None, troubles):
            note(places, prompt.session, EVENT, "trouble", trouble)
    if answer.wants_healing:
        from .background import start_healing

        start_healing(places)
    return _output(correction, reminder, answer)


def _output(correction: str, reminder: str, answer: Answer) -> dict[str, object] | None:
    """What the features say: correction, interview, memories; what would not fit any more is left out as a whole."""
    output: dict[str, object] = {}
    context = ""
    for part in (correction, reminder, answer.context):
        if part and len(context) + 2 + len(part) <= MAX_CHARACTERS:
            context += "\n\n" + part if context else part
    if context:
        output["hookSpecificOutput"] = {"hookEventName": EVENT, "additionalContext": context}
    message = "\n".join(filter(None, (answer.receipt, answer.notice)))
    if message:
        output["systemMessage"] = message
    return output or None


def _worth_noting(answer: Answer) -> str:
    """What kept recall from its best; that an index is being brought up to date is none of it."""
    trouble = str(answer.record.get("trouble") or "")
    return "" if trouble in _EXPECTED else trouble


def _prompt(payload: dict[str, object], *, judges_off: bool) -> Prompt | None:
    """The prompt in an event; older hosts call it `user_prompt`. None when there is none."""
    text = payload.get("prompt", payload.get("user_prompt"))
    if not isinstance(text, str):
        return None
    return Prompt(
        text,
        identity(payload.get("session_id")),
        identity(payload.get("prompt_id")),
        path(payload.get("transcript_path")),
        judges_off=judges_off,
    )


def _correction(prompt: Prompt, places: Places, settings: Settings) -> tuple[str, str]:
    """The correction that the reply before left for this session, once; and what went wrong.

    A notice of the client's own takes none away: its reply is not to the user.
    """
    state = ReplyState(places, prompt.session)
    if not prompt.session or not state.has_correction() or not load_gate().is_typed(prompt.text):
        return "", ""
    drift_id, text = state.take_correction()
    if not text or not settings.flag("scoring.enabled") or not settings.flag("scoring.corrections"):
        return "", ""
    ledger = open_ledger(places, settings, "drift")
    record: dict[str, object] = {"kind": "said", "id": drift_id, "prompt_id": prompt.id}
    return text, ledger.append(prompt.session, places.project_key, record) or ""


def _reminder(prompt: Prompt, places: Places, settings: Settings) -> tuple[str, str]:
    """The line on the session's open interview, where it has not been said; and what went wrong."""
    reminder = Reminder(places, prompt.session)
    if not prompt.session or not reminder.waits() or not load_gate().is_typed(prompt.text):
        return "", ""
    try:
        line = reminder.prompted()
    except OSError as error:
        return "", "the open interview was not noted: %s" % cause(error)
    return line if settings.flag("interview.reminder") else "", ""


def _leave_grant(prompt: Prompt, places: Places) -> str:
    """Leave a grant where the user asks for something to be kept; what went wrong, or an empty text."""
    if not load_gate().is_typed(prompt.text) or not asks_to_remember(prompt.text):
        return ""
    try:
        grant(places, prompt.session)
    except OSError as error:
        return "no grant could be left: %s" % cause(error)
    return ""


def _write_down(
    answer: Answer, prompt: Prompt, places: Places, settings: Settings, deadline: Deadline
) -> str:
    """Write the decision into the ledger; what went wrong, or an empty text."""
    record = dict(answer.record, prompt_id=prompt.id, ms=deadline.elapsed_ms())
    if settings.flag("ledger.prompt_text"):
        record["prompt"] = _allowed_text(prompt.text)
    ledger = open_ledger(places, settings, "recalls")
    return ledger.append(prompt.session, places.project_key, record) or ""


def _allowed_text(text: str) -> str:
    """A prompt as a ledger may hold it, which the user allowed: private passages and secrets taken out, at most 2,000 characters."""
    from ..kernel.hygiene import redact

    return redact(typed_text(text), "ledger").text[:_MAX_WRITTEN]
