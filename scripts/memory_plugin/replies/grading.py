"""A judge's opinion on one reply: the question, and what is read from the answer. Runs detached or on the command line, never in a hook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.judge.material import excerpt, line
from ..kernel.judge.question import Question
from ..kernel.judge.rubric import load_rubric
from .data import load_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.clock import Deadline
    from ..kernel.judge.judge import Judge
    from ..kernel.judge.question import Values, Verdict

__all__ = ["Material", "deep_question", "grade_question", "levels_of", "opinion"]

_USER, _REPLY, _PHRASE, _CALL = 800, 6000, 120, 240  # characters
_MOST_PHRASES, _MOST_CALLS, _MOST_MISSED = 20, 12, 5


class Material(NamedTuple):
    """What a judge is shown: the kind of message and the message, the tool calls in short, the reply, the phrases that rules found."""

    query_type: str
    user: str
    calls: Sequence[str]
    reply: str
    phrases: Sequence[str] = ()


def grade_question(material: Material, dimensions: Sequence[str]) -> Question:
    """The question about an escalated reply. Its values: `levels`, `clamped`, `phrases` ([index, filler]), `missed` ([start, end])."""
    offered = min(len(material.phrases), _MOST_PHRASES)

    def read(value: Values) -> Values | None:
        found = levels_of(value, dimensions)
        if found is None:
            return None
        return {**found, "phrases": _phrases(value, offered), "missed": _missed(value, material)}

    return Question(load_rubric("replies/grade"), _data(material), read)


def deep_question(material: Material) -> Question:
    """The question about all eight dimensions. Its values: `levels` and `clamped`."""
    dimensions = load_table("dimensions")["deep"]
    return Question(
        load_rubric("replies/deep"),
        _data(material._replace(phrases=())),
        lambda value: levels_of(value, dimensions),
    )


def opinion(judge: Judge, question: Question, deadline: Deadline) -> Verdict:
    """The judge's verdict by the deadline; one more try after 429, 5xx and 529, since nobody waits."""
    return judge.ask(question, deadline, again=True)


def _data(material: Material) -> dict[str, Any]:
    data: dict[str, Any] = {
        "message_kind": material.query_type,
        "message": excerpt(material.user, _USER),
        "tool_calls": [line(call, _CALL) for call in list(material.calls)[-_MOST_CALLS:]],
        "reply": excerpt(material.reply, _REPLY),
    }
    if material.phrases:
        shown = list(material.phrases)[:_MOST_PHRASES]
        data["phrases"] = [{"index": at, "text": line(phrase, _PHRASE)} for at, phrase in enumerate(shown)]
    return data


def levels_of(value: Values, dimensions: Sequence[str]) -> Values | None:
    """The levels of the dimensions, clamped to their scale, and how many had to be; None when one is missing or no whole number."""
    scales = load_table("dimensions")["dimensions"]
    levels: dict[str, int] = {}
    clamped = 0
    for name in dimensions:
        given = value.get(name)
        if not isinstance(given, int) or isinstance(given, bool):
            return None
        levels[name] = max(0, min(scales[name]["most"], given))
        clamped += levels[name] != given
    return {"levels": levels, "clamped": clamped}


def _phrases(value: Values, offered: int) -> list[list[Any]]:
    """The verdicts on phrases that were offered, one each; what is no verdict is left out."""
    given = value.get("phrases")
    found: dict[int, bool] = {}
    for item in given if isinstance(given, list) else ():
        index, filler = (item.get("index"), item.get("filler")) if isinstance(item, dict) else (None, None)
        if (
            isinstance(index, int)
            and not isinstance(index, bool)
            and 0 <= index < offered
            and isinstance(filler, bool)
        ):
            found.setdefault(index, filler)
    return [[index, filler] for index, filler in sorted(found.items())]


def _missed(value: Values, material: Material) -> list[list[int]]:
    """Where the passages stand that the judge quotes as missed: places, not texts, for they are kept. What the reply lacks is none."""
    given = value.get("missed")
    spans: list[list[int]] = []
    for quoted in (given if isinstance(given, list) else [])[:_MOST_MISSED]:
        if isinstance(quoted, str) and 2 < len(quoted.strip()) <= _PHRASE:
            at = material.reply.find(quoted.strip())
            if at >= 0 and not any(start < at + len(quoted.strip()) and at < end for start, end in spans):
                spans.append([at, at + len(quoted.strip())])
    return spans
