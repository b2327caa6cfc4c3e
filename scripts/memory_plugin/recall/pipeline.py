"""Recall for one prompt, from top to bottom: gate, index, ranking, judges, decision, the block, the record.

Two thresholds decide: from `inject_threshold` a memory is injected in full, from `pointer_threshold` Claude gets a line that points at it.
The judges, where the user asked for them, decide about what the thresholds are unsure of.
"""

from __future__ import annotations

from ..kernel.files import cause
from .gate import SHORT, effective_length, load_gate, typed_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from .decision import Choice
    from .judging import Judged
    from .lookup import Lookup
    from .ranking import Hit
    from .session import RecallHistory

__all__ = ["Answer", "Prompt", "recall"]

_NEAR_MISSES = 5
_PLACE = "prompt"
_ROOM = 9500  # characters; the host cuts a hook's output at 10,000
_RANKING = 3.0  # seconds; what is left of the prompt's time is for the judges


class Prompt:
    """A prompt as the host hands it over; `room` is how many characters of the hook's output are left."""

    __slots__ = ("id", "judges_off", "room", "session", "text", "transcript")

    def __init__(
        self, text: str, session: str, identity: str, transcript: str, *, judges_off: bool = False
    ) -> None:
        self.room = _ROOM
        self.text = text
        self.session = session
        self.id = identity
        self.transcript = transcript
        self.judges_off = judges_off


class Answer:
    """What recall says to a prompt: the block to inject, empty for silence, and the record of how that came.

    `receipt` is the line that tells the person what Claude was told, `notice` one about the judges; both are mostly empty.
    """

    __slots__ = ("context", "notice", "receipt", "record", "wants_healing")

    def __init__(self) -> None:
        self.context = ""
        self.notice = ""
        self.receipt = ""
        self.wants_healing = False
        self.record: dict[str, Any] = {
            "place": _PLACE,
            "outcome": "failed",
            "reason": "fault",
            "answered_by": "none",
            "candidates": [],
            "injected": [],
            "pointed": [],
        }

    def silent(self, reason: str, outcome: str = "silent") -> Answer:
        """This answer, saying nothing for that reason."""
        self.record.update(outcome=outcome, reason=reason)
        return self


def recall(answer: Answer, prompt: Prompt, places: Places, settings: Settings, deadline: Deadline) -> Answer:
    """The answer to one prompt, filled in. Raises only what is a fault of ours: files, indexes and time that fail are answers too."""
    if not settings.flag("retrieval.enabled"):
        return answer.silent("disabled", "skipped")
    text, extra, refusal = _read_prompt(prompt, settings)
    if refusal:
        return answer.silent(refusal, "skipped")
    from .lookup import Lookup  # SQLite is not loaded for a prompt that is skipped
    from .session import RecallHistory

    lookup = Lookup(places, settings, deadline.within(_RANKING))
    history = RecallHistory(places, prompt.session)
    try:
        hits = lookup.best(text, extra, settings.integer("retrieval.judge.candidate_pool_size"))
        judged = None
        if hits and lookup.answered_by == "fts5" and settings.judge_asked_for("retrieval"):
            fresh = [
                hit for hit in hits if not history.was_injected(hit.key, hit.inject, _repeat_after(settings))
            ]
            judged = _judged(answer, prompt, (text, extra), fresh, places, settings, deadline)
        choice = _decide(answer, prompt, lookup, history, hits, judged, settings)
        _describe(answer, lookup, hits, choice, settings)
    finally:
        answer.wants_healing = answer.wants_healing or lookup.wants_healing
        lookup.close()
    _keep(history, answer)
    return answer


def _read_prompt(prompt: Prompt, settings: Settings) -> tuple[str, str, str]:
    """The text to recall for, the turn before where the text points back at it, and why there is nothing to recall for."""
    gate = load_gate()
    text = typed_text(prompt.text)
    refusal = gate.refusal(text)
    if refusal:
        return text, "", refusal
    extra = ""
    if (
        settings.flag("retrieval.followups")
        and prompt.transcript
        and gate.is_followup(text, settings.integer("retrieval.followup_length"))
    ):
        from .followup import last_turn

        extra = last_turn(prompt.transcript)
    if not extra and effective_length(text) < settings.integer("retrieval.min_prompt_length"):
        refusal = SHORT
    return text, extra, refusal


