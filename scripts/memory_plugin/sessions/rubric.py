"""Define a session's grade: six dimensions with scales and weights, the overall score, and how a judge's answers are read and merged.

Scores of a judge, a person, a file and the ledger are read by the same rules. In a grade, evidence names turns that exist, and texts are
short and clean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from ..kernel.fastjson import as_number, as_objects
from ..kernel.judge.question import Values, one_line, read_number, score_fields
from ..kernel.paths import load_data
from ..kernel.settings.load import user_block

OVERALL = "overall_quality"
CAUSES = "none tool_misuse process_violation context_waste error_cascade output_quality multiple"
_TURN = re.compile(r"\b(?:turns?|traces?|t)[ #:.]{0,2}(\d{1,6})\b", re.IGNORECASE)
_MAX_EVIDENCE = 3
_MAX_IMPROVEMENTS = 5
_MAX_TEXT = 400
_COLLAPSE = 2  # levels by which an earlier part must be worse to lower the score


class Scale(NamedTuple):
    """The scale of a dimension or of the overall score; `labels` name its levels and are empty for a number from 0 to 1."""

    weight: float
    labels: tuple[str, ...]
    merge: str
    description: str

    @property
    def highest(self) -> int:
        """Return the highest score."""
        return len(self.labels) - 1 if self.labels else 1

    @property
    def text(self) -> str:
        """Return what a score may be, such as `0 failed, 1 partial`."""
        return ", ".join("%d %s" % level for level in enumerate(self.labels)) or "0.0 to 1.0"

    def label(self, score: float) -> str:
        """Return a level's name; empty for a number."""
        return self.labels[int(score)] if self.labels else ""

    def level(self, value: object) -> int | None:
        """Return the level of a label, also with its number or marks; None for anything else."""
        word = " ".join(re.findall("[a-z]+", value.lower())) if isinstance(value, str) else ""
        return self.labels.index(word) if word in self.labels else None

    def number(self, value: object) -> float | None:
        """Return a level or a number, which may be outside the scale, by label or number; None for anything else."""
        level = self.level(value)
        number = read_number(value) if level is None else level
        return None if number is None or (self.labels and number % 1) else number

    def read(self, value: object) -> float | None:
        """Return a score on the scale; None for anything else."""
        number = self.number(value)
        return number if number is not None and 0 <= number <= self.highest else None


@cache
def dimensions() -> dict[str, Scale]:
    """Return the six dimensions by name, in the table's order, with the weights of the setting `sessions.weights`."""
    weights = user_block("sessions.weights")
    return {
        entry["id"]: Scale(
            float(as_number(weights[entry["id"]]) or 0),
            tuple(entry.get("labels", ())),
            entry["merge"],
            entry["description"],
        )
        for entry in load_data("sessions", "dimensions")["dimensions"]
    }


def scales() -> dict[str, Scale]:
    """Return the dimensions and the overall score."""
    description = load_data("sessions", "dimensions")["overall"]["description"]
    return {**dimensions(), OVERALL: Scale(0, (), "", description)}


def valid_scores(entries: Mapping[str, object]) -> dict[str, float]:
    """Return the valid scores by name, whose entries are scores or objects with a `score`."""
    found = {key: scale.read(score_fields(entries.get(key)).get("score")) for key, scale in scales().items()}
    return {name: score for name, score in found.items() if score is not None}


def overall_score(scores: Mapping[str, float]) -> float | None:
    """Return the weighted sum of the normalized scores (`session-scoring.md`, Aggregate), to four digits.

    None if a dimension is missing, because missing is not zero.
    """
    if not dimensions().keys() <= scores.keys():
        return None
    return round(sum(scores[name] / dim.highest * dim.weight for name, dim in dimensions().items()), 4)


def read_grade(value: Values, turns: int) -> Values | None:
    """Return the grade in a judge's answer about a session of so many turns; None if no dimension has a readable score.

    It has `dimensions`, `root_cause`, `improvements` and `confidence`; `struck` counts the evidence that was left out.
    A dimension without a score is left out, never scored as 0, and so is a number outside its scale; if one is too high by 1 or more, the
    judge uses another scale, and only its labels count.
    """
    scaled = [(name, scale, score_fields(value.get(name))) for name, scale in dimensions().items()]
    is_other = any((scale.number(entry.get("score")) or 0) >= scale.highest + 1 for _, scale, entry in scaled)
    scored: Values = {}
    struck = 0
    for name, scale, entry in scaled:
        score = scale.read(entry.get("score"))
        if score is None or (is_other and scale.level(entry["score"]) is None):
            continue
        evidence = _evidence(entry.get("evidence"), turns)
        valid = [item for item in evidence if item["turns"]]
        struck += len(evidence) - len(valid)
        scored[name] = {
            "score": int(score) if scale.labels else round(float(score), 4),
            "label": scale.label(score),
            "evidence": valid[:_MAX_EVIDENCE],
            "rationale": _text(entry.get("rationale")),
        }
    if not scored:
        return None
    cause, confidence = value.get("root_cause"), read_number(value.get("confidence"))
    return {
        "dimensions": scored,
        "root_cause": cause if cause in CAUSES.split() else None,
        "improvements": _improvements(value.get("improvements")),
        "confidence": None if confidence is None else round(float(min(max(confidence, 0), 1)), 4),
        "struck": struck,
    }


