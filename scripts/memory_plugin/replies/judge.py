"""Grade one reply with a judge: read the request, build the question, parse the answer, record what follows. Never runs inside a hook.

Recorded are the answer, overrides where judge and rules differ, and additional drift. The score by rules never changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from operator import ne
from typing import Any, NamedTuple

from ..kernel.context import Context
from ..kernel.fastjson import dumps
from ..kernel.judge.asking import Judge
from ..kernel.judge.question import (
    Question,
    Rubric,
    excerpt,
    load_rubric,
    one_line,
    read_number,
    read_rubric,
    score_fields,
    value_at,
)
from ..kernel.paths import load_data
from ..kernel.transcript import COMMAND, PROMPT
from ..kernel.transcript.reader import turns_since_prompt
from ..kernel.transcript.turn import Call
from . import ReplyState, count_judged
from .gate import Drift, raise_drift, record_drift, run_steps
from .rows import PADDING_DIMENSIONS, Judged, Score, severe_dimensions

# Failures that would repeat for every later reply of the session, so the judge is not asked again in it.
DISABLING_FAILURES = ("no_key", "disabled", "bad_url", "http_401", "http_403")
_MAX_USER, _MAX_REPLY, _MAX_PHRASE, _MAX_CALL = 800, 6000, 120, 240  # characters
_MAX_PHRASES, _MAX_CALLS, _MAX_MISSED = 20, 12, 5
_TAIL_BYTES = 2 << 20
_MAX_PART = 100  # characters of a call's input, and of its result


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

    def parse(value: Mapping[str, Any]) -> dict[str, Any] | None:
        levels = parse_levels(value, dimensions)
        verdicts, missed = _parse_phrases(value, phrase_count), _find_missed(value, material.reply)
        return levels and {**levels, "phrases": verdicts, "missed": missed}

    return Question(_grade_rubric(dimensions), _data(material), parse)


def _grade_rubric(dimensions: Sequence[str]) -> Rubric:
    """Return the rubric without the other dimensions: their lines, their places in the example, and their keys in the schema."""
    entry = load_data("judges", "rubrics", "replies", "grade")
    others = [name for name in load_data("replies", "dimensions")["judge"] if name not in dimensions]
    names = "|".join(others)
    unwanted = re.compile('"(?:%s)": [0-9-]+, |^- (?:%s),.*' % (names, names))
    shortened = {
        part: [unwanted.sub("", line) for line in entry[part] if unwanted.fullmatch(line) is None]
        for part in ("system", "closing")
    }
    properties = {name: value for name, value in entry["schema"]["properties"].items() if name not in others}
    schema = {**entry["schema"], "properties": properties, "required": list(properties)}
    return read_rubric({**entry, **shortened, "schema": schema}, "replies/grade")


def deep_question(material: GradeMaterial) -> Question:
    """Return the question about all eight dimensions. Its values: `levels` and `clamped`."""
    parse = partial(parse_levels, dimensions=load_data("replies", "dimensions")["deep"])
    return Question(load_rubric("replies/deep"), _data(material), parse)


def _data(material: GradeMaterial) -> dict[str, object]:
    phrases = [one_line(phrase, _MAX_PHRASE) for phrase in material.phrases[:_MAX_PHRASES]]
    listed = [{"index": index, "text": phrase} for index, phrase in enumerate(phrases)]
    return {
        "message_kind": material.query_type,
        "message": excerpt(material.user, _MAX_USER),
        "tool_calls": [one_line(call, _MAX_CALL) for call in material.calls],
        "reply": excerpt(material.reply, _MAX_REPLY),
        **({"phrases": listed} if listed else {}),
    }


def parse_levels(value: Mapping[str, Any], dimensions: Sequence[str]) -> dict[str, Any] | None:
    """Return `levels`, clamped to their scales, and `clamped`, their number; None if a level is missing or not a whole number."""
    given = [read_number(score_fields(value.get(name)).get("score")) for name in dimensions]
    if any(level is None or level % 1 for level in given):
        return None
    scales = load_data("replies", "dimensions")["dimensions"]
    levels = {key: int(max(0, min(scales[key]["most"], level or 0))) for key, level in zip(dimensions, given)}
    return {"levels": levels, "clamped": sum(map(ne, levels.values(), given))}


def _parse_phrases(value: Mapping[str, Any], phrase_count: int) -> list[tuple[int, bool]]:
    """Return the first verdict on each phrase as [index, is filler]; anything else in the answer is ignored."""
    items = value.get("phrases")
    verdicts: dict[int, bool] = {}
    for item in items if isinstance(items, list) else ():
        index, filler = value_at(item, "index"), value_at(item, "filler")
        if type(index) is int and 0 <= index < phrase_count and isinstance(filler, bool):
            verdicts.setdefault(index, filler)
    return sorted(verdicts.items())


def _find_missed(value: Mapping[str, Any], reply: str) -> list[tuple[int, int]]:
    """Return the offsets of the passages that the judge quotes as missed; a quote that the reply does not contain is ignored.

    The ledger gets these offsets instead of text.
    """
    quotes = value.get("missed")
    spans: list[tuple[int, int]] = []
    for quote in (quotes if isinstance(quotes, list) else [])[:_MAX_MISSED]:
        passage = quote.strip() if isinstance(quote, str) else ""
        start = reply.find(passage) if 2 < len(passage) <= _MAX_PHRASE else -1
        end = start + len(passage)
        if start >= 0 and not any(low < end and start < high for low, high in spans):
            spans.append((start, end))
    return spans


def grade_reply(score: Score, material: GradeMaterial, judge: Judge, context: Context) -> str:
    """Ask the judge about a scored reply and record the result; return the failure's name, or "" for an answer.

    Raises OSError if something could not be recorded.
    """
    phrases = [material.reply[start:end] for start, end, _ in score.matches]
    dimensions = context.settings.texts("scoring.judge.dimensions")
    question = grade_question(material._replace(phrases=phrases), dimensions)
    verdict = judge.ask(question, context.deadline)
    record: dict[str, object] = {
        "kind": "judged", "id": score.id, "outcome": verdict.failure or "ok",
        "judge_model": judge.model, "latency_ms": verdict.ms, "cost_usd": verdict.cost, "cached": verdict.cached,
    }  # fmt: skip
    if verdict.values is None:
        context.append("scores", record)
        return verdict.failure
    answer, override = _compare(score, verdict.values)
    record.update(clamped=verdict.values["clamped"], **answer._asdict())
    rows = [("scores", record), *([("judge-overrides", override)] if override else [])]
    errors = run_steps(
        *(partial(context.append, *row) for row in rows),
        lambda: count_judged(context.paths),
        lambda: _add_drift(score, answer.levels, context),
    )
    if errors:
        raise errors[0]
    return ""


def _compare(score: Score, values: Mapping[str, Any]) -> tuple[Judged, dict[str, object]]:
    """Return a judge's answer, and where it differs from the rules: phrases cleared, padding missed, severe dimensions.

    The latter is empty if it does not.
    """
    levels, missed = values["levels"], values["missed"]
    phrases = [(score.matches[at][2], filler) for at, filler in values["phrases"]]
    cleared = [rule for rule, filler in phrases if not filler]
    severe = severe_dimensions(levels)
    # Where rules found padding, a severe level of a padding dimension agrees with them.
    added = severe - PADDING_DIMENSIONS if score.padding_count else severe
    if not cleared and not added and not missed:
        return Judged(levels, phrases, missed, None if score.padding_count and not phrases else True), {}
    override: dict[str, object] = {
        "kind": "override", "id": score.id, "padding_count": score.padding_count,
        "cleared": cleared, "levels": levels, "missed": missed,
    }  # fmt: skip
    return Judged(levels, phrases, missed, agrees=False), override


def _add_drift(score: Score, levels: Mapping[str, int], context: Context) -> None:
    """Record the drift that the judge's levels add, unless the reply is only audited.

    It is corrected only if the rules found no drift and no newer reply was scored.
    """
    drift = raise_drift(Drift(score.drift, score.severity), levels)
    if drift is None or score.audit:
        return
    is_current = ReplyState(context.paths, context.session).replies() == score.turn
    record_drift(drift, score, context, may_correct=is_current and not score.drift)
