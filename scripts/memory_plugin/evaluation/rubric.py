"""Rubrics of a jury: what every judge scores, on which scale, and what each score weighs. JSON, one file each.

Weights of gates and dimensions together have to sum to 1; a dimension of weight 0 is reported and counts nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.judge.question import Question
from ..kernel.judge.rubric import Rubric
from ..kernel.native import digest, dumps
from .data import EvaluationError, names, read_object, shipped

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ABSTAIN", "Dimension", "EvaluationRubric", "load_rubric", "question", "rubric_names"]

ABSTAIN = "abstain"
_TOLERANCE = 1e-6
_MAX_QUOTE = 300


class Dimension(NamedTuple):
    """One subjective dimension: what is asked, and what each score means."""

    id: str
    weight: float
    asks: str
    anchors: Mapping[str, str]


class EvaluationRubric(NamedTuple):
    """A rubric. Scores run from 0 to `highest`; a weighted mean of `pass_at` (0-1) or more passes."""

    id: str
    dimensions: tuple[Dimension, ...]
    gate_weights: Mapping[str, float]
    highest: int
    pass_at: float
    system: str
    closing: str
    max_tokens: int
    digest: str


def rubric_names() -> list[str]:
    """The names of the rubrics that the plugin ships."""
    return names("rubrics")


def load_rubric(name: str) -> EvaluationRubric:
    """The rubric of that name, or at that path. Raises EvaluationError, also for weights that do not sum to 1."""
    path = name if name.endswith(".json") else shipped("rubrics", name)
    raw = read_object(path)
    try:
        dimensions = tuple(
            Dimension(key, float(entry["weight"]), str(entry["asks"]), dict(entry["anchors"]))
            for key, entry in raw["dimensions"].items()
        )
        gate_weights = {str(key): float(weight) for key, weight in raw["gates"].items()}
        highest, pass_at = int(raw["highest"]), float(raw["pass_at"])
        system, closing = "\n".join(raw["system"]), "\n".join(raw["closing"])
        rubric = EvaluationRubric(
            str(raw["id"]), dimensions, gate_weights, highest, pass_at, system, closing, int(raw["max_tokens"]),
            digest(dumps(raw).encode("ascii"), 6),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EvaluationError("%s: %s: %s" % (path, type(error).__name__, error)) from None
    _check(rubric, path)
    return rubric


def _check(rubric: EvaluationRubric, path: str) -> None:
    weights = [dimension.weight for dimension in rubric.dimensions] + list(rubric.gate_weights.values())
    if any(weight < 0 for weight in weights) or abs(sum(weights) - 1) > _TOLERANCE:
        raise EvaluationError("%s: the weights have to sum to 1, got %g" % (path, sum(weights)))
    if rubric.highest < 1 or not 0 <= rubric.pass_at <= 1 or not rubric.dimensions:
        raise EvaluationError("%s: expected highest >= 1, pass_at from 0 to 1, and a dimension" % path)
    wanted = [str(score) for score in range(rubric.highest + 1)]
    for dimension in rubric.dimensions:
        if sorted(dimension.anchors, key=int) != wanted:
            raise EvaluationError(
                "%s: %s: expected an anchor for each of %s" % (path, dimension.id, ", ".join(wanted))
            )


def question(rubric: EvaluationRubric, persona: str, material: object) -> Question:
    """The question that one judge is asked; every judge is asked for every dimension."""
    system = "\n\n".join(filter(None, (rubric.system, persona, _dimensions(rubric))))
    scores = [str(score) for score in range(rubric.highest + 1)] + [ABSTAIN]
    one = _object(
        {
            "score": {"type": "string", "enum": scores},
            "turn": {"type": "integer"},
            "evidence": {"type": "string"},
        }
    )
    schema = _object({"scores": _object({dimension.id: one for dimension in rubric.dimensions})})
    identity = digest(dumps([rubric.digest, persona]).encode("ascii"), 6)
    asked = Rubric("evaluate-" + rubric.id, system, rubric.closing, schema, rubric.max_tokens, identity)
    return Question(asked, material, lambda values: _read(rubric, values))


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _dimensions(rubric: EvaluationRubric) -> str:
    lines = [
        "Dimensions, each scored from 0 to %d, or %s where the conversation gives no ground:"
        % (rubric.highest, ABSTAIN)
    ]
    for dimension in rubric.dimensions:
        lines.append("- %s: %s" % (dimension.id, dimension.asks))
        lines += [
            "    %s: %s" % (score, dimension.anchors[score]) for score in sorted(dimension.anchors, key=int)
        ]
    return "\n".join(lines)


def _read(rubric: EvaluationRubric, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Scores by dimension, None for an abstention, and how many were outside the scale; None for another shape."""
    scores = values.get("scores")
    if not isinstance(scores, dict) or not any(dimension.id in scores for dimension in rubric.dimensions):
        return None
    read: dict[str, Any] = {}
    clamped = 0
    for dimension in rubric.dimensions:
        entry = scores.get(dimension.id)
        score = _score(entry.get("score") if isinstance(entry, dict) else entry)
        inside = None if score is None else min(max(score, 0), rubric.highest)
        clamped += inside != score
        evidence = entry.get("evidence") if isinstance(entry, dict) else None
        turn = entry.get("turn") if isinstance(entry, dict) else None
        read[dimension.id] = {
            "score": inside,
            "evidence": evidence[:_MAX_QUOTE] if isinstance(evidence, str) else "",
            "turn": turn if isinstance(turn, int) and not isinstance(turn, bool) else None,
        }
    return {"scores": read, "clamped": clamped}


def _score(value: object) -> int | None:
    """A whole score; None for an abstention and for what is no whole number."""
    if isinstance(value, str) and value.strip().removeprefix("-").isdecimal() and len(value) < 9:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
