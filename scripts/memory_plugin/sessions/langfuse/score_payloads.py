"""Build scores and score configs in Langfuse's format.

A score must fit its config, because the server answers 200 and later drops one that does not. A config is matched by name, type and
scale, and created only if it is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...kernel.fastjson import digest
from ...kernel.judge.question import JudgeError, value_at
from ..dimensions import OVERALL, dimensions, overall_description
from ..score_rows import scores_of
from .langfuse_client import LangfuseClient

_PER_PAGE = 50
_MAX_COMMENT = 5000
_NUMERIC_SCALE: dict[str, Any] = {"dataType": "NUMERIC", "minValue": 0, "maxValue": 1}


def score_configs() -> dict[str, dict[str, Any]]:
    """Return the request bodies that create our configs, by name."""
    configs: dict[str, dict[str, Any]] = {}
    for dimension in dimensions().values():
        categories = [{"label": label, "value": value} for value, label in enumerate(dimension.labels)]
        scale = {"dataType": "CATEGORICAL", "categories": categories} if categories else _NUMERIC_SCALE
        configs[dimension.id] = {"name": dimension.id, **scale, "description": dimension.description}
    configs[OVERALL] = {"name": OVERALL, **_NUMERIC_SCALE, "description": overall_description()}
    return configs


def existing_configs(client: LangfuseClient) -> dict[str, str]:
    """Return the ids of our configs on the server by name, without archived ones. Raises JudgeError.

    The server allows several configs of one name. The first one is used.
    """
    ours = score_configs()
    ids: dict[str, str] = {}
    page, pages = 0, 1
    while page < pages:
        page += 1
        query = {"page": page, "limit": _PER_PAGE}
        rows, meta = client.rows("/score-configs", query, "score configs could not be listed")
        for row in rows:
            name = value_at(row, "name")
            if name in ours and _is_usable(row, ours[name]):
                ids.setdefault(name, row["id"])
        pages = int(meta.get("totalPages", 0)) if rows else 0
    return ids


def _is_usable(row: dict[str, Any], config: dict[str, Any]) -> bool:
    """Return whether a config of the server is not archived and has the type and scale of ours."""
    if row.get("isArchived") is not False or row.get("dataType") != config["dataType"]:
        return False
    if "categories" not in config:
        return bool(row.get("minValue") == config["minValue"] and row.get("maxValue") == config["maxValue"])
    # The server may add further fields to a category.
    scale = [
        {name: value_at(category, name) for name in ("label", "value")}
        for category in row.get("categories") or ()
    ]
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


def score_bodies(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of a ledger row: one per scored dimension, and the overall score.

    `configId` is added when they are sent. Id and timestamp depend on session, dimension and rubric alone, because the server updates a
    score only if both are the same.
    """
    scores: dict[str, float | None] = {**scores_of(row), OVERALL: row.get(OVERALL)}
    scorer, subject = row.get("scorer", {}), row.get("subject", {})
    is_trace = subject.get("kind") == "trace"  # of a pulled session
    common = {
        "timestamp": row.get("stamp"),
        "traceId" if is_trace else "sessionId": subject.get("id") if is_trace else row["session"],
        "metadata": {
            "scorer": "memory %s" % row.get("version", ""),
            "by": scorer.get("by"),
            "model": scorer.get("model"),
            "rubric": scorer.get("rubric"),
            "confidence": row.get("confidence"),
            "turns": row.get("turns"),
            "project": row.get("project"),
        },
    }
    bodies = []
    for name, config in score_configs().items():
        score = scores.get(name)
        if score is None or (score > 1 and "categories" not in config):
            continue
        key = "memory %s %s %s" % (row["session"], name, scorer.get("rubric", ""))
        bodies.append(
            {
                "id": digest(key.encode("utf-8", "replace")),
                "name": name,
                "value": config["categories"][int(score)]["label"]
                if "categories" in config
                else float(score),
                "dataType": config["dataType"],
                "comment": _comment(row, name)[:_MAX_COMMENT],
                **common,
            }
        )
    return bodies


def _comment(row: Mapping[str, Any], name: str) -> str:
    """Return a dimension's rationale and evidence, or the causes of the overall score."""
    if name == OVERALL:
        root_cause = row.get("root_cause") or "not said"
        return "improvement needed: %s; root cause: %s" % (row.get("improvement"), root_cause)
    entry = row["dimensions"][name]
    evidence = [
        "%s: %s" % (" ".join("T%s" % turn for turn in item["turns"]), item["what"])
        for item in entry.get("evidence", ())
    ]
    return "\n".join(filter(None, [entry.get("rationale"), *evidence]))
