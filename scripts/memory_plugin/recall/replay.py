"""Try prompts, past ones or new ones, on the current stores, without a judge and without writing anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..kernel.clock import iso
from ..kernel.context import Context
from ..kernel.text.tags import without_private
from ..kernel.transcript.reader import Lines, open_transcript
from ..kernel.transcript.rows import PROMPT, reply_text_of, user_input_of
from .answer import Answer
from .gate import Prompt, turn_text
from .history import RecallHistory
from .pipeline import check_gate, fill_answer


def past_prompts(path: str, oldest: float) -> Iterator[tuple[Prompt, str]]:
    """Yield the prompts that a person typed in a transcript, from `oldest` (seconds since 1970) on, with their times in UTC.

    Those without a time are included. Repeated rows, such as those of a resumed session, are yielded once. Raises OSError.
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
                yield Prompt(prompt, identity, "", previous_turn=turn_text(question, reply)), time
            question, reply = without_private(prompt).strip(), ""


def try_prompt(prompt: Prompt, history: RecallHistory, context: Context, room: int) -> dict[str, Any]:
    """Return the record of what recall decides about a prompt; only `history` is changed, so that nothing is repeated."""
    answer = Answer("prompt")
    if not context.settings.flag("retrieval.enabled"):
        return answer.withhold("disabled", "skipped").record
    previous_turn, refusal = check_gate(prompt, context.settings)
    if refusal:
        return answer.withhold(refusal, "skipped").record
    fill_answer(answer, prompt, previous_turn, room, history, context, ask_judges=False)
    # As in RecallHistory: a prompt counts as a turn only once something was injected in its session.
    if answer.block or history.turn > 1:
        history.turn += 1
    return answer.record
