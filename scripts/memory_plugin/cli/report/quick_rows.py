"""Records of the two largest ledgers, read without a JSON parser where a line has exactly the form in which we write it.

A year of a team is millions of lines, and parsing all their fields takes most of a report's time. These expressions take the fields that
the report uses; a line of any other form (an older version, an escape, a field more) goes through the parser.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...kernel.fastjson import loads

if TYPE_CHECKING:
    from typing import Any

__all__ = ["CANDIDATES", "quick_recall", "quick_score"]

# An unescaped quote cannot be part of a text, so these mark fields.
CANDIDATES, _INJECTED = ',"candidates":[', '],"injected":['
_HEAD = r'\{"schema":1,"time":"([0-9TZ:-]{20})","session":"([^"\\]{0,200})","project":"([^"\\]{0,200})","version":"[^"\\]*",'
_RECALL = re.compile(
    _HEAD
    + r'"place":"prompt","outcome":"([a-z_]+)","reason":"([a-z_]*)","answered_by":"[a-z0-9]*"(?=,"candidates":\[)'
)
_RECALL_END = re.compile(
    r'\],"injected":\[([^][\\]*)\],"pointed":\[([^][\\]*)\](?:,"tokens":([0-9]{1,8}))?,?[^\\]*'
    r'"prompt_id":"([^"\\]{0,200})","ms":([0-9]{1,8}(?:\.[0-9]+)?)\}\s*\Z'
)
_SCORE = re.compile(
    _HEAD
    + r'"kind":"score","id":"([^"\\]{1,100})","padding_count":([0-9]{1,6}),"matches":(\[[^\\{}]*?\]),"preamble_words":[0-9]+,'
    r'"words":[0-9]+,"density":(null|[0-9.]{1,12}),[^\\]*?"threshold":([0-9.]{1,8}),[^\\]*?"drift":\[([^][\\]*)\],'
    r'"prompt_id":"[^"\\]*","model":"([^"\\]{0,200})"'
)


def quick_recall(line: str) -> tuple[dict[str, Any], str] | None:
    """Return what the report needs of a record of `recalls`, and the text of its candidates; None for a line of another form."""
    head = _RECALL.match(line)
    if head is None:
        return None
    at = line.find(_INJECTED, head.end())
    end = _RECALL_END.match(line, at) if at > 0 else None
    if end is None:
        return None
    time, session, project, outcome, reason = head.groups()
    injected, pointed, tokens, prompt_id, took = end.groups()
    row: dict[str, Any] = {
        "time": time,
        "session": session,
        "project": project,
        "place": "prompt",
        "outcome": outcome,
        "reason": reason,
        "prompt_id": prompt_id,
        "ms": float(took),
    }
    if injected or pointed:
        row["injected"], row["pointed"] = _texts(injected), _texts(pointed)
    if tokens:
        row["tokens"] = int(tokens)
    return row, line[head.end() : at]


def quick_score(line: str) -> dict[str, Any] | None:
    """Return what the report needs of a record of `scores`; None for a line of another form."""
    match = _SCORE.match(line)
    if match is None:
        return None
    time, session, project, identity, padding, matches, density, threshold, drift, model = match.groups()
    try:
        return {
            "time": time,
            "session": session,
            "project": project,
            "kind": "score",
            "id": identity,
            "padding_count": int(padding),
            "matches": loads(matches) if len(matches) > 2 else [],
            "density": None if density == "null" else float(density),
            "threshold": float(threshold),
            "drift": _texts(drift),
            "model": model,
        }
    except ValueError:  # two points in a number, a bracket that is not closed
        return None


def _texts(inside: str) -> list[Any]:
    """Return the texts of a JSON array, given what is between its brackets; empty if it is damaged."""
    if not inside:
        return []
    try:
        found = loads("[%s]" % inside)
    except ValueError:
        return []
    return found if isinstance(found, list) else []
