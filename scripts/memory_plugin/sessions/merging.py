"""Merge the parts of a session, graded one by one, into one grade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .dimensions import dimensions, limit
from .scorer_reply import drop_bad_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .dimensions import ScoreDimension
    from .scoring_request import PreparedSession

__all__ = ["RULES", "GradedPart", "grade", "merge"]

_COLLAPSE = 2  # levels by which an earlier part must be worse


class GradedPart(NamedTuple):
    """One part: its estimated tokens, and its scores from `read_scores`, or None when it could not be graded."""

    tokens: float
    scores: dict[str, Any] | None


def grade(prepared: PreparedSession, answers: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return one grade from the answers for the parts, its evidence checked; None when no part was graded.

    Confidence is lowered by the share of turns that were not shown.
    """
    if not any(answers):
        return None
    turns = prepared.signals.totals.turns
    struck = sum(drop_bad_evidence(answer, turns) for answer in answers if answer)
    merged = merge([GradedPart(chunk.tokens, answer) for chunk, answer in zip(prepared.parts, answers)])
    if merged["confidence"] is not None and turns:
        merged["confidence"] = round(merged["confidence"] * (1 - prepared.left_out / turns), 4)
    return {**merged, "struck": struck}


def merge(parts: Sequence[GradedPart]) -> dict[str, Any]:
    """Return one grade from parts in order, each dimension by its own rule; `merge` holds the rule and the scores of the parts.

    A dimension that its rule cannot determine because a part is missing is left out.
    """
    if len(parts) == 1 and parts[0].scores is not None:
        return {**parts[0].scores, "dimensions": dict(parts[0].scores["dimensions"])}
    graded = [part for part in parts if part.scores is not None]
    found: dict[str, Any] = {}
    for name, dimension in dimensions().items():
        given = [_score(part, name) for part in parts]
        score = RULES[dimension.merge](given, [part.tokens for part in parts])
        if score is not None:
            found[name] = _entry(name, dimension, score, given, graded)
    sums = {
        count: sum(part.scores[count] for part in graded if part.scores)
        for count in ("clamped", "unreadable")
    }
    return {
        "dimensions": found,
        "root_cause": _cause(graded),
        "improvements": _improvements(graded),
        "confidence": _confidence(parts),
        **sums,
    }


def _score(part: GradedPart, name: str) -> float | None:
    entry = part.scores["dimensions"].get(name) if part.scores else None
    return entry["score"] if entry else None


def _by_tokens(scores: Sequence[float | None], tokens: Sequence[float]) -> float | None:
    """Return the mean weighted by tokens; None unless every part has a score."""
    known = [(score, weight) for score, weight in zip(scores, tokens) if score is not None]
    weight = sum(weight for _, weight in known)
    if len(known) < len(scores) or weight <= 0:
        return None
    return round(sum(score * weight for score, weight in known) / weight, 4)


def _last(scores: Sequence[float | None], _tokens: Sequence[float]) -> float | None:
    """Return the last part's score: it has seen the end."""
    return scores[-1]


def _last_or_worse(scores: Sequence[float | None], _tokens: Sequence[float]) -> float | None:
    """Return the last part's level, minus one if an earlier part was worse by two levels or more, so that a bad phase still counts."""
    last = scores[-1]
    if last is None:
        return None
    worst = min((score for score in scores if score is not None), default=last)
    return last - 1 if last - worst >= _COLLAPSE else last


RULES: dict[str, Callable[[Sequence[float | None], Sequence[float]], float | None]] = {
    "tokens": _by_tokens,
    "last": _last,
    "last_or_worse": _last_or_worse,
}


def _entry(
    name: str,
    dimension: ScoreDimension,
    score: float,
    given: Sequence[float | None],
    graded: Sequence[GradedPart],
) -> dict[str, Any]:
    entries = [
        part.scores["dimensions"][name]
        for part in graded
        if part.scores and name in part.scores["dimensions"]
    ]
    if dimension.merge != "tokens":
        entries.reverse()  # the last part, which decided, comes first
    evidence = [item for items in _interleaved(entries) for item in items]
    return {
        "score": score,
        "label": dimension.label(score),
        "evidence": evidence[: limit("evidence")],
        "rationale": " ".join(dict.fromkeys(entry["rationale"] for entry in entries))[: limit("text")],
        "merge": {"rule": dimension.merge, "parts": list(given)},
    }


def _interleaved(entries: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the entries' first pieces of evidence, then their second ones, and so on."""
    longest = max((len(entry["evidence"]) for entry in entries), default=0)
    return [
        [entry["evidence"][at] for entry in entries if at < len(entry["evidence"])] for at in range(longest)
    ]


def _cause(graded: Sequence[GradedPart]) -> str | None:
    given = {part.scores["root_cause"] for part in graded if part.scores} - {None}
    real = given - {"none"}
    return next(iter(real)) if len(real) == 1 else "multiple" if real else "none" if given else None


def _improvements(graded: Sequence[GradedPart]) -> list[dict[str, str]]:
    every = [item for part in graded if part.scores for item in part.scores["improvements"]]
    unique = {(item["dimension"], item["issue"]): item for item in every}
    return list(unique.values())[: limit("improvements")]


def _confidence(parts: Sequence[GradedPart]) -> float | None:
    return _by_tokens(
        [part.scores["confidence"] if part.scores else None for part in parts],
        [part.tokens for part in parts],
    )
