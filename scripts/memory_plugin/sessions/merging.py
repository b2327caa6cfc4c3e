"""Merge the answers about a session's parts into one grade."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .dimensions import dimensions, reply_limit
from .scorer_reply import drop_bad_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .dimensions import ScoreDimension
    from .scoring_request import PreparedSession

_COLLAPSE = 2  # levels by which an earlier part must be worse to lower the score


class GradedPart(NamedTuple):
    """One part: its estimated tokens, and its scores from `read_scores`, or None if it could not be graded."""

    tokens: float
    scores: dict[str, Any] | None


def merge_answers(
    prepared: PreparedSession, answers: Sequence[dict[str, Any] | None]
) -> dict[str, Any] | None:
    """Check the evidence in the answers about all parts and merge them; None if no part was graded.

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
    """Merge parts in order into one grade, each dimension by its own rule.

    A dimension's `merge` entry contains the rule and the parts' scores. The dimension is left out if its rule needs a part that is missing.
    """
    if len(parts) == 1 and parts[0].scores is not None:
        return {**parts[0].scores, "dimensions": dict(parts[0].scores["dimensions"])}
    graded = [part for part in parts if part.scores is not None]
    merged: dict[str, Any] = {}
    for name, dimension in dimensions().items():
        scores = [_score(part, name) for part in parts]
        score = RULES[dimension.merge](scores, [part.tokens for part in parts])
        if score is not None:
            merged[name] = _entry(name, dimension, score, scores, graded)
    sums = {
        count: sum(part.scores[count] for part in graded if part.scores)
        for count in ("clamped", "unreadable")
    }
    return {
        "dimensions": merged,
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
    weighted = [(score, weight) for score, weight in zip(scores, tokens) if score is not None]
    total_weight = sum(weight for _, weight in weighted)
    if len(weighted) < len(scores) or total_weight <= 0:
        return None
    return round(sum(score * weight for score, weight in weighted) / total_weight, 4)


def _last(scores: Sequence[float | None], _tokens: Sequence[float]) -> float | None:
    """Return the score of the last part, which shows the outcome."""
    return scores[-1]


def _last_or_worse(scores: Sequence[float | None], _tokens: Sequence[float]) -> float | None:
    """Return the last part's level, or one less if an earlier part was worse by two levels or more."""
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
    part_scores: Sequence[float | None],
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
        "evidence": evidence[: reply_limit("evidence")],
        "rationale": " ".join(dict.fromkeys(entry["rationale"] for entry in entries))[: reply_limit("text")],
        "merge": {"rule": dimension.merge, "parts": list(part_scores)},
    }


def _interleaved(entries: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the entries' first pieces of evidence, then their second ones, and so on."""
    longest = max((len(entry["evidence"]) for entry in entries), default=0)
    return [
        [entry["evidence"][at] for entry in entries if at < len(entry["evidence"])] for at in range(longest)
    ]


def _cause(graded: Sequence[GradedPart]) -> str | None:
    """Return the parts' root cause, `multiple` if they differ, or None if no part names one."""
    named = {part.scores["root_cause"] for part in graded if part.scores} - {None}
    causes = named - {"none"}
    if len(causes) > 1:
        return "multiple"
    return next(iter(causes or named), None)


def _improvements(graded: Sequence[GradedPart]) -> list[dict[str, str]]:
    items = [item for part in graded if part.scores for item in part.scores["improvements"]]
    unique = {(item["dimension"], item["issue"]): item for item in items}
    return list(unique.values())[: reply_limit("improvements")]


def _confidence(parts: Sequence[GradedPart]) -> float | None:
    return _by_tokens(
        [part.scores["confidence"] if part.scores else None for part in parts],
        [part.tokens for part in parts],
    )
