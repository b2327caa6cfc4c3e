"""A session as Langfuse holds it, read from servers of both generations into one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ...kernel.judge.outcome import Failed
from ...kernel.judge.wire import field
from ...kernel.native import dumps
from .server import MODERN

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Observation", "Trace", "read_session"]

_FIELDS = "core,basic,time,io,model,usage,trace_context"
_PER_PAGE = 500
_MOST_PAGES = 200
_MOST_TRACES = 2000


class Observation(NamedTuple):
    """One step: `kind` in capitals (GENERATION, TOOL, SPAN …), `level` ERROR where it failed."""

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
    """One turn of a session with its steps in the order of time."""

    id: str
    start: str
    input: Any
    output: Any
    steps: list[Observation]


def read_session(client: Client, server: dict[str, Any], session: str) -> list[Trace]:
    """The traces of a session, the oldest first; empty when there is no such session. Raises Failed."""
    modern = server.get("sessions") == MODERN
    traces = _modern(client, session) if modern else _legacy(client, session)
    return sorted(traces, key=lambda trace: trace.start)


def _modern(client: Client, session: str) -> list[Trace]:
    """By `v2/observations`; its plain parameter was ignored by some servers, so the filter is sent, and each row is checked."""
    condition = [{"type": "string", "column": "sessionId", "operator": "=", "value": session}]
    query: dict[str, object] = {"fields": _FIELDS, "limit": _PER_PAGE, "filter": dumps(condition)}
    rows: list[Any] = []
    for _ in range(_MOST_PAGES):
        reply = client.get("/v2/observations", query)
        page = field(reply.payload, "data")
        if reply.status != 200 or not isinstance(page, list):
            raise Failed("http_%d" % reply.status, "the session could not be read")
        rows += [row for row in page if field(row, "sessionId") == session]
        cursor = field(reply.payload, "meta", "cursor")
        if not isinstance(cursor, str) or not cursor:
            break
        query = {**query, "cursor": cursor}
    traces: dict[str, list[Any]] = {}
    for row in rows:
        traces.setdefault(str(field(row, "traceId")), []).append(row)
    return [_trace(name, found) for name, found in traces.items()]


def _trace(name: str, rows: list[Any]) -> Trace:
    """A trace out of its observations: input and output are those of the root."""
    rows = sorted(rows, key=lambda row: str(field(row, "startTime")))
    root = next((row for row in rows if not field(row, "parentObservationId")), rows[0])
    steps = [_observation(row) for row in rows if row is not root or len(rows) == 1]
    return Trace(name, str(field(root, "startTime")), field(root, "input"), field(root, "output"), steps)


def _legacy(client: Client, session: str) -> list[Trace]:
    """By the session and then each of its traces, since a session lists no observations."""
    reply = client.get("/sessions/" + quote(session, safe=""))
    if reply.status == 404:
        return []
    listed = field(reply.payload, "traces")
    if reply.status != 200 or not isinstance(listed, list):
        raise Failed("http_%d" % reply.status, "the session could not be read")
    traces = []
    for one in listed[:_MOST_TRACES]:
        found = client.get("/traces/" + quote(str(field(one, "id")), safe=""))
        if found.status != 200 or field(found.payload, "sessionId") not in (session, None):
            continue
        rows = field(found.payload, "observations")
        steps = sorted(map(_observation, rows if isinstance(rows, list) else ()), key=lambda step: step.start)
        whole = found.payload
        traces.append(
            Trace(
                str(field(whole, "id")),
                str(field(whole, "timestamp")),
                field(whole, "input"),
                field(whole, "output"),
                steps,
            )
        )
    return traces


def _observation(row: Any) -> Observation:  # noqa: ANN401 (what the server has)
    texts = [str(field(row, name) or "") for name in ("id", "type", "name", "startTime")]
    usage = field(row, "usageDetails") or field(row, "usage")
    model = str(field(row, "providedModelName") or field(row, "model") or "")
    level = str(field(row, "level") or "")
    return Observation(
        texts[0],
        texts[1].upper(),
        texts[2],
        texts[3],
        field(row, "input"),
        field(row, "output"),
        level,
        model,
        usage if isinstance(usage, dict) else {},
    )
