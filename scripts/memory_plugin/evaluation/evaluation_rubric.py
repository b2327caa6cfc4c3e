"""Load rubrics and ask about them: the dimensions that every juror scores, their scale and weights. Each is a JSON file.

The weights of gates and dimensions together must sum to 1. A dimension of weight 0 is reported but does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..kernel.fastjson import digest, dumps
from ..kernel.judge.question import Question, Rubric
from . import EvaluationError, file_path, read_object, shipped_names

_ABSTAIN = "abstain"
_TOLERANCE = 1e-6
_MAX_QUOTE = 300


class RubricDimension(NamedTuple):
    """One dimension: the question, and the meaning of each score."""

    id: str
    weight: float
    asks: str
    anchors: Mapping[str, str]


class EvaluationRubric(NamedTuple):
    """A rubric. Scores run from 0 to `highest`; a weighted mean of at least `pass_at` (0 to 1) passes."""

    id: str
    dimensions: tuple[RubricDimension, ...]
    gate_weights: Mapping[str, float]
    highest: int
    pass_at: float
    system: str
    closing: str
    max_tokens: int
    digest: str


def rubric_names() -> list[str]:
    """Return the names of the rubrics that the plugin ships."""
    return shipped_names("rubrics")


def load_rubric(name: str) -> EvaluationRubric:
    """Load a rubric by name, or by path if it ends in .json. Raises EvaluationError, also for weights that do not sum to 1."""
    path = file_path("rubrics", name)
    raw = read_object(path)
    try:
        rubric = EvaluationRubric(
            str(raw["id"]),
            tuple(
                RubricDimension(key, float(entry["weight"]), str(entry["asks"]), dict(entry["anchors"]))
                for key, entry in raw["dimensions"].items()
            ),
            {str(key): float(weight) for key, weight in raw["gates"].items()},
            int(raw["highest"]),
            float(raw["pass_at"]),
            "\n".join(raw["system"]),
            "\n".join(raw["closing"]),
            int(raw["max_tokens"]),
            digest(dumps(raw).encode("ascii"), 6),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EvaluationError("%s: %s: %s" % (path, type(error).__name__, error)) from None
    weights = [*(dimension.weight for dimension in rubric.dimensions), *rubric.gate_weights.values()]
    if min(weights, default=0) < 0 or abs(sum(weights) - 1) > _TOLERANCE:
        raise EvaluationError("%s: the weights must sum to 1, got %g" % (path, sum(weights)))
    if rubric.highest < 1 or not 0 <= rubric.pass_at <= 1:
        raise EvaluationError("%s: expected highest >= 1 and pass_at from 0 to 1" % path)
    scores = _scale(rubric)
    for dimension in rubric.dimensions:
        if {*dimension.anchors} != {*scores}:
            raise EvaluationError(
                "%s: %s: expected an anchor for each of %s" % (path, dimension.id, ", ".join(scores))
            )
    return rubric


def _scale(rubric: EvaluationRubric) -> list[str]:
    return [str(score) for score in range(rubric.highest + 1)]


def rubric_question(rubric: EvaluationRubric, persona: str, material: object) -> Question:
    """Return the question for one juror; every juror scores every dimension."""
    lines = [
        "Dimensions, each scored from 0 to %d, or %s where the conversation gives no ground:"
        % (rubric.highest, _ABSTAIN)
    ]
    for dimension in rubric.dimensions:
        lines.append("- %s: %s" % (dimension.id, dimension.asks))
        lines += ["    %s: %s" % (score, dimension.anchors[score]) for score in _scale(rubric)]
    entry = _object_schema(
        {
            "score": {"type": "string", "enum": [*_scale(rubric), _ABSTAIN]},
            "turn": {"type": "integer"},
            "evidence": {"type": "string"},
        }
    )
    instructions = Rubric(
        "evaluate-" + rubric.id,
        "\n\n".join(filter(None, (rubric.system, persona, "\n".join(lines)))),
        rubric.closing,
        _object_schema({"scores": _object_schema({dimension.id: entry for dimension in rubric.dimensions})}),
        rubric.max_tokens,
        digest(dumps([rubric.digest, persona]).encode("ascii"), 6),
    )
    return Question(instructions, material, lambda values: _parse_scores(rubric, values))


def _object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _parse_scores(rubric: EvaluationRubric, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return `scores` by dimension (None for an abstention) and `clamped`, how many were outside the scale; None for another shape."""
    scores = values.get("scores")
    if not isinstance(scores, dict) or not any(dimension.id in scores for dimension in rubric.dimensions):
        return None
    parsed: dict[str, Any] = {}
    clamped = 0
    for dimension in rubric.dimensions:
        entry = scores.get(dimension.id)
        fields = entry if isinstance(entry, dict) else {"score": entry}
        score = _whole_number(fields.get("score"))
        on_scale = None if score is None else min(max(score, 0), rubric.highest)
        clamped += on_scale != score
        evidence, turn = fields.get("evidence"), fields.get("turn")
        parsed[dimension.id] = {
            "score": on_scale,
            "evidence": evidence[:_MAX_QUOTE] if isinstance(evidence, str) else "",
            "turn": turn if isinstance(turn, int) and not isinstance(turn, bool) else None,
        }
    return {"scores": parsed, "clamped": clamped}


def _whole_number(value: object) -> int | None:
    """Return a whole number, or None for an abstention and anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or len(str(value)) > 8:
        return None
    try:
        return int(value) if float(value).is_integer() else None
    except ValueError:
        return None