def _describe(
    answer: Answer, lookup: Lookup, hits: list[Hit], choice: Choice | None, settings: Settings
) -> None:
    """Put into the record what was found: the best few, and whatever else was said."""
    said = {hit.key for hit in choice.full + choice.pointers} if choice else set()
    withheld = choice.withheld if choice else {}
    answer.record.update(
        answered_by=lookup.answered_by,
        candidates=[
            _candidate(hit, withheld.get(hit.key, ""))
            for at, hit in enumerate(hits)
            if at < _NEAR_MISSES or hit.key in said
        ],
        found=len(hits),
        inject_threshold=settings.number("retrieval.inject_threshold"),
        pointer_threshold=settings.number("retrieval.pointer_threshold"),
        healed=lookup.healed,
        trouble=lookup.trouble,
    )


def _candidate(hit: Hit, withheld: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "key": hit.key,
        "confidence": round(hit.confidence, 4),
        "pointer_confidence": round(hit.pointer_confidence, 4),
        "score": round(hit.score, 3),
    }
    if withheld:
        found["withheld"] = withheld
    found["parts"] = _numbers(hit.parts)
    return found


def _numbers(parts: dict[str, Any]) -> dict[str, float]:
    """The parts of a score that are numbers: matched words stay out of the ledger, since they are the prompt's."""
    return {name: round(value, 3) for name, value in parts.items() if isinstance(value, (int, float))}


def _repeat_after(settings: Settings) -> int:
    return settings.integer("retrieval.repeat_after_turns")


def _judged(
    answer: Answer,
    prompt: Prompt,
    texts: tuple[str, str],
    hits: list[Hit],
    places: Places,
    settings: Settings,
    deadline: Deadline,
) -> Judged:
    """Ask the judges; what they said goes into the record."""
    from .judging import AUTO, Candidates, judge_candidates

    candidates = Candidates(texts[0], hits, texts[1])
    judged = judge_candidates(candidates, AUTO, places, settings, prompt.session, deadline, prompt.judges_off)
    answer.record["judge"] = judged.record()
    answer.notice = judged.notice
    return judged


def _decide(
    answer: Answer,
    prompt: Prompt,
    lookup: Lookup,
    history: RecallHistory,
    hits: list[Hit],
    judged: Judged | None,
    settings: Settings,
) -> Choice | None:
    """Say what deserves it; None where nothing was there to decide."""
    from .decision import Limits, choose

    if not hits:
        answer.silent(lookup.trouble or "no_match")
        return None
    limits = Limits(settings, prompt.room)
    if judged is not None:
        limits.max_inject = min(limits.max_inject, judged.most)
    silenced = "max_inject" if not settings.integer("retrieval.max_inject") else judged and judged.silenced
    if silenced:
        answer.silent(silenced)
        return None
    approvals = judged.approvals if judged is not None else {}
    choice = choose(hits, approvals, limits, history, lambda hit: bool(lookup.first_as_indexed([hit], 1)))
    answer.wants_healing = "edited" in choice.withheld.values()
    if choice.full or choice.pointers:
        _say(answer, choice, history, settings)
    else:
        answer.silent(choice.reason)
    return choice


def _say(answer: Answer, choice: Choice, history: RecallHistory, settings: Settings) -> None:
    """Render what was chosen, and note it for the session and in the record."""
    from .rendering import estimated_tokens, pointer_line, receipt, render

    answer.context = render(choice.full, choice.pointers, with_header=not history.header_said)
    answer.receipt = receipt(choice.full, choice.pointers, settings.text("retrieval.receipt"))
    history.header_said = True
    for hit in choice.full:
        history.note_injected(hit.key, hit.inject)
    for hit in choice.pointers:
        history.note_pointed(hit.key, pointer_line(hit))
    answer.record.update(
        outcome="injected" if choice.full else "pointed",
        reason="",
        injected=[hit.key for hit in choice.full],
        pointed=[hit.key for hit in choice.pointers],
        tokens=estimated_tokens(answer.context),
        characters=len(answer.context),
    )


def _keep(history: RecallHistory, answer: Answer) -> None:
    """Keep what the session was told; where that fails, being told twice is the lesser evil."""
    try:
        history.save()
    except OSError as error:
        answer.record["trouble"] = answer.record["trouble"] or "session: " + cause(error)
