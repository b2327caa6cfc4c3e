"""Read a session from Langfuse and save it as a transcript, so that it is graded like any other.

Servers of version 4 and version 3 are read in different ways into the same form.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ...kernel.fastjson import digest, dumps, loads
from ...kernel.files import make_folder, replace_file
from ...kernel.hygiene import redact
from ...kernel.judge.calls import value_at
from ...kernel.judge.errors import JudgeError
from ...kernel.text.tags import without_private
from ..score_rows import SOURCE, pulled_folder
from .langfuse_server import MODERN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...kernel.paths import Paths
    from .langfuse_client import LangfuseClient

__all__ = ["Observation", "Trace", "read_session", "save_session", "text_of", "transcript_rows"]

_FIELDS = "core,basic,time,io,model,usage,trace_context"
_PER_PAGE = 500
_MAX_PAGES = 200
_MAX_TRACES = 2000
_MAX_TEXT = 20_000
_MAX_DEPTH = 5
_TEXT_KEYS = ("content", "text", "prompt", "message", "messages", "output", "result", "query", "input")
_TOKENS = {
    "input_tokens": ("input", "input_tokens", "promptTokens"),
    "output_tokens": ("output", "output_tokens", "completionTokens"),
}


class Observation(NamedTuple):
    """One step; `kind` is in capitals (GENERATION, TOOL, SPAN ...), and `level` is ERROR if the step failed."""

    id: str
    kind: str
    name: str
    start: str
    input: Any
    output: Any
    level: str
    model: str
    usage: dict[str, Any]


class Trace(NamedTuple):
    """One turn of a session with its steps in chronological order."""

    id: str
    start: str
    input: Any
    output: Any
    steps: list[Observation]


def read_session(client: LangfuseClient, server: dict[str, Any], session: str) -> list[Trace]:
    """Return a session's traces, the oldest first; empty if there is no such session. Raises JudgeError."""
    modern = server.get("sessions") == MODERN
    traces = _read_modern(client, session) if modern else _read_legacy(client, session)
    return sorted(traces, key=lambda trace: trace.start)


def _read_modern(client: LangfuseClient, session: str) -> list[Trace]:
    """Read through `v2/observations`.

    Some servers ignore the simple parameter, so a filter is sent and each row is checked.
    """
    condition = [{"type": "string", "column": "sessionId", "operator": "=", "value": session}]
    query: dict[str, object] = {"fields": _FIELDS, "limit": _PER_PAGE, "filter": dumps(condition)}
    rows: list[Any] = []
    for _ in range(_MAX_PAGES):
        reply = client.get("/v2/observations", query)
        page = value_at(reply.payload, "data")
        if reply.status != 200 or not isinstance(page, list):
            raise JudgeError("http_%d" % reply.status, "the session could not be read")
        rows += [row for row in page if value_at(row, "sessionId") == session]
        cursor = value_at(reply.payload, "meta", "cursor")
        if not isinstance(cursor, str) or not cursor:
            break
        query = {**query, "cursor": cursor}
    traces: dict[str, list[Any]] = {}
    for row in rows:
        traces.setdefault(str(value_at(row, "traceId")), []).append(row)
    return [_trace(name, trace_rows) for name, trace_rows in traces.items()]


def _trace(name: str, rows: list[Any]) -> Trace:
    """Build a trace from its observations; input and output are those of the root observation."""
    rows = sorted(rows, key=lambda row: str(value_at(row, "startTime")))
    root = next((row for row in rows if not value_at(row, "parentObservationId")), rows[0])
    steps = [_observation(row) for row in rows if row is not root or len(rows) == 1]
    return Trace(
        name, str(value_at(root, "startTime")), value_at(root, "input"), value_at(root, "output"), steps
    )


def _read_legacy(client: LangfuseClient, session: str) -> list[Trace]:
    """Read the session and then each of its traces, because a session lists no observations."""
    reply = client.get("/sessions/" + quote(session, safe=""))
    if reply.status == 404:
        return []
    listed = value_at(reply.payload, "traces")
    if reply.status != 200 or not isinstance(listed, list):
        raise JudgeError("http_%d" % reply.status, "the session could not be read")
    traces = []
    for entry in listed[:_MAX_TRACES]:
        reply = client.get("/traces/" + quote(str(value_at(entry, "id")), safe=""))
        trace = reply.payload
        if reply.status != 200 or value_at(trace, "sessionId") not in (session, None):
            continue
        rows = value_at(trace, "observations")
        steps = sorted(map(_observation, rows if isinstance(rows, list) else ()), key=lambda step: step.start)
        identity, start = str(value_at(trace, "id")), str(value_at(trace, "timestamp"))
        traces.append(Trace(identity, start, value_at(trace, "input"), value_at(trace, "output"), steps))
    return traces


