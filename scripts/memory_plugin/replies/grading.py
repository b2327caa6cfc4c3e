"""Grade one reply with a judge: collect the material, build the question, parse the answer. Never runs inside a hook."""

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

_MAX_USER, _MAX_REPLY, _MAX_PHRASE, _MAX_CALL = 800, 6000, 120, 240  # characters
_MAX_PHRASES, _MAX_CALLS, _MAX_MISSED = 20, 12, 5
_TAIL_BYTES = 2 << 20
_MAX_ARGUMENTS, _MAX_RESULT = 100, 100  # characters
_PRAISE = ("affect", "validation")
_MAX_LEVEL = 3


class GradeMaterial(NamedTuple):
    """The material for a judge: the user's message and its kind, tool calls (one line each), the reply, and the rules' filler phrases."""

    query_type: str
    user: str
    calls: Sequence[str]
    reply: str
    phrases: Sequence[str] = ()


class DeepGrade(NamedTuple):
    """Levels by dimension and their source (`judge` or `rules`); `failure` and `detail` are empty if the judge answered."""

    levels: dict[str, int]
    source: str
    failure: str
    detail: str


def read_turn(path: str) -> tuple[str, list[str]]:
    """Return the user's last message and the later tool calls as `name(arguments) -> result`; empty if the transcript lacks them."""
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
    phrase_count = min(len(material.phrases), _MAX_PHRASES)

    def parse(value: Values) -> Values | None:
        levels = parse_levels(value, dimensions)
        if levels is None:
            return None
        return {
            **levels,
            "phrases": _parse_phrases(value, phrase_count),
            "missed": _find_missed(value, material),
        }

    return Question(load_rubric("replies/grade"), _data(material), parse)


def deep_question(material: GradeMaterial) -> Question:
    """Return the question about all eight dimensions. Its values: `levels` and `clamped`."""
    dimensions = load_data("replies", "dimensions")["deep"]
    return Question(
        load_rubric("replies/deep"),
        _data(material._replace(phrases=())),
        lambda value: parse_levels(value, dimensions),
    )


def scoring_judge(context: Context, disabled_reason: str) -> Judge:
    """Return the judge of replies; `disabled_reason` is why it must not be asked, or ""."""
    return judge_for("scoring", context, off=disabled_reason)


def grade_deeply(
    material: GradeMaterial, signals: ReplySignals, context: Context, disabled_reason: str
) -> DeepGrade:
    """Return a reply's levels on all dimensions; without a judge's answer, only those that rules can determine."""
    verdict = scoring_judge(context, disabled_reason).ask(
        deep_question(material), context.deadline, retry=True
    )
    if verdict.values is not None:
        return DeepGrade(verdict.values["levels"], "judge", "", "")
    return DeepGrade(levels_by_rules(signals), "rules", verdict.failure, verdict.detail)


def levels_by_rules(signals: ReplySignals) -> dict[str, int]:
    """Return the levels that rules can determine: SyPr (0-3) from praise phrases, Pre (0 or 1) from words before the answer.

    The other dimensions require understanding the reply.
    """
    praise = sum(match.rule.category in _PRAISE for match in signals.matches)
    return {"SyPr": min(_MAX_LEVEL, praise), "Pre": int(signals.preamble > 0)}


def _data(material: GradeMaterial) -> dict[str, Any]:
    data: dict[str, Any] = {
        "message_kind": material.query_type,
        "message": excerpt(material.user, _MAX_USER),
        "tool_calls": [one_line(call, _MAX_CALL) for call in list(material.calls)[-_MAX_CALLS:]],
        "reply": excerpt(material.reply, _MAX_REPLY),
    }
    if material.phrases:
        data["phrases"] = [
            {"index": index, "text": one_line(phrase, _MAX_PHRASE)}
            for index, phrase in enumerate(material.phrases[:_MAX_PHRASES])
        ]
    return data


def parse_levels(value: Values, dimensions: Sequence[str]) -> Values | None:
    """Return `levels`, clamped to their scales, and `clamped`, their number; None if a level is missing or not a whole number."""
    scales = load_data("replies", "dimensions")["dimensions"]
    levels: dict[str, int] = {}
    clamped = 0
    for name in dimensions:
        level = value.get(name)
        if not isinstance(level, int) or isinstance(level, bool):
            return None
        levels[name] = max(0, min(scales[name]["most"], level))
        clamped += levels[name] != level
    return {"levels": levels, "clamped": clamped}


def _parse_phrases(value: Values, phrase_count: int) -> list[list[Any]]:
    """Return the first verdict on each phrase as [index, is filler]; anything else in the answer is ignored."""
    items = value.get("phrases")
    verdicts: dict[int, bool] = {}
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        index, filler = item.get("index"), item.get("filler")
        if type(index) is int and 0 <= index < phrase_count and isinstance(filler, bool):
            verdicts.setdefault(index, filler)
    return [[index, filler] for index, filler in sorted(verdicts.items())]


def _find_missed(value: Values, material: GradeMaterial) -> list[list[int]]:
    """Return the offsets of the passages that the judge quotes as missed; a quote that the reply does not contain is ignored.

    The ledger gets these offsets instead of text.
    """
    quotes = value.get("missed")
    spans: list[list[int]] = []
    for quote in (quotes if isinstance(quotes, list) else [])[:_MAX_MISSED]:
        passage = quote.strip() if isinstance(quote, str) else ""
        if not 2 < len(passage) <= _MAX_PHRASE:
            continue
        start = material.reply.find(passage)
        end = start + len(passage)
        if start >= 0 and not any(low < end and start < high for low, high in spans):
            spans.append([start, end])
    return spans
