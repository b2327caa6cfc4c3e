"""Build scores and score configs in Langfuse's format.

Each score is validated here, because the server answers 200 and later drops a score that does not fit its config. A config is matched by
name, type and scale, and created only if it is missing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...kernel.fastjson import digest
from ...kernel.judge.errors import JudgeError
from ...kernel.judge.question import value_at
from ..dimensions import OVERALL, dimensions, overall_description
from ..score_rows import scores_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .langfuse_client import LangfuseClient

_PER_PAGE = 50
_MAX_PAGES = 100
_MAX_COMMENT = 5000
_MAX_ID = 800
_NUMERIC_SCALE: dict[str, Any] = {"dataType": "NUMERIC", "minValue": 0, "maxValue": 1}


def score_configs() -> dict[str, dict[str, Any]]:
    """Return the request bodies that create our configs, by name."""
    configs: dict[str, dict[str, Any]] = {}
    for dimension in dimensions().values():
        if dimension.categorical:
            categories = [{"label": label, "value": value} for value, label in enumerate(dimension.labels)]
            scale: dict[str, Any] = {"dataType": "CATEGORICAL", "categories": categories}
        else:
            scale = _NUMERIC_SCALE
        configs[dimension.id] = {"name": dimension.id, **scale, "description": dimension.description}
    configs[OVERALL] = {"name": OVERALL, **_NUMERIC_SCALE, "description": overall_description()}
    return configs


def existing_configs(client: LangfuseClient) -> dict[str, str]:
    """Return the ids of our configs on the server by name, without archived ones. Raises JudgeError.

    The server allows several configs of one name. The first one is used.
    """
    ours = score_configs()
    ids: dict[str, str] = {}
    for page in range(1, _MAX_PAGES + 1):
        reply = client.get("/score-configs", {"page": page, "limit": _PER_PAGE})
        rows = value_at(reply.payload, "data")
        if reply.status != 200 or not isinstance(rows, list):
            raise JudgeError("http_%d" % reply.status, "score configs could not be listed")
        for row in rows:
            name = value_at(row, "name")
            if isinstance(name, str) and name in ours and _is_usable(row, ours[name]):
                ids.setdefault(name, str(value_at(row, "id")))
        pages = value_at(reply.payload, "meta", "totalPages")
        if not rows or not isinstance(pages, int) or page >= pages:
            break
    return ids


def _is_usable(row: dict[str, Any], config: dict[str, Any]) -> bool:
    """Return whether a config of the server is not archived and has the type and scale of ours."""
    if row.get("isArchived") is not False or not isinstance(row.get("id"), str):
        return False
    if row.get("dataType") != config["dataType"]:
        return False
    if config["dataType"] == "NUMERIC":
        return bool(row.get("minValue") == config["minValue"] and row.get("maxValue") == config["maxValue"])
    categories = row.get("categories")
    if not isinstance(categories, list):
        return False
    # The server may add further fields to a category.
    scale = [{name: value_at(category, name) for name in ("label", "value")} for category in categories]
    return bool(scale == config["categories"])


def ensure_configs(client: LangfuseClient) -> dict[str, str]:
    """Return the ids of all our configs by name; create the missing ones. Raises JudgeError."""
    ids = existing_configs(client)
    for name, config in score_configs().items():
        if name not in ids:
            reply = client.post("/score-configs", config)
            config_id = value_at(reply.payload, "id")
            if reply.status not in (200, 201) or not isinstance(config_id, str):
                raise JudgeError("http_%d" % reply.status, "the score config %s could not be created" % name)
            ids[name] = config_id
    return ids


def score_bodies(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of a ledger row: one per scored dimension, and the overall score.

    `configId` is added when they are sent. Id and timestamp depend on session, dimension and rubric alone, because the server updates a
    score only if both are the same.
    """
    bodies = []
    scores = scores_of(dict(row))
    for name, config in score_configs().items():
        value = row.get(OVERALL) if name == OVERALL else scores.get(name)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        labels = [category["label"] for category in config.get("categories", ())]
        body = {
            "id": _score_id(row, name),
            "name": name,
            "value": labels[int(value)] if labels else float(value),
            "dataType": config["dataType"],
            "comment": _comment(row, name),
            "metadata": _metadata(row),
            "timestamp": str(row.get("stamp")),
            **_subject(row),
        }
        if score_problem(body) is None:
            bodies.append(body)
    return bodies


def _score_id(row: Mapping[str, Any], name: str) -> str:
    rubric = row.get("scorer", {}).get("rubric", "")
    return digest(("memory %s %s %s" % (row.get("session"), name, rubric)).encode("utf-8", "replace"))


def _subject(row: Mapping[str, Any]) -> dict[str, str]:
    """Return what the score is about: the trace of a pulled session, else the session."""
    subject = row.get("subject", {})
    if subject.get("kind") == "trace" and isinstance(subject.get("id"), str):
        return {"traceId": subject["id"]}
    return {"sessionId": str(row.get("session"))}


def _comment(row: Mapping[str, Any], name: str) -> str:
    """Return a dimension's rationale and evidence, or the causes of the overall score."""
    if name == OVERALL:
        root_cause = row.get("root_cause") or "not said"
        comment = "improvement needed: %s; root cause: %s" % (row.get("improvement"), root_cause)
        return comment[:_MAX_COMMENT]
    entry = row["dimensions"][name]
    if not isinstance(entry, dict):
        return ""
    lines = [str(entry.get("rationale") or "")]
    for item in entry.get("evidence") or ():
        if isinstance(item, dict) and isinstance(item.get("turns"), list):
            turns = " ".join("T%s" % turn for turn in item["turns"])
            lines.append("%s: %s" % (turns, item.get("what") or ""))
    return "\n".join(filter(None, lines))[:_MAX_COMMENT]


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    scorer = row.get("scorer", {})
    return {
        "scorer": "memory %s" % row.get("version", ""),
        "by": scorer.get("by"),
        "model": scorer.get("model"),
        "rubric": scorer.get("rubric"),
        "confidence": row.get("confidence"),
        "turns": row.get("turns"),
        "project": row.get("project"),
    }


def score_problem(body: Mapping[str, Any]) -> str | None:
    """Return why the server would refuse or silently drop a score; None if it would store it."""
    config = score_configs().get(str(body.get("name")))
    if config is None:
        return "no such score"
    if not isinstance(body.get("id"), str) or not 0 < len(body["id"]) <= _MAX_ID:
        return "no usable id"
    if len([subject for subject in ("sessionId", "traceId") if body.get(subject)]) != 1:
        return "exactly one subject is needed"
    if body.get("dataType") != config["dataType"]:
        return "another type than its config"
    return _scale_problem(body.get("value"), config)


def _scale_problem(value: object, config: Mapping[str, Any]) -> str | None:
    if config["dataType"] == "CATEGORICAL":
        return None if value in [category["label"] for category in config["categories"]] else "no such label"
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return "not a number"
    return None if config["minValue"] <= value <= config["maxValue"] else "outside its scale"
