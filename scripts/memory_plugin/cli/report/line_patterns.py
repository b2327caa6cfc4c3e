"""Regular expressions that read the two largest ledgers without a JSON parser, from lines exactly as the plugin writes them.

A team's year is millions of lines, and parsing all their fields would take most of the report's time. One expression per ledger
extracts the needed fields from many lines at once. Any other line (an older version, an escape, an added field) goes to the parser.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.fastjson import loads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MISS_REASONS = ("no_match", "below_threshold", "below_floor", "declined")

_BACKSLASH = "\\"  # starts an escape; the expressions rely on every quote being the end of a string
_HEAD = r'^\{"schema":1,"time":"([0-9-]{10})[0-9TZ:-]{10}","session":"([^"]{0,200})",'
_NUMBER = r"[0-9]{1,8}(?:\.[0-9]{1,12})?"
_MATCH = r'\[[0-9]{1,8},[0-9]{1,8},"[^"]{0,100}"\]'
_OUTCOME = r'(?:(?:injected|pointed)","reason":"|(?:silent|skipped|failed)","reason":"[a-z_]{0,200})"'
# Groups: day, session, context (see RECALL_CONTEXT), key of the first candidate, memories (see RECALL_MEMORIES), milliseconds.
# Fields with the same text in most lines share a group, since each group costs time. The other candidates are skipped up to the
# bracket that ends them.
RECALL_LINE = re.compile(
    _HEAD
    + r'("project":"[^"]{0,200}","version":"[^"]*","place":"prompt","outcome":"%s),"answered_by":"[a-z0-9]*",'
    % _OUTCOME
    + r'"candidates":\[(?:\{"key":"([^"]{1,300})","confidence":[0-9](?:\.[0-9]{1,7})?[,}][^]]*)?\],'
    + r'("injected":\[[^][]*\],"pointed":\[[^][]*\](?:,"tokens":[0-9]{1,8})?)[^\n]*,'
    + r'"prompt_id":"[^"]{0,200}","ms":(%s)\}[ \t\r]*$' % _NUMBER,
    re.MULTILINE,
)
RECALL_CONTEXT = re.compile(r'"project":"([^"]*)".*"outcome":"([^"]*)","reason":"([^"]*)"')
RECALL_MEMORIES = re.compile(r'"injected":\[([^]]*)\],"pointed":\[([^]]*)\](?:,"tokens":([0-9]+))?')
NO_MEMORIES = '"injected":[],"pointed":[],"tokens":0'
MISS_ENDINGS = tuple('"reason":"%s"' % reason for reason in MISS_REASONS)
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


def match_lines(
    lines: list[str], pattern: re.Pattern[str]
) -> Iterator[tuple[list[str], list[tuple[str, ...]]]]:
    """Yield runs of lines with the groups of each line, in order; a line that does not match comes alone, without groups.

    All lines are searched at once. If a line does not match, or a match spans two lines, the numbers of lines and matches differ, and
    the lines are searched again one by one.
    """
    groups = _find_groups("\n".join(lines), pattern)
    if len(groups) == len(lines):
        yield lines, groups
        return
    run: list[str] = []
    run_groups: list[tuple[str, ...]] = []
    for line in lines:
        groups = _find_groups(line, pattern)
        if len(groups) == 1:
            run.append(line)
            run_groups += groups
            continue
        if run:
            yield run, run_groups
            run, run_groups = [], []
        yield [line], []
    if run:
        yield run, run_groups


def _find_groups(text: str, pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
    return [] if _BACKSLASH in text else pattern.findall(text)


def parse_elements(array_text: str) -> list[Any]:
    """Return the elements of a JSON array, given the text between its brackets; empty if it is damaged."""
    if not array_text:
        return []
    if array_text[0] == array_text[-1] == '"' and array_text.count('"') == 2:  # one string, the usual case
        return [array_text[1:-1]]
    try:
        elements = loads("[%s]" % array_text)
    except ValueError:
        return []
    return elements if isinstance(elements, list) else []
