"""Grade one reply with a judge: collect the evidence, build the question, and parse the answer. Never runs inside a hook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from ..kernel.fastjson import dumps
from ..kernel.judge.asking import judge_for
from ..kernel.judge.excerpts import excerpt, one_line
from ..kernel.judge.question import Question, load_rubric
from ..kernel.transcript.reader import turns_since_prompt
from ..kernel.transcript.rows import COMMAND, PROMPT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.context import Context
    from ..kernel.judge.asking import Judge
    from ..kernel.judge.question import Values
    from ..kernel.transcript.turn import Call
    from .reply_signals import ReplySignals

__all__ = [
    "DeepGrade",
    "GradeMaterial",
    "deep_question",
    "grade_deeply",
    "grade_question",
    "levels_by_rules",
    "parse_levels",
    "read_turn",
    "scoring_judge",
]

_MAX_USER, _MAX_REPLY, _MAX_PHRASE, _MAX_CALL = 800, 6000, 120, 240  # characters
_MAX_PHRASES, _MAX_CALLS, _MAX_MISSED = 20, 12, 5
_TAIL_BYTES = 2 << 20
_MAX_ARGUMENTS, _MAX_RESULT = 100, 100  # characters
_PRAISE = ("affect", "validation")
_HIGHEST = 3


class GradeMaterial(NamedTuple):
    """The material for a judge: the message and its kind, the tool calls as one line each, the reply, and the phrases that rules found."""

    query_type: str
    user: str
    calls: Sequence[str]
    reply: str
    phrases: Sequence[str] = ()


class DeepGrade(NamedTuple):
    """Levels by dimension, where they come from (`judge` or `rules`), and why no judge answered, empty when one did."""

    levels: dict[str, int]
    told_by: str
    failure: str
    detail: str


def read_turn(path: str) -> tuple[str, list[str]]:
    """Return the user's last message and each later tool call as `name(arguments) -> result`; empty if the transcript lacks them."""
    message = ""
    calls: list[str] = []
    for turn in turns_since_prompt(path, _TAIL_BYTES):
        texts = [entry.text for entry in turn.user_texts if entry.kind in (PROMPT, COMMAND)]
        if texts:
            message, calls = "\n".join(texts), []
        calls += ["%s(%s) -> %s" % (call.name, _arguments(call), _result(call)) for call in turn.calls]
    return message, calls


def _arguments(call: Call) -> str:
    try:
        return dumps(call.input)[:_MAX_ARGUMENTS]
    except (TypeError, ValueError):
        return ""


def _result(call: Call) -> str:
    if call.result is None:
        return "no result"
    text = " ".join(call.result[: 4 * _MAX_RESULT].split())[:_MAX_RESULT]
    return ("error: " if call.failed else "") + text


def grade_question(material: GradeMaterial, dimensions: Sequence[str]) -> Question:
    """Return the question about an escalated reply.

    Its values: `levels`, `clamped`, `phrases` as [index, is filler], `missed` as [start, end] in the reply shown.
    """
    offered = min(len(material.phrases), _MAX_PHRASES)

    def read(value: Values) -> Values | None:
        found = parse_levels(value, dimensions)
        if found is None:
            return None
        return {**found, "phrases": _parse_phrases(value, offered), "missed": _find_missed(value, material)}

    return Question(load_rubric("replies/grade"), _data(material), read)


def deep_question(material: GradeMaterial) -> Question:
    """Return the question about all eight dimensions. Its values: `levels` and `clamped`."""
    dimensions = load_data("replies", "dimensions")["deep"]
    return Question(
        load_rubric("replies/deep"),
        _data(material._replace(phrases=())),
        lambda value: parse_levels(value, dimensions),
    )


def scoring_judge(context: Context, off: str) -> Judge:
    """Return the judge of replies; `off` is a reason not to ask it."""
    return judge_for("scoring", context, off=off)


def grade_deeply(material: GradeMaterial, signals: ReplySignals, context: Context, off: str) -> DeepGrade:
    """Return a reply's levels on all dimensions; without a judge, only those that rules can determine."""
    verdict = scoring_judge(context, off).ask(deep_question(material), context.deadline, again=True)
    if verdict.values is not None:
        return DeepGrade(verdict.values["levels"], "judge", "", "")
    return DeepGrade(levels_by_rules(signals), "rules", verdict.failure, verdict.detail)


def levels_by_rules(signals: ReplySignals) -> dict[str, int]:
    """Return SyPr from the phrases of praise and intensified agreement (0-3) and Pre from the words before the answer (0 or 1).

    The other dimensions require understanding the reply, so they are left out.
    """
    praise = sum(match.rule.category in _PRAISE for match in signals.matches)
    return {"SyPr": min(_HIGHEST, praise), "Pre": int(signals.preamble > 0)}


def _data(material: GradeMaterial) -> dict[str, Any]:
    data: dict[str, Any] = {
        "message_kind": material.query_type,
        "message": excerpt(material.user, _MAX_USER),
        "tool_calls": [one_line(call, _MAX_CALL) for call in list(material.calls)[-_MAX_CALLS:]],
        "reply": excerpt(material.reply, _MAX_REPLY),
    }
    if material.phrases:
        shown = list(material.phrases)[:_MAX_PHRASES]
        data["phrases"] = [
            {"index": at, "text": one_line(phrase, _MAX_PHRASE)} for at, phrase in enumerate(shown)
        ]
    return data


def parse_levels(value: Values, dimensions: Sequence[str]) -> Values | None:
    """Return the levels, clamped to their scales, and how many had to be; None when one is missing or not a whole number."""
    scales = load_data("replies", "dimensions")["dimensions"]
    levels: dict[str, int] = {}
    clamped = 0
    for name in dimensions:
        given = value.get(name)
        if not isinstance(given, int) or isinstance(given, bool):
            return None
        levels[name] = max(0, min(scales[name]["most"], given))
        clamped += levels[name] != given
    return {"levels": levels, "clamped": clamped}


def _parse_phrases(value: Values, offered: int) -> list[list[Any]]:
    """Return the first verdict on each phrase that was offered; anything else in the answer is ignored."""
    given = value.get("phrases")
    found: dict[int, bool] = {}
    for item in given if isinstance(given, list) else ():
        index, filler = (item.get("index"), item.get("filler")) if isinstance(item, dict) else (None, None)
        if type(index) is int and 0 <= index < offered and isinstance(filler, bool):
            found.setdefault(index, filler)
    return [[index, filler] for index, filler in sorted(found.items())]


def _find_missed(value: Values, material: GradeMaterial) -> list[list[int]]:
    """Return the offsets of the passages that the judge quotes as missed; a quote that the reply does not contain is ignored.

    Offsets, not texts, because they go to the ledger.
    """
    given = value.get("missed")
    spans: list[list[int]] = []
    for quoted in (given if isinstance(given, list) else [])[:_MAX_MISSED]:
        if not isinstance(quoted, str) or not 2 < len(quoted.strip()) <= _MAX_PHRASE:
            continue
        start = material.reply.find(quoted.strip())
        end = start + len(quoted.strip())
        if start >= 0 and not any(low < end and start < high for low, high in spans):
            spans.append([start, end])
    return spans
