"""Replay past prompts under other settings, without a judge and without writing anything, to see what would have been injected.

The stores are the current ones. Each session gets a history that is only in memory, so that nothing is repeated in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..kernel.clock import iso
from ..kernel.text.tags import without_private
from ..kernel.transcript.reader import Lines, open_transcript
from ..kernel.transcript.rows import PROMPT, reply_text_of, user_input_of
from .answer import Answer
from .gate import Prompt, turn_text
from .pipeline import check_gate, fill_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..kernel.context import Context
    from .history import RecallHistory


class PastPrompt(NamedTuple):
    """A prompt of a transcript: its text, the previous turn as context for a follow-up, its time in UTC, and its id."""

    text: str
    previous_turn: str
    time: str
    id: str


class Result(NamedTuple):
    """The result for a prompt: keys injected in full, keys with a pointer, the reason for silence, and the block's estimated tokens."""

    injected: list[str]
    pointed: list[str]
    reason: str
    tokens: int

    @property
    def outcome(self) -> str:
        """Return injected, pointed or silent."""
        return "injected" if self.injected else "pointed" if self.pointed else "silent"


def past_prompts(path: str, oldest: float) -> Iterator[PastPrompt]:
    """Yield the prompts that a person typed in a transcript, from `oldest` (seconds since 1970) on, and those without a time.

    Repeated rows, such as those of a resumed session, are yielded once. Raises OSError.
    """
    seen: set[str] = set()
    first = iso(oldest)
    question = reply = ""
    with open_transcript(path) as file:
        for record in Lines(file):
            text = reply_text_of(record)
            if text:
                reply = without_private(text).strip()
            kind, prompt = user_input_of(record)
            if kind != PROMPT:
                continue
            identity = str(record.get("uuid") or "")
            if identity and identity in seen:
                continue
            seen.add(identity)
            time = str(record.get("timestamp") or "")
            if not time or time >= first:
                yield PastPrompt(prompt, turn_text(question, reply), time, identity)
            question, reply = without_private(prompt).strip(), ""


def replay_prompt(past: PastPrompt, history: RecallHistory, context: Context, room: int) -> Result:
    """Return what would be injected on a past prompt, and add it to the history of the prompt's session."""
    settings = context.settings
    if not settings.flag("retrieval.enabled"):
        return Result([], [], "disabled", 0)
    prompt = Prompt(past.text, past.id, "", previous_turn=past.previous_turn)
    previous_turn, refusal = check_gate(prompt, settings)
    if refusal:
        return Result([], [], refusal, 0)
    answer = Answer("prompt")
    fill_answer(answer, prompt, previous_turn, room, history, context, ask_judges=False)
    # As in RecallHistory: a prompt counts as a turn only once something was injected in its session.
    if answer.block or history.turn > 1:
        history.turn += 1
    record = answer.record
    return Result(
        record["injected"], record["pointed"], str(record["reason"]), int(record.get("tokens") or 0)
    )