def _evidence(value: object, turns: int) -> list[Values]:
    """Return evidence items as text and those of their turns that exist; in the answer they are objects, or sentences that name turns."""
    items = []
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            named = item.get("turns", item.get("turn"))
            text = item.get("what", item.get("text"))
        else:
            named, text = [int(number) for number in _TURN.findall(str(item))], item
        numbers = [turn for turn in (named if isinstance(named, list) else [named]) if type(turn) is int]
        real = [turn for turn in dict.fromkeys(numbers) if 1 <= turn <= turns]
        items.append({"turns": real, "what": _text(text)})
    return items


def _improvements(value: object) -> list[dict[str, str]]:
    improvements = [
        {name: _text(item.get(name)) for name in ("dimension", "issue", "fix")}
        for item in as_objects(value)
        if item.get("dimension") in list(dimensions())
    ]
    return [item for item in improvements if item["issue"]][:_MAX_IMPROVEMENTS]


def _text(value: object) -> str:
    return one_line(value[: 10 * _MAX_TEXT], _MAX_TEXT) if isinstance(value, str) else ""


def merge(answers: Sequence[Values | None], tokens: Sequence[float]) -> Values:
    """Merge the answers about a session's parts into one grade, each dimension by its own rule; None stands for a part without one.

    A dimension's `merge` entry contains the rule and the parts' scores. The dimension is left out if its rule needs a part that is missing.
    """
    graded = [answer for answer in answers if answer]
    if len(answers) == 1:
        return dict(graded[0])
    merged: Values = {}
    for name, scale in dimensions().items():
        entries = [answer["dimensions"].get(name) if answer else None for answer in answers]
        scores = [entry["score"] if entry else None for entry in entries]
        score = _merged_score(scale.merge, scores, tokens)
        if score is not None:
            merged[name] = _merged(list(filter(None, entries)), scale, score, scores)
    named = {answer["root_cause"] for answer in graded} - {None}
    causes = named - {"none"}
    improvements = [item for answer in graded for item in answer["improvements"]]
    unique = {(item["dimension"], item["issue"]): item for item in improvements}
    return {
        "dimensions": merged,
        "root_cause": "multiple" if len(causes) > 1 else next(iter(causes or named), None),
        "improvements": list(unique.values())[:_MAX_IMPROVEMENTS],
        "confidence": _by_tokens([answer["confidence"] if answer else None for answer in answers], tokens),
        "struck": sum(answer["struck"] for answer in graded),
    }


def _merged(entries: list[Values], scale: Scale, score: float, scores: list[float | None]) -> Values:
    """Return a merged entry, with the parts' first pieces of evidence, then their second ones, and so on."""
    if scale.merge != "tokens":
        entries.reverse()  # the last part, which decided, comes first
    ranks = zip_longest(*(entry["evidence"] for entry in entries))
    evidence = [item for rank in ranks for item in rank if item]
    return {
        "score": score,
        "label": scale.label(score),
        "evidence": evidence[:_MAX_EVIDENCE],
        "rationale": " ".join(dict.fromkeys(entry["rationale"] for entry in entries))[:_MAX_TEXT],
        "merge": {"rule": scale.merge, "parts": scores},
    }


def _merged_score(rule: str, scores: Sequence[float | None], tokens: Sequence[float]) -> float | None:
    """Return the score of all parts; `rule` is one of "tokens", "last" and "last_or_worse".

    The last part shows the outcome. It counts one level less if an earlier part was worse by two levels or more ("last_or_worse").
    """
    last = scores[-1]
    if rule == "tokens":
        return _by_tokens(scores, tokens)
    if rule == "last_or_worse" and last is not None:
        worst = min(score for score in scores if score is not None)
        return last - 1 if last - worst >= _COLLAPSE else last
    return last


def _by_tokens(scores: Sequence[float | None], tokens: Sequence[float]) -> float | None:
    """Return the mean weighted by tokens; None unless every part has a score."""
    weighted = [score * weight for score, weight in zip(scores, tokens) if score is not None]
    return round(sum(weighted) / sum(tokens), 4) if len(weighted) == len(scores) else None
