"""Grade one reply with a judge: read the request, build the question, parse the answer, record what follows. Never runs inside a hook.

Recorded are the answer, overrides where judge and rules differ, and additional drift. The score by rules never changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..kernel.context import Context
from ..kernel.fastjson import dumps
from ..kernel.judge.asking import Judge
from ..kernel.judge.question import (
    Question,
    Rubric,
    Verdict,
    excerpt,
    load_rubric,
    one_line,
    read_rubric,
    value_at,
)
from ..kernel.paths import load_data
from ..kernel.transcript.reader import turns_since_prompt
from ..kernel.transcript.rows import COMMAND, PROMPT
from ..kernel.transcript.turn import Call
from .escalation import Drift, raise_drift, record_drift
from .reply_state import ReplyState, count_judged, run_steps
from .score_history import PADDING_DIMENSIONS, severe_dimensions

Values = dict[str, Any]

# Failures that would repeat for every later reply of the session, so the judge is not asked again in it.
DISABLING_FAILURES = ("no_key", "disabled", "bad_url", "http_401", "http_403")
_MAX_USER, _MAX_REPLY, _MAX_PHRASE, _MAX_CALL = 800, 6000, 120, 240  # characters
_MAX_PHRASES, _MAX_CALLS, _MAX_MISSED = 20, 12, 5
_TAIL_BYTES = 2 << 20
_MAX_PART = 100  # characters of a call's input, and of its result


class GradeRequest:
    """A reply that a judge should see: its record in `scores.jsonl`, whose matches are [start, end, rule] in `text`, and that text."""

    def __init__(self, score: dict[str, Any], text: str) -> None:
        self.score = score
        self.text = text
        self.id: str = score["id"]
        self.padding: int = score["padding_count"]
        self.matches: list[tuple[int, int, str]] = score["matches"]
        self.why = "audit" if score["audit"] else "escalated"

    def phrases(self) -> list[str]:
        """Return the texts of the matches."""
        return [self.text[start:end] for start, end, _ in self.matches]


class GradeMaterial(NamedTuple):
    """The material for a judge: the user's message and its kind, tool calls (one line each), the reply, and the rules' filler phrases."""

    query_type: str
    user: str
    calls: Sequence[str]
    reply: str
    phrases: Sequence[str] = ()


def read_turn(path: str) -> tuple[str, list[str]]:
    """Return the user's last message and the last later tool calls as `name(arguments) -> result`; empty if the transcript lacks them."""
    message = ""
    calls: list[Call] = []
    for turn in turns_since_prompt(path, _TAIL_BYTES):
        texts = [entry.text for entry in turn.user_texts if entry.kind in (PROMPT, COMMAND)]
        if texts:
            message, calls = "\n".join(texts), []
        calls += turn.calls
    return message, [_shown_call(call) for call in calls[-_MAX_CALLS:]]


def _shown_call(call: Call) -> str:
    arguments, result = (excerpt(text, _MAX_PART) for text in (dumps(call.input), call.result or ""))
    result = "no result" if call.result is None else " ".join(result.split())
    return "%s(%s) -> %s%s" % (call.name, arguments, "error: " if call.failed else "", result)


