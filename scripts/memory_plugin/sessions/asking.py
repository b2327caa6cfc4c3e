"""The questions that grade a session, one a part, and how their answers become one grade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.judge.question import Question
from ..kernel.judge.rubric import load_rubric
from .material import Chunk, Digest, chunks, facts
from .merging import Part, merge
from .reply import read_scores, strike
from .signals import Signals, collect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.settings.load import Settings

__all__ = ["RUBRIC", "Prepared", "grade", "prepare", "questions", "rubric_digest"]

RUBRIC = "sessions/score"
# How far the estimate of tokens may lie below the truth: for what is reserved, not for what is paid.
_MARGIN = 1.3


class Prepared(NamedTuple):
    """A session read and made ready to be judged."""

    path: str
    signals: Signals
    task: str
    parts: list[Chunk]
    left_out: int

    @property
    def tokens(self) -> float:
        """The estimated tokens of what is shown."""
        return sum(part.tokens for part in self.parts)


def prepare(path: str, settings: Settings, most_tokens: float | None = None) -> Prepared:
    """Read a transcript once: its signals, and its turns as they are shown.

    With `most_tokens` they are thinned to that and shown in one part.  Raises FileNotFoundError and Unreadable.
    """
    digest = Digest(most_tokens)
    signals = collect(path, digest.add)
    above, target = (settings.integer("sessions.chunk_" + name) for name in ("above_tokens", "tokens"))
    parts = chunks(digest.shown, most_tokens or above, most_tokens or min(target, above))
    return Prepared(path, signals, digest.task, parts, digest.left_out)


def rubric_digest() -> str:
    """The version of the question: scores of different versions are different scores."""
    return load_rubric(RUBRIC).digest


def questions(prepared: Prepared) -> list[Question]:
    """One question a part; each holds what was asked first and the signals of the whole session."""
    rubric = load_rubric(RUBRIC)
    known = facts(prepared.signals)
    asked = []
    for at, part in enumerate(prepared.parts):
        data: dict[str, Any] = {"task": prepared.task, "session": known, "turns": part.turns}
        if len(prepared.parts) > 1:
            data["part"] = {"number": at + 1, "of": len(prepared.parts)}
        if prepared.left_out:
            data["turns_left_out_of_the_session"] = prepared.left_out
        asked.append(Question(rubric, data, read_scores, int((part.tokens + 2000) * _MARGIN)))
    return asked


def grade(prepared: Prepared, answers: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    """One grade out of the parts' answers, its evidence checked; None when no part was graded.

    Confidence is lowered by the share of turns that were not shown.
    """
    if not any(answers):
        return None
    turns = prepared.signals.totals.turns
    struck = sum(strike(answer, turns) for answer in answers if answer)
    grade = merge([Part(chunk.tokens, answer) for chunk, answer in zip(prepared.parts, answers)])
    grade["struck"] = struck
    if grade["confidence"] is not None and turns:
        grade["confidence"] = round(grade["confidence"] * (1 - prepared.left_out / turns), 4)
    return grade
