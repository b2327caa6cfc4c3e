"""Signals from a judge, for an answer that came without them; none within the deadline, and the rules read it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernel.judge.judge import Judge
from ..kernel.judge.material import excerpt
from ..kernel.judge.question import Question
from ..kernel.judge.rubric import load_rubric
from .signals import checked

if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from .store import Interview

__all__ = ["judged_signals"]

_RUBRIC = "interview/signals"
_TURNS, _CHARACTERS = 4, 800


def judged_signals(
    interview: Interview, answer: str, places: Places, settings: Settings, session: str, deadline: Deadline
) -> tuple[dict[str, Any], str]:
    """Return the signals that a judge reads from an answer, and the failure's name, empty where it answered.

    The caller has made sure that the user wants a judge and that the project may have one.
    """
    judge = Judge("interview", settings.text("interview.judge.model"), places, settings, session, helper=True)
    verdict = judge.ask(
        _question(interview, answer), deadline.within(settings.integer("interview.judge.timeout_ms") / 1000)
    )
    return (verdict.values["signals"], "") if verdict.values is not None else ({}, verdict.failure)


def _question(interview: Interview, answer: str) -> Question:
    turns = [
        {"question": excerpt(turn["question"], _CHARACTERS), "answer": excerpt(turn["answer"], _CHARACTERS)}
        for turn in interview.state["turns"][-_TURNS:]
    ]
    asked = interview.question or (interview.state["next"] or {}).get("probe", "")
    data = {"before": turns, "question": excerpt(asked, _CHARACTERS), "answer": excerpt(answer, _CHARACTERS)}
    return Question(load_rubric(_RUBRIC), data, lambda value: _read(value, interview.setup["signals"]))


def _read(value: dict[str, Any], table: dict[str, Any]) -> dict[str, Any] | None:
    """Return the valid signals of a reply, none where it says null to what it names; None when it holds none in any form."""
    found, dropped = checked(value, table)
    says_none = not dropped and any(name in table["signals"] for name in value)
    return {"signals": found} if found or says_none else None
