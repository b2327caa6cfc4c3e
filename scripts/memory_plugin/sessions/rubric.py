"""Define a session's grade: six dimensions with scales and weights, the overall score, and how a scorer's answers are read and merged.

Scores are kept within their scales, evidence names turns, and texts are short and clean.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from ..kernel.fastjson import as_number
from ..kernel.judge.question import Values, one_line
from ..kernel.paths import load_data
from ..kernel.settings.load import user_block

OVERALL = "overall_quality"
CAUSES = (
    *("none", "tool_misuse", "process_violation", "context_waste"),
    *("error_cascade", "output_quality", "multiple"),
)
_TURN = re.compile(r"\b(?:turns?|traces?|t)[ #:.]{0,2}(\d{1,6})\b", re.IGNORECASE)
_MAX_ITEMS = 20
_MAX_EVIDENCE = 3
_MAX_IMPROVEMENTS = 5
_MAX_TEXT = 400
_COLLAPSE = 2  # levels by which an earlier part must be worse to lower the score


class ScoreDimension(NamedTuple):
    """One dimension; `labels` name the levels of a categorical one and are empty for a number from 0 to 1."""

    id: str
    weight: float
    labels: tuple[str, ...]
    merge: str
    description: str

    @property
    def highest(self) -> int:
        """Return the highest score."""
        return len(self.labels) - 1 if self.labels else 1

    def label(self, score: float) -> str:
        """Return a level's name; empty for a number."""
        return self.labels[int(score)] if self.labels else ""


@cache
def dimensions() -> dict[str, ScoreDimension]:
    """Return all dimensions by name, in the table's order, with the weights of the setting `sessions.weights`."""
    weights = user_block("sessions.weights")
    return {
        entry["id"]: ScoreDimension(
            entry["id"],
            float(as_number(weights[entry["id"]]) or 0),
            tuple(entry.get("labels", ())),
            entry["merge"],
            entry["description"],
        )
        for entry in load_data("sessions", "dimensions")["dimensions"]
    }


def overall_description() -> str:
    """Return the description of the overall score."""
    return str(load_data("sessions", "dimensions")["overall"]["description"])


def overall_score(scores: Mapping[str, float]) -> float | None:
    """Return the weighted sum of the normalized scores (`session-scoring.md`, Aggregate), to four digits.

    None if a dimension is missing, because missing is not zero.
    """
    if not dimensions().keys() <= scores.keys():
        return None
    weighted = [scores[name] / dim.highest * dim.weight for name, dim in dimensions().items()]
    return round(sum(weighted), 4)


def read_scores(value: Values) -> Values | None:
    """Return `dimensions`, `root_cause`, `improvements`, `confidence` and `off_scale`; None if no dimension has a readable score.

    A dimension without one is left out, never scored as 0. A level is a whole number or its label. A number outside its scale is left out
    and counted; if one is too high by 1 or more, the scorer uses another scale, and only its labels count.
    """
    scored: Values = {}
    entries = {name: value[name] for name in dimensions() if isinstance(value.get(name), dict)}
    given = {name: read_score(entry.get("score"), dimensions()[name]) for name, entry in entries.items()}
    has_other_scale = any((number or 0) >= dimensions()[name].highest + 1 for name, number in given.items())
    for name, entry in entries.items():
        score, dimension = given[name], dimensions()[name]
        is_label = isinstance(entry.get("score"), str)
        if score is None or not 0 <= score <= dimension.highest or (has_other_scale and not is_label):
            continue
        scored[name] = {
            "score": int(score) if dimension.labels else round(float(score), 4),
            "label": dimension.label(score),
            "evidence": _evidence(entry.get("evidence")),
            "rationale": _text(entry.get("rationale")),
        }
    if not scored:
        return None
    cause, confidence = value.get("root_cause"), _finite(value.get("confidence"))
    return {
        "dimensions": scored,
        "root_cause": cause if cause in CAUSES else None,
        "improvements": _improvements(value.get("improvements")),
        "confidence": None if confidence is None else round(float(min(max(confidence, 0), 1)), 4),
        "off_scale": sum(number is not None for number in given.values()) - len(scored),
    }


def read_score(value: object, dimension: ScoreDimension) -> float | None:
    """Return a score, which may be outside its scale; None for anything but a number, or a level's whole number or label."""
    if isinstance(value, str) and value.strip().lower() in dimension.labels:
        return dimension.labels.index(value.strip().lower())
    number = _finite(value)
    return None if number is None or (dimension.labels and number != int(number)) else number


def _finite(value: object) -> float | None:
    number = as_number(value)
    return number if number is not None and abs(number) < math.inf else None


