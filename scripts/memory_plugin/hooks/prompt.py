"""UserPromptSubmit: collect the features' texts for Claude on one prompt, in a fixed order and within one size limit.

The prompt is read once and passed to the correction of the last reply, the reminder of an open interview, the grant for a save request,
past sessions, recall and the ledger. An OSError in one of them becomes a line in the events ledger and does not stop the others; any other
exception is a bug, which ends the hook without output.
"""

from __future__ import annotations

import os

from ..host import MAX_CHARACTERS
from ..kernel.context import Context, LedgerError
from ..kernel.files import os_error_text
from ..kernel.paths import session_file
from ..memories.grants import asks_to_save, grant, revoke
from ..recall.gate import Answer, Prompt, admit, load_gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..sessions.past import ShownSessions
    from .entry import Event

_STYLE = "memory: showed Claude a note on style about its last reply"
# A refresh in progress is not a fault: recall uses what is already indexed. Nor is a rebuild after an update or a change of the rules.
_EXPECTED = ("refreshing", "refreshed_elsewhere", "index_outdated")
_MAX_RECORDED = 2000
_MAX_CLEANED = 20_000  # longer than recorded: the final cut follows a second redaction, so that no half of a secret is left


def handle(event: Event) -> dict[str, object] | None:
    """Return the hook's output for a prompt, or None for no output."""
    text = event.payload.get("prompt")
    if not isinstance(text, str):
        event.log("the event holds no prompt", "bad_input")
        return None
    prompt = Prompt(text, event.field("prompt_id"), event.transcript, judges_off=event.taint.judges_off)
    return _answer(prompt, event)


def _answer(prompt: Prompt, event: Event) -> dict[str, object] | None:
    """Ask each feature in turn and compose the output; only here are their problems written to the events ledger."""
    context = event.context
    answer = Answer("prompt", answered_by="none")
    problems: list[str] = []
    correction = _correction(prompt, context, problems)
    if correction:
        answer.record["style"] = True
    texts = []
    for make, failure in _FEATURES:
        try:
            texts.append(make(prompt, context))
        except OSError as error:
            texts.append("")
            problems.append("%s: %s" % (failure, os_error_text(error)))
    reminder, question, saved = texts
    past = _past(prompt, context, problems)
    parts = [correction, reminder, question, past.block if past else ""]
    room = MAX_CHARACTERS - sum(len(part) + 2 for part in parts if part)
    try:
        if admit(answer, prompt, context.settings):
            from ..recall.pipeline import recall  # loads SQLite, which a skipped prompt does without

            recall(answer, prompt, room, context)
    finally:  # if recall itself fails, its record is still saved
        problem = str(answer.record.get("problem") or "")
        problems.append("" if problem in _EXPECTED else problem)
        if "prompts" in context.settings.texts("ledger.keep_text"):
            answer.record["prompt"] = _allowed_text(prompt)
        event.record(answer.record)
        if past:
            event.record(past.record())
        for problem in filter(None, problems):
            event.log(problem)
    if answer.needs_refresh:
        from ..work.background import start_refresh

        start_refresh(context.paths)
    text = _composed([*parts, answer.block])
    which = context.settings.text("retrieval.receipt")
    shown = past.receipt(which) if past else ""
    style = _STYLE if correction and which != "off" else ""
    return event.output(text, "\n".join(filter(None, (saved, style, shown, answer.receipt, answer.notice))))


def _composed(parts: list[str]) -> str:
    """Return the text for Claude. A part that no longer fits is omitted as a whole."""
    text = ""
    for part in parts:
        if part and len(text) + 2 + len(part) <= MAX_CHARACTERS:
            text += "\n\n" + part if text else part
    return text


def _has_state(prompt: Prompt, context: Context, part: str) -> bool:
    """Return whether a feature left state for this session's next prompt.

    Only an `lstat` is needed, so most prompts do not import the feature. A notice from the client does not count, because its reply is not
    for the user.
    """
    is_asked = prompt.is_from_user and bool(context.session)
    return is_asked and os.path.lexists(session_file(context.paths, context.session, part))


def _correction(prompt: Prompt, context: Context, problems: list[str]) -> str:
    """Return the correction of the last reply, once; usually empty."""
    if not _has_state(prompt, context, "drift"):
        return ""
    from ..replies import ReplyState

    drift_id, text = ReplyState(context.paths, context.session).take_correction(context.deadline)
    settings = context.settings
    if not text or settings.text("scoring.mode") == "off" or not settings.flag("scoring.corrections"):
        return ""
    try:
        context.append("drift", {"kind": "said", "id": drift_id, "prompt_id": prompt.id})
    except LedgerError as error:
        problems.append(str(error))
    return text


def _reminder(prompt: Prompt, context: Context) -> str:
    """Return the line about the session's open interview, unless Claude has it already; usually empty."""
    if not _has_state(prompt, context, "interview"):
        return ""
    from ..interview import Reminder

    return Reminder(context.paths, context.session).take_line()


def _question(prompt: Prompt, context: Context) -> str:
    """Return the note for Claude to ask whether to keep a correction; empty unless `capture.mode` is `ask`."""
    if context.settings.text("capture.mode") != "ask" or not prompt.is_from_user:
        return ""
    from ..capture.statements import ask_about  # imports `re`, which most prompts do not need

    return "" if load_gate().opts_out(prompt.text) else ask_about(prompt.visible_text, context)


def _past(prompt: Prompt, context: Context, problems: list[str]) -> ShownSessions | None:
    """Return what Claude is shown of past sessions, if the prompt asks about them; usually None, which imports nothing."""
    if not prompt.is_from_user or not load_gate().may_ask_about_past(prompt.visible_text):
        return None
    from ..sessions.past_ask import may_ask

    if not may_ask(prompt.visible_text) or load_gate().opts_out(prompt.text):
        return None
    from ..work.past_sessions import answer_ask

    return answer_ask(prompt.visible_text, context, problems)


def _update_grant(prompt: Prompt, context: Context) -> str:
    """End the grant and the tickets of the previous prompt, and issue a grant if the user asks for something to be saved.

    Returns the lines about what Claude saved under the old grant, if no Stop hook has shown them yet.
    """
    paths, session = context.paths, context.session
    asks = prompt.is_from_user and asks_to_save(prompt.text)
    state = (session_file(paths, session, "grant"), paths.state("tickets"))
    if not asks and not any(map(os.path.lexists, state)):
        return ""
    from ..work.background import settle_deferred  # most sessions have none

    # First of all, so that nothing that fails below leaves the old grant in force.
    revoke(paths, session)
    if asks:
        grant(paths, session, prompt.id, prompt.transcript)
    return "\n".join(settle_deferred(context, is_last=True))


# The features that return a text, and what an OSError in one means.
_FEATURES = (
    (_reminder, "the reminder of the interview was not recorded"),
    (_question, "the question about keeping a correction was not recorded"),
    (_update_grant, "the grant could not be changed"),
)


def _allowed_text(prompt: Prompt) -> str:
    """Return the prompt for the ledger, without private passages, secrets and control characters, cut to 2,000 characters."""
    from ..kernel.hygiene import redact
    from ..kernel.text.clean import block

    visible = block(redact(prompt.visible_text, "ledger").text, _MAX_CLEANED)
    return redact(visible, "ledger").text[:_MAX_RECORDED]
