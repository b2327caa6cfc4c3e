"""A session read from Langfuse, kept as a transcript: so it is read, seen and graded like any other."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...kernel.files import make_folder, replace_file
from ...kernel.hygiene import redact
from ...kernel.native import digest, dumps, loads
from ...kernel.text.private import without_private
from ..records import SOURCE, pulled_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...kernel.paths import Places
    from .observations import Observation, Trace

__all__ = ["keep", "rows_of", "text_of"]

_LONGEST = 20_000
_MAX_DEPTH = 5
_TEXT_KEYS = ("content", "text", "prompt", "message", "messages", "output", "result", "query", "input")
_TOKENS = {
    "input_tokens": ("input", "input_tokens", "promptTokens"),
    "output_tokens": ("output", "output_tokens", "completionTokens"),
}


def keep(places: Places, session: str, traces: Sequence[Trace]) -> str:
    """The path of the transcript that was written, in the state folder, secrets taken out. Raises OSError."""
    folder = pulled_folder(places)
    make_folder(folder)
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in session)[:60].strip("-")
    path = os.path.join(
        folder, "%s-%s.jsonl" % (name or "session", digest(session.encode("utf-8", "replace"), 4))
    )
    replace_file(path + SOURCE, dumps({"trace": traces[0].id}).encode("ascii"))
    replace_file(path, b"".join(dumps(row).encode("ascii") + b"\n" for row in rows_of(session, traces)))
    return path


def rows_of(session: str, traces: Sequence[Trace]) -> Iterator[dict[str, Any]]:
    """The rows of a transcript: each trace begins with what was asked; generations are answers, other steps the calls of the one before."""
    for trace in traces:
        common = {"sessionId": session, "timestamp": trace.start}
        asked = _clean(text_of(trace.input))
        if asked:
            yield {"type": "user", "uuid": trace.id, **common, "message": {"role": "user", "content": asked}}
        answered = False
        for number, step in enumerate(trace.steps):
            answered = answered or step.kind == "GENERATION"
            yield from _step(step, "%s-%d" % (trace.id, number), {**common, "timestamp": step.start})
        if not answered and text_of(trace.output):
            yield _answer(
                trace.id + "-end", [{"type": "text", "text": _clean(text_of(trace.output))}], common, "", {}
            )


def _step(step: Observation, name: str, common: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if step.kind == "GENERATION":
        text = _clean(text_of(step.output))
        usage = {
            field: next((step.usage[key] for key in keys if isinstance(step.usage.get(key), int)), 0)
            for field, keys in _TOKENS.items()
        }
        yield _answer(name, [{"type": "text", "text": text}] if text else [], common, step.model, usage)
    elif step.kind not in ("EVENT", "AGENT", "CHAIN"):
        given = _decoded(step.input)
        given = (
            {key: _clean(text_of(value)) for key, value in given.items()}
            if isinstance(given, dict)
            else {"prompt": _clean(text_of(given))}
        )
        tool = step.name.partition(": ")[2] or step.name
        yield _answer(
            name, [{"type": "tool_use", "id": name, "name": tool, "input": given}], common, step.model, {}
        )
        result = {
            "type": "tool_result",
            "tool_use_id": name,
            "content": _clean(text_of(step.output)),
            "is_error": step.level == "ERROR",
        }
        yield {
            "type": "user",
            "uuid": name + "-result",
            **common,
            "message": {"role": "user", "content": [result]},
        }


def _answer(
    name: str, blocks: list[dict[str, Any]], common: dict[str, Any], model: str, usage: dict[str, int]
) -> dict[str, Any]:
    message = {"id": name, "role": "assistant", "model": model, "content": blocks, "usage": usage}
    return {"type": "assistant", "uuid": name, **common, "message": message}


def _decoded(value: object) -> object:
    """Input and output are texts on new servers, and mostly JSON."""
    if isinstance(value, str) and value[:1] in ("{", "[", '"') and len(value) <= 1 << 20:
        try:
            return loads(value)
        except ValueError:
            return value
    return value


def text_of(value: object, depth: int = _MAX_DEPTH) -> str:
    """The text in a value of any shape: of messages the contents, else what lies under a usual key, else JSON."""
    value = _decoded(value)
    if value is None or depth == 0:
        return ""
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, list):
        return "\n".join(filter(None, (text_of(item, depth - 1) for item in value[:200])))[:_LONGEST]
    if isinstance(value, dict):
        for key in _TEXT_KEYS:
            if value.get(key):
                return text_of(value[key], depth - 1)
        return dumps(value)[:_LONGEST]
    return str(value)[:_LONGEST]


def _clean(text: str) -> str:
    return redact(without_private(text), "ledger").text
