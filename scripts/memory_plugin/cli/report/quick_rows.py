"""Read the two largest ledgers without a JSON parser, as long as a line has exactly the form in which we write it.

A team writes millions of lines a year, and parsing them would take most of a report's time. One expression per ledger extracts the
fields that the report uses, from many lines at once. A line of any other form (an older version, an escape, an additional field) goes
through the parser.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.fastjson import loads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "CONTEXT",
    "MISS_ENDS",
    "NOTHING_FIT",
    "NOTHING_TOLD",
    "RECALL_LINE",
    "SCORE_LINE",
    "TOLD",
    "ScoreRow",
    "quick_rows",
    "texts",
]

NOTHING_FIT = ("no_match", "below_threshold", "below_floor", "declined")

_BACKSLASH = "\\"  # lines with one are parsed: the expressions take every quote for the end of a text
_HEAD = r'^\{"schema":1,"time":"([0-9-]{10})[0-9TZ:-]{10}","session":"([^"]{0,200})",'
_NUMBER = r"[0-9]{1,8}(?:\.[0-9]{1,12})?"
_MATCH = r'\[[0-9]{1,8},[0-9]{1,8},"[^"]{0,100}"\]'
_OUTCOME = r'(?:(?:injected|pointed)","reason":"|(?:silent|skipped|failed)","reason":"[a-z_]{0,200})"'
# Groups: day, session, context (see CONTEXT), key of the first candidate, what was told (see TOLD), milliseconds. Fields that are equal
# in most lines share a group, since each group costs time. Further candidates are skipped up to their closing bracket.
RECALL_LINE = re.compile(
    _HEAD
    + r'("project":"[^"]{0,200}","version":"[^"]*","place":"prompt","outcome":"%s),"answered_by":"[a-z0-9]*",'
    % _OUTCOME
    + r'"candidates":\[(?:\{"key":"([^"]{1,300})","confidence":[0-9](?:\.[0-9]{1,7})?[,}][^]]*)?\],'
    + r'("injected":\[[^][]*\],"pointed":\[[^][]*\](?:,"tokens":[0-9]{1,8})?)[^\n]*,'
    + r'"prompt_id":"[^"]{0,200}","ms":(%s)\}[ \t\r]*$' % _NUMBER,
    re.MULTILINE,
)
CONTEXT = re.compile(r'"project":"([^"]*)".*"outcome":"([^"]*)","reason":"([^"]*)"')
TOLD = re.compile(r'"injected":\[([^]]*)\],"pointed":\[([^]]*)\](?:,"tokens":([0-9]+))?')
NOTHING_TOLD = '"injected":[],"pointed":[],"tokens":0'
MISS_ENDS = tuple('"reason":"%s"' % reason for reason in NOTHING_FIT)
SCORE_LINE = re.compile(
    _HEAD
    + r'"project":"([^"]{0,200})","version":"[^"]*",'
    + r'"kind":"score","id":"([^"]{1,100})","padding_count":(0|[1-9][0-9]{0,5}),"preamble_words":[0-9]+,'
    + r'"density":(null|%s),"query_type":"[^"]*","threshold":%s,' % (_NUMBER, _NUMBER)
    + r'"gate":"[^"]*","escalate":[a-z]+,"drift":\[([^][]*)\],'
    + r'"matches":\[((?:%s(?:,%s){0,39})?)\],"words":[0-9]+,"cut":[a-z]+,' % (_MATCH, _MATCH)
    + r'"audit":[a-z]+,"mode":"[^"]*","prompt_id":"[^"]*","model":"([^"]{0,200})"[^\n]*\}[ \t\r]*$',
    re.MULTILINE,
)


class ScoreRow(NamedTuple):
    """The groups of SCORE_LINE; `density` is a number or "null", `drift` and `matches` are the text between the brackets."""

    day: str
    session: str
    project: str
    id: str
    padding: str
    density: str
    drift: str
    matches: str
    model: str


def quick_rows(lines: list[str], form: re.Pattern[str]) -> Iterator[tuple[list[str], list[tuple[str, ...]]]]:
    """Yield lines with their groups, one per line, in order; lines of another form come without groups.

    All lines are searched at once. If a line has no match, or a match runs over a line's end, the number of matches differs from the
    number of lines, and the lines are searched one by one.
    """
    found = _matches("\n".join(lines), form)
    if len(found) == len(lines):
        yield lines, found
        return
    run: list[str] = []
    rows: list[tuple[str, ...]] = []
    for line in lines:
        found = _matches(line, form)
        if len(found) == 1:
            run.append(line)
            rows += found
            continue
        if run:
            yield run, rows
            run, rows = [], []
        yield [line], []
    if run:
        yield run, rows


def _matches(text: str, form: re.Pattern[str]) -> list[tuple[str, ...]]:
    return [] if _BACKSLASH in text else form.findall(text)


def texts(inside: str) -> list[Any]:
    """Return the elements of a JSON array from the text between its brackets; empty if it is damaged."""
    if not inside:
        return []
    if inside[0] == inside[-1] == '"' and inside.count('"') == 2:  # one text, the usual case
        return [inside[1:-1]]
    try:
        found = loads("[%s]" % inside)
    except ValueError:
        return []
    return found if isinstance(found, list) else []