def _observation(row: Any) -> Observation:  # noqa: ANN401 (the server's JSON)
    identity, kind, name, start = (
        str(value_at(row, key) or "") for key in ("id", "type", "name", "startTime")
    )
    usage = value_at(row, "usageDetails") or value_at(row, "usage")
    model = str(value_at(row, "providedModelName") or value_at(row, "model") or "")
    level = str(value_at(row, "level") or "")
    return Observation(
        identity,
        kind.upper(),
        name,
        start,
        value_at(row, "input"),
        value_at(row, "output"),
        level,
        model,
        usage if isinstance(usage, dict) else {},
    )


def save_session(paths: Paths, session: str, traces: Sequence[Trace]) -> str:
    """Write a session as a transcript in the state folder, without secrets; return its path. Raises OSError."""
    folder = pulled_folder(paths)
    make_folder(folder)
    name = "".join(char if char.isascii() and char.isalnum() else "-" for char in session)[:60].strip("-")
    path = os.path.join(
        folder, "%s-%s.jsonl" % (name or "session", digest(session.encode("utf-8", "replace"), 4))
    )
    replace_file(path + SOURCE, dumps({"trace": traces[0].id}).encode("ascii"))
    replace_file(
        path, b"".join(dumps(row).encode("ascii") + b"\n" for row in transcript_rows(session, traces))
    )
    return path


def transcript_rows(session: str, traces: Sequence[Trace]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a transcript. Each trace starts with its prompt; generations are answers, other steps are tool calls."""
    for trace in traces:
        common = {"sessionId": session, "timestamp": trace.start}
        prompt = _clean(text_of(trace.input))
        if prompt:
            yield {"type": "user", "uuid": trace.id, **common, "message": {"role": "user", "content": prompt}}
        has_answer = False
        for number, step in enumerate(trace.steps):
            has_answer = has_answer or step.kind == "GENERATION"
            yield from _step(step, "%s-%d" % (trace.id, number), {**common, "timestamp": step.start})
        if not has_answer and text_of(trace.output):
            block = {"type": "text", "text": _clean(text_of(trace.output))}
            yield _answer(trace.id + "-end", [block], common, "", {})


def _step(step: Observation, name: str, common: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if step.kind == "GENERATION":
        text = _clean(text_of(step.output))
        usage = {
            count: next((step.usage[key] for key in keys if isinstance(step.usage.get(key), int)), 0)
            for count, keys in _TOKENS.items()
        }
        yield _answer(name, [{"type": "text", "text": text}] if text else [], common, step.model, usage)
    elif step.kind not in ("EVENT", "AGENT", "CHAIN"):
        decoded = _decoded(step.input)
        arguments = decoded if isinstance(decoded, dict) else {"prompt": decoded}
        arguments = {key: _clean(text_of(value)) for key, value in arguments.items()}
        tool = step.name.partition(": ")[2] or step.name
        call = {"type": "tool_use", "id": name, "name": tool, "input": arguments}
        yield _answer(name, [call], common, step.model, {})
        result = {
            "type": "tool_result",
            "tool_use_id": name,
            "content": _clean(text_of(step.output)),
            "is_error": step.level == "ERROR",
        }
        message = {"role": "user", "content": [result]}
        yield {"type": "user", "uuid": name + "-result", **common, "message": message}


def _answer(
    name: str, blocks: list[dict[str, Any]], common: dict[str, Any], model: str, usage: dict[str, int]
) -> dict[str, Any]:
    message = {"id": name, "role": "assistant", "model": model, "content": blocks, "usage": usage}
    return {"type": "assistant", "uuid": name, **common, "message": message}


def _decoded(value: object) -> object:
    """Decode a value if it is JSON text, because new servers return input and output as text."""
    if isinstance(value, str) and value[:1] in ("{", "[", '"') and len(value) <= 1 << 20:
        try:
            return loads(value)
        except ValueError:
            return value
    return value


def text_of(value: object, depth: int = _MAX_DEPTH) -> str:
    """Return the text in a value of any shape: a string, the texts of a list, the value of a usual key, else JSON."""
    value = _decoded(value)
    if value is None or depth == 0:
        return ""
    if isinstance(value, str):
        return value[:_MAX_TEXT]
    if isinstance(value, list):
        return "\n".join(filter(None, (text_of(item, depth - 1) for item in value[:200])))[:_MAX_TEXT]
    if isinstance(value, dict):
        for key in _TEXT_KEYS:
            if value.get(key):
                return text_of(value[key], depth - 1)
        return dumps(value)[:_MAX_TEXT]
    return str(value)[:_MAX_TEXT]


def _clean(text: str) -> str:
    return redact(without_private(text), "ledger").text
