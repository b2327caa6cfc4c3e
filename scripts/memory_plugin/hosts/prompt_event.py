"""UserPromptSubmit: what the features have to say on one prompt, in a fixed order and within one size limit."""

from __future__ import annotations

from ..kernel.ledger import Ledger
from ..kernel.settings.load import load
from ..memories.grants import asks_to_remember, grant
from ..recall.pipeline import Answer, Prompt, recall
from .events import note

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


def handle(payload: dict[str, object], places: Places, taint: Taint, deadline: Deadline) -> dict[str, object] | None:
    """What the host is to be told on a prompt; None for nothing."""
    prompt = _prompt(payload)
    if places.state_dir is None:
        return None
    settings = load(places.config_dir, places.project_root)
    if prompt is None:
        note(places, str(payload.get("session_id") or ""), EVENT, "bad_input", "the event holds no prompt")
        return None
    trouble = _leave_grant(prompt, places)
    answer = recall(prompt, places, settings, deadline)
    _write_down(answer, prompt, places, settings, deadline)
    for what in filter(None, [trouble, str(answer.record.get("trouble") or "")]):
        note(places, prompt.session, EVENT, "trouble", what)
    if answer.wants_healing:
        from .detached import start_healing

        start_healing(places)
    if not answer.context or len(answer.context) > MAX_CHARACTERS:
        return None
    return {"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": answer.context}}


def _prompt(payload: dict[str, object]) -> Prompt | None:
    """The prompt in an event; older hosts call it `user_prompt`. None when there is none."""
    text = payload.get("prompt", payload.get("user_prompt"))
    if not isinstance(text, str):
        return None
    fields = (payload.get(name) for name in ("session_id", "prompt_id", "transcript_path"))
    session, identity, transcript = (value if isinstance(value, str) and "\0" not in value else "" for value in fields)
    return Prompt(text, session, identity, transcript)


def _leave_grant(prompt: Prompt, places: Places) -> str:
    if not asks_to_remember(prompt.text):
        return ""
    try:
        grant(places, prompt.session)
    except OSError as error:
        return "no grant could be left: %s" % (error.strerror or type(error).__name__)
    return ""


def _write_down(answer: Answer, prompt: Prompt, places: Places, settings: Settings, deadline: Deadline) -> None:
    record = dict(answer.record, prompt_id=prompt.id, ms=deadline.elapsed_ms())
    if settings.flag("ledger.prompt_text"):
        record["prompt"] = _allowed_text(prompt.text)
    ledger = Ledger(places.state(), "recalls", settings.integer("ledger.max_bytes"), settings.integer("ledger.keep_files"))
    trouble = ledger.append(prompt.session, places.project_key, record)
    if trouble:
        note(places, prompt.session, EVENT, "trouble", trouble)


def _allowed_text(text: str) -> str:
    """A prompt as a ledger may hold it, which the user allowed: private passages and secrets taken out."""
    from ..kernel.hygiene import redact
    from ..recall.gate import typed_text

    return redact(typed_text(text, 2000), "ledger").text
