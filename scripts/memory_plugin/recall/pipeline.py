"""Recall for one prompt, from top to bottom: gate, index, ranking, floor, judges, what the session knows already, the block, the record.

What the rules are sure of is a whole answer; the judges, where the user asked for them, see what lies between the floors.
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
    from .lookup import Lookup
    from .ranking import Hit
    from .session import Told

__all__ = ["Answer", "Prompt", "recall"]

_NEAR_MISSES = 5
_RANKING = 3.0  # seconds; what is left of the prompt's time is for the judges


class Prompt:
    """A prompt as the host hands it over."""

    __slots__ = ("id", "judges_off", "session", "text", "transcript")

    def __init__(
        self, text: str, session: str, identity: str, transcript: str, *, judges_off: bool = False
    ) -> None:
        self.text = text
        self.session = session
        self.id = identity
        self.transcript = transcript
        self.judges_off = judges_off


class Answer:
    """What recall says to a prompt: the block to inject, empty for silence, and the record of how that came.

    `notice` is a line for the user, mostly empty.
    """

    __slots__ = ("context", "notice", "record", "wants_healing")

    def __init__(self) -> None:
        self.context = ""
        self.notice = ""
        self.wants_healing = False
        self.record: dict[str, Any] = {
            "outcome": "failed",
            "reason": "fault",
            "answered_by": "none",
            "candidates": [],
            "injected": [],
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
    from .session import Told

    lookup = Lookup(places, settings, deadline.within(_RANKING))
    told = Told(places, prompt.session)
    try:
        hits = lookup.best(text, extra, settings.integer("retrieval.judge.candidate_pool_size"))
        if lookup.answered_by == "fts5" and settings.judge_asked_for("retrieval"):
            fresh = [hit for hit in hits if not told.knows(hit.key, hit.inject, _repeat_after(settings))]
            passed = _judged(answer, prompt, (text, extra), fresh, places, settings, deadline)
        else:
            floor = settings.number("retrieval.high_floor")
            passed = [hit for hit in hits if hit.confidence >= floor]
        _decide(answer, lookup, told, hits, passed, settings)
        _describe(answer, lookup, hits, settings)
    finally:
        answer.wants_healing = lookup.wants_healing
        lookup.close()
    _keep(told, answer)
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


def _describe(answer: Answer, lookup: Lookup, hits: list[Hit], settings: Settings) -> None:
    shown = [
        {
            "key": hit.key,
            "confidence": round(hit.confidence, 4),
            "score": round(hit.score, 3),
            "parts": _numbers(hit.parts),
        }
        for hit in hits[:_NEAR_MISSES]
    ]
    answer.record.update(
        answered_by=lookup.answered_by,
        candidates=shown,
        found=len(hits),
        floor=settings.number("retrieval.high_floor"),
        healed=lookup.healed,
        trouble=lookup.trouble,
    )


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
) -> list[Hit]:
    """What the floors and the judges let pass; what they said goes into the record."""
    from .judging import AUTO, Candidates, judge_candidates

    candidates = Candidates(texts[0], hits, texts[1])
    judged = judge_candidates(candidates, AUTO, places, settings, prompt.session, deadline, prompt.judges_off)
    answer.record["judge"] = judged.record()
    answer.notice = judged.notice
    return judged.kept


def _decide(  # noqa: PLR0911  (one return for each reason)
    answer: Answer, lookup: Lookup, told: Told, hits: list[Hit], passed: list[Hit], settings: Settings
) -> Answer:
    """Inject what passed and is as its file says, is new to the session and fits the budget."""
    from .rendering import estimated_tokens, render, within_budget

    if not hits:
        return answer.silent(lookup.trouble or "no_match")
    most = settings.integer("retrieval.max_inject")
    if not most:
        return answer.silent("max_inject")
    if not passed:
        return answer.silent("declined" if answer.record.get("judge", {}).get("verdicts") else "below_floor")
    sure = lookup.first_as_indexed(passed, most)
    if not sure:
        return answer.silent("edited")
    fresh = [hit for hit in sure if not told.knows(hit.key, hit.inject, _repeat_after(settings))]
    if not fresh:
        return answer.silent("already_injected")
    chosen = within_budget(
        fresh, settings.integer("retrieval.max_tokens"), settings.integer("retrieval.max_characters")
    )
    if not chosen:
        return answer.silent("over_budget")
    answer.context = render(chosen)
    for hit in chosen:
        told.note(hit.key, hit.inject)
    answer.record.update(
        outcome="injected",
        reason="",
        injected=[hit.key for hit in chosen],
        tokens=estimated_tokens(answer.context),
        characters=len(answer.context),
    )
    return answer


def _keep(told: Told, answer: Answer) -> None:
    """Keep what the session was told; where that fails, being told twice is the lesser evil."""
    try:
        told.save()
    except OSError as error:
        answer.record["trouble"] = answer.record["trouble"] or "session: " + cause(error)
