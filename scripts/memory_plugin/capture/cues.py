"""Signs that a sentence is meant to last, or is not: each is one property of it, such as a word for "every time", a reason, or a contrast.

A rule of `statements.json` names a form of sentence. What the signs of a sentence are worth together, and its words, says `worth`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Cue", "cues", "cues_in", "heaviest"]


class Cue(NamedTuple):
    """One sign: its weight among the others, below zero for one that speaks against a lasting statement, and what a sentence with it is."""

    id: str
    weight: int
    kind: str
    category: str
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None


def cues_in(sentence: str) -> list[Cue]:
    """Return the signs that a sentence holds."""
    return [cue for cue in cues() if _holds(cue, sentence)]


def heaviest(found: Sequence[Cue]) -> Cue | None:
    """Return the heaviest sign for a lasting statement, which says what kind of one it is; None if there is none."""
    return max((cue for cue in found if cue.weight > 0), key=lambda cue: cue.weight, default=None)


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
