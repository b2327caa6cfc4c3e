"""The scores of one grade as Langfuse takes them, checked here: the server says 200 and drops later what does not fit its config."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...kernel.native import digest
from ..dimensions import OVERALL
from ..records import scores_of
from .configs import wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["bodies", "problem"]

_LONGEST_COMMENT = 5000
_LONGEST_ID = 800


def bodies(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One score for each dimension that has one, and the overall; without `configId`, which the server gives.

    Id and timestamp depend on the session, the dimension and the rubric alone, so that a later grade updates: the server does so only for
    the same id at the same time.
    """
    found = []
    scores = scores_of(dict(row))
    for name, config in wanted().items():
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
        if problem(body) is None:
            found.append(body)
    return found


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
        return words[:_LONGEST_COMMENT]
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
    return "\n".join(filter(None, lines))[:_LONGEST_COMMENT]


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


def problem(body: Mapping[str, Any]) -> str | None:
    """Why the server would refuse or silently drop a score; None when it would keep it."""
    config = wanted().get(str(body.get("name")))
    if config is None:
        return "no such score"
    if not isinstance(body.get("id"), str) or not 0 < len(body["id"]) <= _LONGEST_ID:
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
        return "no number"
    return None if config["minValue"] <= value <= config["maxValue"] else "beyond its scale"
