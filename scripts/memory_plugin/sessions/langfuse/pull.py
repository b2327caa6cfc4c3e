"""Read a session from Langfuse and store it as a transcript, which is then graded like any other.

The two server versions have different endpoints. Both are read into the same traces.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from ...kernel.fastjson import digest, dumps, loads
from ...kernel.files import make_folder, replace_file
from ...kernel.hygiene import redact
from ...kernel.judge.question import JudgeError, value_at
from ...kernel.paths import Paths
from ...kernel.text.tags import without_private
from ..score_rows import SOURCE, pulled_folder
from .langfuse_client import MODERN, LangfuseClient

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


class Trace(NamedTuple):
    """One turn of a session, with the rows of its observations in chronological order."""

    id: str
    start: str
    input: Any
    output: Any
    steps: list[Any]


def read_session(client: LangfuseClient, server: dict[str, Any], session: str) -> list[Trace]:
    """Return the traces of a session, the oldest first; empty if there is no such session. Raises JudgeError."""
    is_modern = server.get("sessions") == MODERN
    traces = _read_modern(client, session) if is_modern else _read_legacy(client, session)
    return sorted(traces, key=lambda trace: trace.start)


def _read_modern(client: LangfuseClient, session: str) -> list[Trace]:
    """Read a session through `v2/observations`.

    Some servers ignore the parameter `sessionId`, so a filter is sent, and each row is checked.
    """
    condition = [{"type": "string", "column": "sessionId", "operator": "=", "value": session}]
    query: dict[str, object] = {"fields": _FIELDS, "limit": _PER_PAGE, "filter": dumps(condition)}
    rows: list[Any] = []
    for _ in range(_MAX_PAGES):
        page, meta = client.rows("/v2/observations", query, "the session could not be read")
        rows += [row for row in page if value_at(row, "sessionId") == session]
        if not meta.get("cursor"):
            break
        query = {**query, "cursor": meta["cursor"]}
    traces: dict[str, list[Any]] = {}
    for row in rows:
        traces.setdefault(str(value_at(row, "traceId")), []).append(row)
    return [_trace_from_observations(trace_id, trace_rows) for trace_id, trace_rows in traces.items()]


def _trace_from_observations(trace_id: str, rows: list[Any]) -> Trace:
    """Return a trace; its input and output are those of the root observation."""
    rows = sorted(rows, key=_start)
    root = next((row for row in rows if not value_at(row, "parentObservationId")), rows[0])
    steps = [row for row in rows if row is not root or len(rows) == 1]
    return Trace(trace_id, _start(root), value_at(root, "input"), value_at(root, "output"), steps)


def _start(row: object) -> str:
    return _field(row, "startTime")


def _field(row: object, *names: str) -> str:
    """Return a field of a row as a text; fields that a server names differently are read under each name."""
    return str(next(filter(None, (value_at(row, name) for name in names)), ""))


def _kind(row: object) -> str:
    return _field(row, "type").upper()


def _read_legacy(client: LangfuseClient, session: str) -> list[Trace]:
    """Read a session and then each of its traces, because a session lists no observations."""
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
        traces.append(
            Trace(
                str(value_at(trace, "id")),
                str(value_at(trace, "timestamp")),
                value_at(trace, "input"),
                value_at(trace, "output"),
                sorted(rows, key=_start) if isinstance(rows, list) else [],
            )
        )
    return traces


def keep_session(paths: Paths, session: str, traces: Sequence[Trace]) -> str:
    """Write a session as a transcript in the state folder, without secrets; return its path. Raises OSError."""
    folder = pulled_folder(paths)
    make_folder(folder)
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in session)[:60].strip("-")
    suffix = digest(session.encode("utf-8", "replace"), 4)  # two ids may give the same name
    path = os.path.join(folder, "%s-%s.jsonl" % (name or "session", suffix))
    replace_file(path + SOURCE, dumps({"trace": traces[0].id}).encode("ascii"))
    rows = transcript_rows(session, traces)
    replace_file(path, b"".join(dumps(row).encode("ascii") + b"\n" for row in rows))
    return path


def transcript_rows(session: str, traces: Sequence[Trace]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a transcript: each trace's prompt, its generations as replies, and its other steps as tool calls."""
    for trace in traces:
        common = {"sessionId": session, "timestamp": trace.start}
        prompt = _clean(text_of(trace.input))
        if prompt:
            yield {"type": "user", "uuid": trace.id, **common, "message": {"role": "user", "content": prompt}}
        for number, step in enumerate(trace.steps):
            yield from _step_rows(step, "%s-%d" % (trace.id, number), {**common, "timestamp": _start(step)})
        has_reply = any(_kind(step) == "GENERATION" for step in trace.steps)
        if not has_reply and text_of(trace.output):
            block = {"type": "text", "text": _clean(text_of(trace.output))}
            yield _assistant_row(trace.id + "-end", [block], common, "", {})


def _step_rows(step: object, row_id: str, common: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind, model = _kind(step), _field(step, "providedModelName", "model")
    output = _clean(text_of(value_at(step, "output")))
    if kind == "GENERATION":
        blocks = [{"type": "text", "text": output}] if output else []
        usage = value_at(step, "usageDetails") or value_at(step, "usage")
        yield _assistant_row(row_id, blocks, common, model, _tokens(usage if isinstance(usage, dict) else {}))
    elif kind not in ("EVENT", "AGENT", "CHAIN"):
        name = _field(step, "name")
        tool = name.partition(": ")[2] or name
        call = {"type": "tool_use", "id": row_id, "name": tool, "input": _arguments(value_at(step, "input"))}
        yield _assistant_row(row_id, [call], common, model, {})
        failed = value_at(step, "level") == "ERROR"
        result = {"type": "tool_result", "tool_use_id": row_id, "content": output, "is_error": failed}
        message = {"role": "user", "content": [result]}
        yield {"type": "user", "uuid": row_id + "-result", **common, "message": message}


def _tokens(usage: dict[str, Any]) -> dict[str, int]:
    """Return the tokens of a generation under the names of a transcript, 0 if unknown."""
    return {
        field: next((usage[key] for key in keys if isinstance(usage.get(key), int)), 0)
        for field, keys in _TOKENS.items()
    }


def _arguments(value: object) -> dict[str, str]:
    arguments = _decoded(value)
    if isinstance(arguments, dict):
        return {key: _clean(text_of(item)) for key, item in arguments.items()}
    return {"prompt": _clean(text_of(arguments))}


def _assistant_row(
    row_id: str, blocks: list[dict[str, Any]], common: dict[str, Any], model: str, usage: dict[str, int]
) -> dict[str, Any]:
    message = {"id": row_id, "role": "assistant", "model": model, "content": blocks, "usage": usage}
    return {"type": "assistant", "uuid": row_id, **common, "message": message}


def _decoded(value: object) -> object:
    """Return a value with JSON text decoded, because version 4 sends input and output as text."""
    if isinstance(value, str) and value[:1] in ("{", "[", '"') and len(value) <= 1 << 20:
        try:
            return loads(value)
        except ValueError:
            return value
    return value


def text_of(value: object, depth: int = _MAX_DEPTH) -> str:
    """Return the text in a value of any shape: the contents of messages, the value of a usual key, or JSON."""
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