def _evidence(value: object) -> list[Values]:
    """Return evidence items as turns and text; in the reply they are objects, or sentences that name their turns."""
    items = []
    for item in value[:_MAX_ITEMS] if isinstance(value, list) else ():
        if isinstance(item, dict):
            named = item.get("turns", item.get("turn"))
            numbers = named[:_MAX_ITEMS] if isinstance(named, list) else [named]
            items.append({"turns": numbers, "what": _text(item.get("what", item.get("text")))})
        elif isinstance(item, str):
            items.append({"turns": [int(number) for number in _TURN.findall(item)], "what": _text(item)})
    return items


def _improvements(value: object) -> list[dict[str, str]]:
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    improvements = [
        {"dimension": item["dimension"], "issue": _text(item.get("issue")), "fix": _text(item.get("fix"))}
        for item in items
        if item.get("dimension") in list(dimensions())
    ]
    return [item for item in improvements if item["issue"]][:_MAX_IMPROVEMENTS]


def _text(value: object) -> str:
    return one_line(value[: 10 * _MAX_TEXT], _MAX_TEXT) if isinstance(value, str) else ""


def drop_bad_evidence(scores: Values, turns: int) -> int:
    """Remove evidence items that name no turn from 1 to `turns`, and shorten the rest to the limit; return the number removed.

    In an item that also names real turns, only the wrong numbers are removed.
    """
    removed = 0
    for entry in scores["dimensions"].values():
        valid_items = []
        for item in entry["evidence"]:
            numbers = (turn for turn in item["turns"] if type(turn) is int)
            valid_turns = [turn for turn in dict.fromkeys(numbers) if 1 <= turn <= turns]
            removed += not valid_turns
            if valid_turns:
                valid_items.append({"turns": valid_turns, "what": item["what"]})
        entry["evidence"] = valid_items[:_MAX_EVIDENCE]
    return removed


def merge(answers: Sequence[Values | None], tokens: Sequence[float]) -> Values:
    """Merge the answers about a session's parts into one grade, each dimension by its own rule; None stands for a part without one.

    A dimension's `merge` entry contains the rule and the parts' scores. The dimension is left out if its rule needs a part that is missing.
    """
    graded = [answer for answer in answers if answer]
    if len(answers) == 1:
        return dict(graded[0])
    merged: Values = {}
    for name, dimension in dimensions().items():
        entries = [answer["dimensions"].get(name) if answer else None for answer in answers]
        scores = [entry["score"] if entry else None for entry in entries]
        score = _RULES[dimension.merge](scores, tokens)
        if score is not None:
            merged[name] = _merged(list(filter(None, entries)), dimension, score, scores)
    named = {answer["root_cause"] for answer in graded} - {None}
    causes = named - {"none"}
    improvements = [item for answer in graded for item in answer["improvements"]]
    unique = {(item["dimension"], item["issue"]): item for item in improvements}
    return {
        "dimensions": merged,
        "root_cause": "multiple" if len(causes) > 1 else next(iter(causes or named), None),
        "improvements": list(unique.values())[:_MAX_IMPROVEMENTS],
        "confidence": _by_tokens([answer["confidence"] if answer else None for answer in answers], tokens),
        "off_scale": sum(answer["off_scale"] for answer in graded),
    }


def _merged(
    entries: list[Values], dimension: ScoreDimension, score: float, scores: list[float | None]
) -> Values:
    """Return a merged entry, with the parts' first pieces of evidence, then their second ones, and so on."""
    if dimension.merge != "tokens":
        entries.reverse()  # the last part, which decided, comes first
    evidence = [
        item for row in zip_longest(*(entry["evidence"] for entry in entries)) for item in row if item
    ]
    return {
        "score": score,
        "label": dimension.label(score),
        "evidence": evidence[:_MAX_EVIDENCE],
        "rationale": " ".join(dict.fromkeys(entry["rationale"] for entry in entries))[:_MAX_TEXT],
        "merge": {"rule": dimension.merge, "parts": scores},
    }


def _by_tokens(scores: Sequence[float | None], tokens: Sequence[float]) -> float | None:
    """Return the mean weighted by tokens; None unless every part has a score."""
    weighted = [score * weight for score, weight in zip(scores, tokens) if score is not None]
    return round(sum(weighted) / sum(tokens), 4) if len(weighted) == len(scores) else None


def _last(scores: Sequence[float | None], _tokens: Sequence[float]) -> float | None:
    """Return the score of the last part, which shows the outcome."""
    return scores[-1]


def _last_or_worse(scores: Sequence[float | None], _tokens: Sequence[float]) -> float | None:
    """Return the last part's level, or one less if an earlier part was worse by two levels or more."""
    last = scores[-1]
    if last is None:
        return None
    worst = min(score for score in scores if score is not None)
    return last - 1 if last - worst >= _COLLAPSE else last


_RULES: dict[str, Callable[[Sequence[float | None], Sequence[float]], float | None]] = {
    "tokens": _by_tokens,
    "last": _last,
    "last_or_worse": _last_or_worse,
}