def grade_question(material: GradeMaterial, dimensions: Sequence[str]) -> Question:
    """Return the question about an escalated reply; it contains only the dimensions that are asked for.

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

    return Question(_grade_rubric(dimensions), _data(material), parse)


def _grade_rubric(dimensions: Sequence[str]) -> Rubric:
    """Return the rubric without the other dimensions: their lines, their places in the example, and their keys in the schema."""
    others = set(load_data("replies", "dimensions")["judge"]) - set(dimensions)
    if not others:
        return load_rubric("replies/grade")
    entry = load_data("judges", "rubrics", "replies", "grade")
    names = "|".join(sorted(others))
    unwanted = re.compile('"(?:%s)": [0-9-]+, ' % names)
    system = [line for line in entry["system"] if not re.match("- (?:%s)," % names, line)]
    schema = dict(entry["schema"])
    schema["properties"] = {name: value for name, value in schema["properties"].items() if name not in others}
    schema["required"] = list(schema["properties"])
    shortened = {
        part: [unwanted.sub("", line) for line in lines]
        for part, lines in (("system", system), ("closing", entry["closing"]))
    }
    return read_rubric({**entry, **shortened, "schema": schema}, "replies/grade")


def deep_question(material: GradeMaterial) -> Question:
    """Return the question about all eight dimensions. Its values: `levels` and `clamped`."""
    dimensions = load_data("replies", "dimensions")["deep"]
    return Question(
        load_rubric("replies/deep"),
        _data(material._replace(phrases=())),
        lambda value: parse_levels(value, dimensions),
    )


def _data(material: GradeMaterial) -> dict[str, Any]:
    data: dict[str, Any] = {
        "message_kind": material.query_type,
        "message": excerpt(material.user, _MAX_USER),
        "tool_calls": [one_line(call, _MAX_CALL) for call in material.calls],
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
        index, filler = value_at(item, "index"), value_at(item, "filler")
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


def grade_reply(
    request: GradeRequest, user: str, calls: Sequence[str], judge: Judge, context: Context
) -> str:
    """Ask the judge about a reply and record the result; return the failure's name, or "" for an answer.

    Raises OSError if something could not be recorded.
    """
    material = GradeMaterial(request.score["query_type"], user, calls, request.text, request.phrases())
    question = grade_question(material, context.settings.texts("scoring.judge.dimensions"))
    verdict = judge.ask(question, context.deadline, retry=True)
    errors = run_steps(lambda: context.append("scores", _judged_record(request, verdict, judge.model)))
    if verdict.values is not None:
        values = verdict.values
        errors += run_steps(
            lambda: count_judged(context.paths),
            lambda: _append_override(request, values, context),
            lambda: _add_drift(request, values["levels"], context),
        )
    if errors:
        raise errors[0]
    return verdict.failure


def _judged_record(request: GradeRequest, verdict: Verdict, model: str) -> dict[str, object]:
    """Return the record that joins the score by its id."""
    record: dict[str, object] = {
        "kind": "judged", "id": request.id, "why": request.why, "outcome": verdict.failure or "ok", "judge_model": model,
        "latency_ms": verdict.ms, "cost_usd": verdict.cost, "cached": verdict.cached,
    }  # fmt: skip
    if verdict.values is not None:
        values = verdict.values
        record.update(
            levels=values["levels"],
            clamped=values["clamped"],
            phrases=[[request.matches[at][2], filler] for at, filler in values["phrases"]],
            missed=values["missed"],
            agrees=_agrees(request, values),
        )
    return record


def _agrees(request: GradeRequest, values: Values) -> bool | None:
    """Return whether the judge agrees with the rules: there is no override. None if it gave no verdict on the phrases of the rules."""
    if _override(request, values):
        return False
    return None if request.padding and not values["phrases"] else True


def _override(request: GradeRequest, values: Values) -> dict[str, object]:
    """Return where the judge differs from the rules: phrases cleared, padding missed, severe dimensions. Empty if it does not."""
    cleared = [request.matches[at] for at, filler in values["phrases"] if not filler]
    severe = severe_dimensions(values["levels"])
    # Where rules found padding, a severe level of a padding dimension agrees with them.
    added = severe if request.padding == 0 else severe - PADDING_DIMENSIONS
    if not cleared and not added and not values["missed"]:
        return {}
    return {
        "kind": "override",
        "id": request.id,
        "why": request.why,
        "padding_count": request.padding,
        "cleared": [rule for _, _, rule in cleared],
        "levels": values["levels"],
        "missed": values["missed"],
    }


def _append_override(request: GradeRequest, values: Values, context: Context) -> None:
    """Record an override for `memory replies tune`."""
    override = _override(request, values)
    if override:
        context.append("judge-overrides", override)


def _add_drift(request: GradeRequest, levels: dict[str, int], context: Context) -> None:
    """Record the drift that the judge's levels add, unless the reply is only audited.

    It is corrected only if the rules found no drift and no newer reply was scored.
    """
    found = request.score["drift"]
    drift = raise_drift(Drift(found, request.score["severity"], {}), levels, load_data("replies", "drift"))
    if drift is None or request.why == "audit":
        return
    is_current = ReplyState(context.paths, context.session).replies() == request.score.get("turn")
    kind = "raised" if found else "drift"
    record_drift(drift, request.score, context, kind=kind, may_correct=is_current and not found)
