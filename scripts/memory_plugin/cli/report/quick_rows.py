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

__all__ = ["INJECTED", "RECALL_END", "RECALL_HEAD", "SCORE_LINE", "quick_recall", "quick_score", "texts"]

INJECTED = (
    '],"injected":['  # an unescaped quote cannot be part of a text, so this marks the end of the candidates
)
_HEAD = r'\{"schema":1,"time":"([0-9TZ:-]{20})","session":"([^"\\]{0,200})","project":"([^"\\]{0,200})","version":"[^"\\]*",'
_NUMBER = r"[0-9]{1,8}(?:\.[0-9]{1,12})?"
_MATCH = r'\[[0-9]{1,8},[0-9]{1,8},"[^"\\]{0,100}"\]'
RECALL_HEAD = re.compile(
    _HEAD
    + r'"place":"prompt","outcome":"(injected|pointed|silent|skipped|failed)","reason":"([a-z_]{0,200})",'
    + r'"answered_by":"[a-z0-9]*"(?=,"candidates":\[)'
)
RECALL_END = re.compile(
    r'\],"injected":\[([^][\\]*)\],"pointed":\[([^][\\]*)\](?:,"tokens":([0-9]{1,8}))?,?[^\\]*'
    r'"prompt_id":"([^"\\]{0,200})","ms":(%s)\}[ \t\r\n]*\Z' % _NUMBER
)
SCORE_LINE = re.compile(
    _HEAD
    + r'"kind":"score","id":"([^"\\]{1,100})","padding_count":(0|[1-9][0-9]{0,5}),"preamble_words":[0-9]+,'
    + r'"density":(null|%s),"query_type":"[^"\\]*","threshold":(%s),' % (_NUMBER, _NUMBER)
    + r'"gate":"[^"\\]*","escalate":[a-z]+,"drift":\[([^][\\]*)\],'
    + r'"matches":\[((?:%s(?:,%s){0,39})?)\],"words":[0-9]+,"cut":[a-z]+,' % (_MATCH, _MATCH)
    + r'"audit":[a-z]+,"mode":"[^"\\]*","prompt_id":"[^"\\]*","model":"([^"\\]{0,200})"'
)


def quick_recall(line: str) -> tuple[dict[str, Any], int, int] | None:
    """Return what the report needs of a record of `recalls`, and the place of its candidates; None for a line of another form."""
    head = RECALL_HEAD.match(line)
    if head is None:
        return None
    at = line.find(INJECTED, head.end())
    end = RECALL_END.match(line, at) if at > 0 else None
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
        row["injected"], row["pointed"] = texts(injected), texts(pointed)
    if tokens:
        row["tokens"] = int(tokens)
    return row, head.end(), at


def quick_score(line: str) -> dict[str, Any] | None:
    """Return what the report needs of a record of `scores`; None for a line of another form."""
    match = SCORE_LINE.match(line)
    if match is None:
        return None
    time, session, project, identity, padding, density, threshold, drift, matches, model = match.groups()
    return {
        "time": time,
        "session": session,
        "project": project,
        "kind": "score",
        "id": identity,
        "padding_count": int(padding),
        "matches": texts(matches),
        "density": None if density == "null" else float(density),
        "threshold": float(threshold),
        "drift": texts(drift),
        "model": model,
    }


def texts(inside: str) -> list[Any]:
    """Return the elements of a JSON array, given what is between its brackets; empty if it is damaged."""
    if not inside:
        return []
    if inside[0] == inside[-1] == '"' and inside.count('"') == 2:  # one text, the usual case
        return [inside[1:-1]]
    try:
        found = loads("[%s]" % inside)
    except ValueError:
        return []
    return found if isinstance(found, list) else []
