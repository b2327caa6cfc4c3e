"""Signs that a sentence is meant to last, added up: they find what no rule of `statements.json` foresees.

A rule names a form of sentence; a cue names one property of it, such as a word for "every time", a reason, or a contrast. What has enough
of them, and little that speaks against it, is proposed.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from .hints import ENOUGH_POINTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Cue", "Score", "cues", "score"]

_SUREST = 0.75  # strength of a sentence with many signs: the rules are surer
_LEAST = 0.5
_CLAUSE = re.compile(r"[,;:] (?:and |but |so )?")
_FEWEST_BLANKS = 3  # of a clause that says something by itself
_FOR_ALL = -4  # a question or a doubt speaks against every clause of its sentence
_STEP = 0.05  # of strength, for each point above the least


class Cue(NamedTuple):
    """One sign: its weight, below zero for one that speaks against a lasting statement, and what a sentence with it is."""

    id: str
    weight: int
    kind: str
    category: str
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None


class Score(NamedTuple):
    """What the cues say of a sentence: the points, and the heaviest sign for it."""

    points: int
    cue: Cue

    @property
    def strength(self) -> float:
        """Return how sure that is, from 0 to 1."""
        return min(_SUREST, _LEAST + _STEP * (self.points - ENOUGH_POINTS))


def score(sentence: str) -> Score | None:
    """Return the score of a sentence, or of a clause of it, that has enough signs of a lasting statement; None for any other."""
    found = [cue for cue in cues() if _holds(cue, sentence)]
    scored = _enough(found)
    if scored or any(cue.weight <= _FOR_ALL for cue in found):
        return scored
    clauses = [clause for clause in _CLAUSE.split(sentence) if clause.count(" ") >= _FEWEST_BLANKS]
    of_clauses = [_enough([cue for cue in cues() if _holds(cue, clause)]) for clause in clauses]
    return max((one for one in of_clauses if one), key=lambda one: one.points, default=None)


def _enough(found: Sequence[Cue]) -> Score | None:
    points = sum(cue.weight for cue in found)
    return Score(points, max(found, key=lambda cue: cue.weight)) if points >= ENOUGH_POINTS else None


def _holds(cue: Cue, sentence: str) -> bool:
    return cue.pattern.search(sentence) is not None and not (cue.unless and cue.unless.search(sentence))


@cache
def _table() -> dict[str, Any]:
    return load_data("capture", "cues")


@cache
def cues() -> tuple[Cue, ...]:
    """Return the cues of `config/capture/cues.json`."""
    return tuple(_cue(entry, _table()["parts"].items()) for entry in _table()["cues"])


def _cue(entry: dict[str, Any], parts: Iterable[tuple[str, str]]) -> Cue:
    compiled = [_compiled(entry.get(name, ""), parts) for name in ("pattern", "unless")]
    pattern, unless = compiled
    assert pattern is not None
    return Cue(
        entry["id"], entry["weight"], entry.get("kind", ""), entry.get("category", ""), pattern, unless
    )


def _compiled(pattern: str, parts: Iterable[tuple[str, str]]) -> re.Pattern[str] | None:
    for name, part in parts:
        pattern = pattern.replace("{%s}" % name, "(?:%s)" % part)
    return re.compile(pattern, re.IGNORECASE) if pattern else None
