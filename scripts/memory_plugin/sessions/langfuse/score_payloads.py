"""Build scores and score configs in Langfuse's format.

Each score is checked here, because the server answers 200 and later drops a score that does not match its config. A config is found by
name, type and scale, and created only if it is missing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...kernel.fastjson import digest
from ...kernel.judge.calls import value_at
from ...kernel.judge.errors import JudgeError
from ..dimensions import OVERALL, dimensions, overall_description
from ..score_rows import scores_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .langfuse_client import LangfuseClient

__all__ = ["ensure_configs", "existing_configs", "score_bodies", "score_configs", "score_problem"]

_PER_PAGE = 50
_MAX_PAGES = 100
_MAX_COMMENT = 5000
_MAX_ID = 800


def score_configs() -> dict[str, dict[str, Any]]:
    """Return the configs by name, in the server's format."""
    configs: dict[str, dict[str, Any]] = {}
    for dimension in dimensions().values():
        config: dict[str, Any] = {
            "name": dimension.id,
            "dataType": "CATEGORICAL" if dimension.categorical else "NUMERIC",
        }
        if dimension.categorical:
            config["categories"] = [
                {"label": label, "value": value} for value, label in enumerate(dimension.labels)
            ]
        else:
            config.update(minValue=0, maxValue=1)
        configs[dimension.id] = {**config, "description": dimension.description}
    numeric = {"name": OVERALL, "dataType": "NUMERIC", "minValue": 0, "maxValue": 1}
    configs[OVERALL] = {**numeric, "description": overall_description()}
    return configs


def existing_configs(client: LangfuseClient) -> dict[str, str]:
    """Return the ids, by name, of our configs that exist on the server and are not archived. Raises JudgeError.

    The server allows several configs of one name; the first one counts.
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
            if isinstance(name, str) and name in ours and _matches(row, ours[name]):
                ids.setdefault(name, str(value_at(row, "id")))
        pages = value_at(reply.payload, "meta", "totalPages")
        if not rows or not isinstance(pages, int) or page >= pages:
            break
    return ids


def _matches(row: Any, config: dict[str, Any]) -> bool:  # noqa: ANN401 (the server's JSON)
    if (
        row.get("isArchived") is not False
        or row.get("dataType") != config["dataType"]
        or not isinstance(row.get("id"), str)
    ):
        return False
    if config["dataType"] == "NUMERIC":
        return bool(row.get("minValue") == config["minValue"] and row.get("maxValue") == config["maxValue"])
    levels = row.get("categories")
    if not isinstance(levels, list):
        return False
    return [(value_at(level, "label"), value_at(level, "value")) for level in levels] == [
        (category["label"], category["value"]) for category in config["categories"]
    ]


def ensure_configs(client: LangfuseClient) -> dict[str, str]:
    """Return the ids of all configs by name; create the missing ones. Raises JudgeError."""
    ids = existing_configs(client)
    for name, config in score_configs().items():
        if name not in ids:
            reply = client.post("/score-configs", config)
            identity = value_at(reply.payload, "id")
            if reply.status not in (200, 201) or not isinstance(identity, str):
                raise JudgeError("http_%d" % reply.status, "the score config %s could not be created" % name)
            ids[name] = identity
    return ids


def score_bodies(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of a row's dimensions and the overall score, without `configId`, which the server assigns.

    Id and timestamp depend on session, dimension and rubric alone. So a later grade updates the score, which the server does only for the
    same id and time.
    """
    bodies = []
    scores = scores_of(dict(row))
    for name, config in score_configs().items():
        value = row.get(OVERALL) if name == OVERALL else scores.get(name)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        labels = [category["label"] for category in config.get("categories", ())]
        body = {
            "id": _identity(row, name),
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


def _identity(row: Mapping[str, Any], name: str) -> str:
    rubric = row.get("scorer", {}).get("rubric") if isinstance(row.get("scorer"), dict) else ""
    return digest(("memory %s %s %s" % (row.get("session"), name, rubric)).encode("utf-8", "replace"))


def _subject(row: Mapping[str, Any]) -> dict[str, str]:
    subject = row.get("subject")
    if isinstance(subject, dict) and subject.get("kind") == "trace" and isinstance(subject.get("id"), str):
        return {"traceId": subject["id"]}
    return {"sessionId": str(row.get("session"))}


def _comment(row: Mapping[str, Any], name: str) -> str:
    if name == OVERALL:
        words = "improvement needed: %s; root cause: %s" % (
            row.get("improvement"),
            row.get("root_cause") or "not said",
        )
        return words[:_MAX_COMMENT]
    entry = row["dimensions"][name]
    if not isinstance(entry, dict):
        return ""
    items = [
        item
        for item in entry.get("evidence") or ()
        if isinstance(item, dict) and isinstance(item.get("turns"), list)
    ]
    lines = [str(entry.get("rationale") or "")]
    lines += [
        "%s: %s" % (" ".join("T%s" % turn for turn in item["turns"]), item.get("what") or "")
        for item in items
    ]
    return "\n".join(filter(None, lines))[:_MAX_COMMENT]


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    scorer = row["scorer"] if isinstance(row.get("scorer"), dict) else {}
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
    """Return why the server would refuse or silently drop a score, or None if it would store it."""
    config = score_configs().get(str(body.get("name")))
    if config is None:
        return "no such score"
    if not isinstance(body.get("id"), str) or not 0 < len(body["id"]) <= _MAX_ID:
        return "no usable id"
    if len([subject for subject in ("sessionId", "traceId") if body.get(subject)]) != 1:
        return "exactly one subject is needed"
    if body.get("dataType") != config["dataType"]:
        return "another type than its config"
    return _off_scale(body.get("value"), config)


def _off_scale(value: object, config: Mapping[str, Any]) -> str | None:
    if config["dataType"] == "CATEGORICAL":
        return None if value in [category["label"] for category in config["categories"]] else "no such label"
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return "not a number"
    return None if config["minValue"] <= value <= config["maxValue"] else "outside its scale"
