"""What recall would decide on a prompt that is tried, and on past prompts under the current or other settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any, NamedTuple

from ..host import MAX_CHARACTERS
from ..host.environment import switched_off
from ..kernel.context import Context, iso, now_iso
from ..kernel.files import Unreadable
from ..kernel.sqlite import SqliteError
from ..kernel.text import without_private
from ..kernel.transcript import PROMPT, reply_text_of, user_input_of
from ..kernel.transcript.reader import Lines, open_transcript
from ..memories.trust import PENDING
from ..recall.gate import Answer, Prompt, admit, load_gate, turn_text
from ..recall.history import RecallHistory
from ..recall.index_file import INDEX_ERRORS, IndexUnavailable
from ..recall.memory_search import search
from ..recall.pipeline import recall
from ..recall.ranking import Hit
from ..recall.session_catalog import current_index, is_catalog_on, session_catalog
from ..sessions.past_ask import may_ask
from .past_sessions import answer_ask

NAMES = ("injected", "pointed", "silent")

_SWITCHED_OFF = "switched_off"  # a reason
_POOL = 5  # matches of a prompt among which those that are held back are looked for


class Replayed(NamedTuple):
    """A prompt, its time, and the decisions about it by the name of the settings: `now`, and `trial` if there are some to try.

    A decision has the outcome (one of NAMES), the keys of the memories, the reason and the tokens.
    """

    prompt: Prompt
    time: str
    decisions: dict[str, dict[str, Any]]

    @property
    def differs(self) -> bool:
        """Return whether trial settings show other memories."""
        shown = [(decision["injected"], decision["pointed"]) for decision in self.decisions.values()]
        return any(trial != shown[0] for trial in shown)


def replay(
    paths: list[str], oldest: float, contexts: dict[str, Context], report: Callable[[str, str], None]
) -> Iterator[Replayed]:
    """Yield what recall decides in each context on the prompts of transcripts; `report` gets the progress or why one is skipped."""
    for number, path in enumerate(paths, 1):
        if os.path.getmtime(path) < oldest:
            continue
        # Each setting has its own history: what Claude was shown earlier in a session is not shown again.
        histories = {name: RecallHistory(context.paths, "") for name, context in contexts.items()}
        try:
            for prompt, time in past_prompts(path, oldest):
                report("session %d of %d" % (number, len(paths)), "")
                decisions = {name: _decide(prompt, histories[name], contexts[name]) for name in contexts}
                yield Replayed(prompt, time, decisions)
        except (FileNotFoundError, Unreadable) as error:
            report("", "skipped: %s" % error)


def past_prompts(path: str, oldest: float) -> Iterator[tuple[Prompt, str]]:
    """Yield the prompts that a person typed in a transcript, from `oldest` (seconds since 1970) on, with their times in UTC.

    Those without a time are included. Repeated rows, such as those of a resumed session, are yielded once. Raises OSError.
    """
    seen: set[str] = set()
    first = iso(oldest)
    question = reply = ""
    with open_transcript(path) as file:
        for record in Lines(file):
            reply = without_private(reply_text_of(record)).strip() or reply
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


def tried(prompt: Prompt, history: RecallHistory, context: Context) -> Answer:
    """Return the answer to a prompt, without judges; what is injected is added to `history`."""
    answer = Answer("prompt")
    if admit(answer, prompt, context.settings):
        recall(answer, prompt, MAX_CHARACTERS, context, history)
    return answer


def _decide(prompt: Prompt, history: RecallHistory, context: Context) -> dict[str, Any]:
    record = tried(prompt, history, context).record
    told = {name: record[name] for name in ("injected", "pointed", "reason")}
    outcome = record["outcome"] if record["outcome"] in NAMES else "silent"
    return {"outcome": outcome, **told, "tokens": record.get("tokens", 0)}


def totals_of(decisions: list[dict[str, Any]]) -> dict[str, int]:
    """Return how many decisions had each outcome, and their tokens."""
    totals = {name: sum(decision["outcome"] == name for decision in decisions) for name in NAMES}
    return {**totals, "prompts": len(decisions), "tokens": sum(decision["tokens"] for decision in decisions)}


def try_prompt(text: str, context: Context) -> dict[str, object]:
    """Return the decision about a prompt as the first one of a session; no judge is asked, and nothing is recorded.

    Its record says that it was `tried`: what Claude has, it has from the session's start.
    """
    if switched_off():
        return Answer("prompt").withhold(_SWITCHED_OFF, "skipped").record
    return {**tried(Prompt(text, "", ""), _started_history(context), context).record, "tried": True}


def try_past(text: str, context: Context) -> list[dict[str, object]]:
    """Return the decision about past sessions on a prompt, as its hook would make it; empty if it would show none."""
    prompt, gate = Prompt(text, "", ""), load_gate()
    said, is_open = prompt.visible_text, prompt.is_from_user and not switched_off()
    asks = is_open and gate.may_ask_about_past(said) and may_ask(said) and not gate.opts_out(text)
    shown = answer_ask(said, context, []) if asks else None
    return [shown.record()] if shown else []


def _started_history(context: Context) -> RecallHistory:
    """Return the history of a session that has just started with its catalog; it is never saved."""
    history = RecallHistory(context.paths, "")
    connection = current_index(context) if is_catalog_on(context) else None
    if connection is not None:
        with closing(connection), suppress(*INDEX_ERRORS):  # recall itself says what is wrong with the index
            session_catalog(connection, "startup", context, history)
    return history


def held_back(prompt: str, context: Context) -> list[Hit]:
    """Return the pending and expired memories among the best matches of a prompt that would be shown in full or by title, best first."""
    try:
        hits = search(context.paths, context.settings, prompt, _POOL).hits
    except (IndexUnavailable, SqliteError, RuntimeError):
        return []
    needed = context.settings.number("retrieval.pointer_threshold")
    held = [hit for hit in hits if hit.trust == PENDING or "" < hit.expires_at <= now_iso()]
    return [hit for hit in held if hit.pointer_confidence >= needed]
