"""Parse a scorer's reply: scores within their scales, evidence that names turns, short and clean texts."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from ..kernel.judge.excerpts import one_line
from .dimensions import causes, dimensions, reply_limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .dimensions import ScoreDimension

_TURN = re.compile(r"\b(?:turns?|traces?|t)[ #:.]{0,2}(\d{1,6})\b", re.IGNORECASE)
_MAX_ITEMS = 20


def read_scores(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return `dimensions`, `root_cause`, `improvements`, `confidence`, and the counts `clamped` and `unreadable`.

    None if no dimension has a readable score. A dimension without one is left out, never scored as 0. A number outside its scale is
    clamped and counted. A level is a whole number or its label.
    """
    counts = {"clamped": 0, "unreadable": 0}
    scored: dict[str, Any] = {}
    for name, dimension in dimensions().items():
        entry = value.get(name)
        score = _score(entry.get("score") if isinstance(entry, dict) else None, dimension, counts)
        if score is None:
            counts["unreadable"] += 1
        else:
            assert isinstance(entry, dict)
            scored[name] = {
                "score": score,
                "label": dimension.label(score),
                "evidence": _evidence(entry.get("evidence")),
                "rationale": _text(entry.get("rationale")),
            }
    if not scored:
        return None
    cause = value.get("root_cause")
    return {
        "dimensions": scored,
        "root_cause": cause if isinstance(cause, str) and cause in causes() else None,
        "improvements": _improvements(value.get("improvements")),
        "confidence": _confidence(value.get("confidence")),
        **counts,
    }


def _score(value: object, dimension: ScoreDimension, counts: dict[str, int]) -> float | None:
    if dimension.categorical and isinstance(value, str):
        label = value.strip().lower()
        return dimension.labels.index(label) if label in dimension.labels else None
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < math.inf:
        return None
    highest = len(dimension.labels) - 1 if dimension.categorical else 1.0
    clamped = min(max(value, 0), highest)
    counts["clamped"] += clamped != value
    if not dimension.categorical:
        return round(float(clamped), 4)
    return int(clamped) if float(clamped).is_integer() else None


def _evidence(value: object) -> list[dict[str, Any]]:
    """Return evidence items as turns and text; in the reply they are objects, or sentences that name their turns."""
    items = []
    for item in value[:_MAX_ITEMS] if isinstance(value, list) else ():
        if isinstance(item, dict):
            named = item.get("turns", item.get("turn"))
            numbers = named if isinstance(named, list) else [named]
            turns = [
                number
                for number in numbers[:_MAX_ITEMS]
                if isinstance(number, int) and not isinstance(number, bool)
            ]
            items.append({"turns": turns, "what": _text(item.get("what", item.get("text")))})
        elif isinstance(item, str):
            items.append({"turns": [int(number) for number in _TURN.findall(item)], "what": _text(item)})
    return items


def _improvements(value: object) -> list[dict[str, str]]:
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return [
        {"dimension": item["dimension"], "issue": _text(item["issue"]), "fix": _text(item.get("fix"))}
        for item in items
        if isinstance(item.get("dimension"), str)
        and item["dimension"] in dimensions()
        and _text(item.get("issue"))
    ][: reply_limit("improvements")]


def _confidence(value: object) -> float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf:
        return round(float(min(max(value, 0), 1)), 4)
    return None


def _text(value: object) -> str:
    return one_line(value[: 10 * reply_limit("text")], reply_limit("text")) if isinstance(value, str) else ""


def drop_bad_evidence(scores: dict[str, Any], turns: int) -> int:
    """Remove evidence items that name no turn from 1 to `turns`, and shorten the rest to the limit; return the number removed.

    In an item that also names real turns, only the wrong numbers are removed.
    """
    removed = 0
    for entry in scores["dimensions"].values():
        valid_items = []
        for item in entry["evidence"]:
            valid_turns = [turn for turn in dict.fromkeys(item["turns"]) if 1 <= turn <= turns]
            removed += not valid_turns
            if valid_turns:
                valid_items.append({"turns": valid_turns, "what": item["what"]})
        entry["evidence"] = valid_items[: reply_limit("evidence")]
    return removed
