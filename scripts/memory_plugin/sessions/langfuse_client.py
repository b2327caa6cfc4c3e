"""The Langfuse server: its address, keys and version, requests that wait and retry, and sessions that are read from it.

A session is stored as a transcript, which is then graded like any other. The two server versions have different endpoints. Both are read
into the same traces.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from time import sleep
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from ..kernel.address import parse_address
from ..kernel.context import Deadline
from ..kernel.fastjson import as_integer, digest, dumps, loads
from ..kernel.files import make_folder, replace_file
from ..kernel.hygiene import redact
from ..kernel.judge.calls import fetch
from ..kernel.judge.credentials import (
    AddressSource,
    ServerAccess,
    UserEnvironment,
    address_source,
    proxy_for,
)
from ..kernel.judge.question import JudgeError, value_at
from ..kernel.judge.transport import Request, tls_context
from ..kernel.paths import Paths
from ..kernel.settings import Settings
from ..kernel.text import cut_before, without_private
from .rows import SOURCE, pulled_folder

KEYS = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
HOSTS = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
SECONDS = 120.0  # for one command, with all retries
_CLOUD = "https://cloud.langfuse.com"
_KEY = re.compile(r"[!-9;-~]{1,500}")  # ASCII without spaces and colons, which end a name in the header
# Version 4 reads sessions through `v2/observations` and scores through `v3/scores`; version 3 through sessions and traces, and `v2/scores`.
MODERN, LEGACY = "v4", "v3"
_PROBES: dict[str, tuple[str, dict[str, object]]] = {
    "sessions": ("/v2/observations", {"limit": 1, "fields": "core"}),
    "scores": ("/v3/scores", {"limit": 1}),
}
_API = "/api/public"
_MAX_TRIES = 3
_RETRY_PAUSE = 0.5  # seconds before the second try, doubled for the third
_DEFAULT_WAIT = 30.0  # seconds, after a 429 that names none
_MAX_BYTES = 32 << 20
_TOO_MANY = 429
_FIELDS = "core,basic,time,io,model,usage,trace_context"
_PER_PAGE = 500
_MAX_TEXT = 20_000
_MAX_DEPTH = 5
_TEXT_KEYS = ("content", "text", "prompt", "message", "messages", "output", "result", "query", "input")
_TOKENS = {
    "input_tokens": ("input", "input_tokens", "promptTokens"),
    "output_tokens": ("output", "output_tokens", "completionTokens"),
}


def is_configured(paths: Paths, settings: Settings) -> bool:
    """Return whether the user's settings or environment mention a server: a host, a key, or automatic sending."""
    if settings.text("sessions.langfuse.host") or settings.flag("sessions.langfuse.automatic"):
        return True
    return bool(UserEnvironment(paths.config_dir).first((*HOSTS, *KEYS)))


def server_route(paths: Paths, settings: Settings) -> AddressSource:
    """Return the server's address and the setting or variable that names it."""
    variables = UserEnvironment(paths.config_dir)
    return address_source("sessions.langfuse.host", HOSTS, _CLOUD, settings, variables)


def find_access(paths: Paths, settings: Settings, off: str = "") -> ServerAccess:
    """Return the server's address and credentials. Raises JudgeError: disabled (`off` is the reason), bad_url or no_key."""
    if off:
        raise JudgeError("disabled", off)
    variables = UserEnvironment(paths.config_dir)
    address = parse_address(server_route(paths, settings).url)
    if address is None:
        raise JudgeError(
            "bad_url", "sessions.langfuse.host or LANGFUSE_HOST: not https://, nor http:// to this machine"
        )
    keys = [variables.get(name) for name in KEYS]
    for name, key in zip(KEYS, keys):
        if not _KEY.fullmatch(key):
            problem = 'is not set, or is not a key. Set it in your environment or in "env" of your own settings.json'
            raise JudgeError("no_key", "%s %s" % (name, problem))
    basic = b64encode(":".join(keys).encode("ascii")).decode("ascii")
    headers = (("authorization", "Basic " + basic),)
    return ServerAccess(address, headers, proxy_for(address, variables), variables.get("NODE_EXTRA_CA_CERTS"))


class LangfuseReply(NamedTuple):
    """A status and the JSON value of the body; None for an empty body or one that is not JSON."""

    status: int
    payload: Any


class LangfuseClient:
    """Requests to one server within one deadline, one at a time."""

    def __init__(self, access: ServerAccess, deadline: Deadline) -> None:
        self._access = access
        self._deadline = deadline
        self._tls = tls_context(access)

    def get(self, path: str, query: Mapping[str, object] | None = None) -> LangfuseReply:
        """Return the reply to a GET of a path of the API. Raises JudgeError like `post`."""
        return self._send("GET", path + ("?" + urlencode(query) if query else ""), None)

    def post(self, path: str, body: object) -> LangfuseReply:
        """Return the reply to a POST; the caller judges its status, a 2xx or a 4xx.

        After 429, wait if the deadline allows it. Transport errors and 5xx are tried three times, because every request here can be
        repeated without harm. Raises JudgeError: http_401, http_403, redirect, rate_limited (with the wait), http_5xx, wrong_type, and
        those of `fetch`.
        """
        return self._send("POST", path, dumps(body).encode("ascii"))

    def rows(self, path: str, query: Mapping[str, object], failed: str) -> tuple[list[Any], object]:
        """Return one page of a list and what the server says about further pages.

        Raises JudgeError like `post`, and with the text `failed` for any other reply.
        """
        reply = self.get(path, query)
        rows, meta = value_at(reply.payload, "data"), value_at(reply.payload, "meta")
        if reply.status != 200 or not isinstance(rows, list):
            raise JudgeError("http_%d" % reply.status, failed)
        return rows, meta

    def _send(self, method: str, path: str, body: bytes | None) -> LangfuseReply:
        tries = 0
        while True:
            tries += 1
            try:
                return self._send_once(method, path, body)
            except JudgeError as error:
                wait = error.wait
                if error.name in ("network", "timeout") or error.name.startswith("http_5"):
                    wait = _RETRY_PAUSE * 2 ** (tries - 1) if tries < _MAX_TRIES else None
                if wait is None or wait >= self._deadline.remaining():
                    raise
            sleep(wait)

    def _send_once(self, method: str, path: str, body: bytes | None) -> LangfuseReply:
        request = Request(method, _API + path, (), body, _MAX_BYTES)
        response = fetch(self._access, request, self._deadline, self._tls)
        status = response.status
        if status == _TOO_MANY:
            wait = response.headers.get("retry-after", "")
            is_number = wait.isascii() and wait.isdigit() and len(wait) < 9
            raise JudgeError("rate_limited", "", float(wait) if is_number else _DEFAULT_WAIT)
        if status in (401, 403) or status >= 500:
            raise JudgeError("http_%d" % status)
        if 300 <= status < 400:
            raise JudgeError("redirect", "redirects are not followed, because they would pass on the key")
        try:
            payload = loads(response.body.decode("utf-8"))
        except ValueError:
            payload = None
        if status < 300 and payload is None:
            raise JudgeError("wrong_type", "the response is not JSON")
        return LangfuseReply(status, payload)


def probe(client: LangfuseClient) -> dict[str, str]:
    """Return how to read this server's `sessions` and `scores`, each MODERN or LEGACY. Raises JudgeError."""
    versions = {}
    for name, query in _PROBES.items():
        status = client.get(*query).status
        if status not in (200, 404):
            raise JudgeError("http_%d" % status, "the server could not be probed")
        versions[name] = MODERN if status == 200 else LEGACY
    return versions


class Trace(NamedTuple):
    """One turn of a session, with the rows of its observations in chronological order."""

    id: str
    start: str
    input: Any
    output: Any
    steps: list[Any]


def read_session(client: LangfuseClient, server: Mapping[str, str], session: str) -> list[Trace]:
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
    traces: dict[str, list[Any]] = {}
    while True:
        page, meta = client.rows("/v2/observations", query, "the session could not be read")
        for row in page:
            if value_at(row, "sessionId") == session:
                traces.setdefault(str(value_at(row, "traceId")), []).append(row)
        if not value_at(meta, "cursor"):
            return [_trace_of_observations(rows) for rows in traces.values()]
        query = {**query, "cursor": value_at(meta, "cursor")}


def _trace_of_observations(rows: list[Any]) -> Trace:
    """Return a trace; its input and output are those of the root observation, the first without a parent."""
    rows = sorted(rows, key=_start)
    root = next((row for row in rows if not value_at(row, "parentObservationId")), rows[0])
    return _trace(root, [row for row in rows if row is not root or len(rows) == 1])


def _trace(head: object, steps: list[Any]) -> Trace:
    """Return a trace whose input and output are those of `head`, an observation or the trace itself."""
    identity, start = _field(head, "traceId", "id"), _field(head, "startTime", "timestamp")
    return Trace(
        identity, start, value_at(head, "input"), value_at(head, "output"), sorted(steps, key=_start)
    )


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
    for entry in listed:
        reply = client.get("/traces/" + quote(str(value_at(entry, "id")), safe=""))
        rows = value_at(reply.payload, "observations")
        if reply.status == 200 and value_at(reply.payload, "sessionId") in (session, None):
            traces.append(_trace(reply.payload, rows if isinstance(rows, list) else []))
    return traces


def keep_session(paths: Paths, session: str, traces: Sequence[Trace]) -> str:
    """Write a session as a transcript in the state folder, without secrets; return its path. Raises OSError."""
    make_folder(pulled_folder(paths))
    path = "%s/%s.jsonl" % (pulled_folder(paths), digest(session.encode("utf-8", "replace"), 8))
    replace_file(path + SOURCE, dumps({"trace": traces[0].id}).encode("ascii"))
    rows = transcript_rows(session, traces)
    replace_file(path, b"".join(dumps(row).encode("ascii") + b"\n" for row in rows))
    return path


def transcript_rows(session: str, traces: Sequence[Trace]) -> Iterator[dict[str, object]]:
    """Yield the rows of a transcript: each trace's prompt, its generations as replies, and its other steps as tool calls."""
    for trace in traces:
        common: dict[str, object] = {"sessionId": session, "timestamp": trace.start}
        prompt = _clean(text_of(trace.input))
        if prompt:
            yield {"type": "user", "uuid": trace.id, **common, "message": {"role": "user", "content": prompt}}
        for number, step in enumerate(trace.steps):
            yield from _step_rows(step, "%s-%d" % (trace.id, number), {**common, "timestamp": _start(step)})
        has_reply = any(_kind(step) == "GENERATION" for step in trace.steps)
        if not has_reply and text_of(trace.output):
            block = {"type": "text", "text": _clean(text_of(trace.output))}
            yield _assistant_row(trace.id + "-end", [block], common, "", {})


def _step_rows(step: object, row_id: str, common: dict[str, object]) -> Iterator[dict[str, object]]:
    kind, model = _kind(step), _field(step, "providedModelName", "model")
    output = _clean(text_of(value_at(step, "output")))
    if kind == "GENERATION":
        blocks = [{"type": "text", "text": output}] if output else []
        usage = value_at(step, "usageDetails") or value_at(step, "usage")
        yield _assistant_row(row_id, blocks, common, model, _tokens(usage))
    elif kind not in ("EVENT", "AGENT", "CHAIN"):
        name = _field(step, "name")
        tool = name.partition(": ")[2] or name
        call = {"type": "tool_use", "id": row_id, "name": tool, "input": _arguments(value_at(step, "input"))}
        yield _assistant_row(row_id, [call], common, model, {})
        failed = value_at(step, "level") == "ERROR"
        result = {"type": "tool_result", "tool_use_id": row_id, "content": output, "is_error": failed}
        message = {"role": "user", "content": [result]}
        yield {"type": "user", "uuid": row_id + "-result", **common, "message": message}


def _tokens(usage: object) -> dict[str, int]:
    """Return the tokens of a generation under the names of a transcript, 0 if unknown."""
    given = {field: [as_integer(value_at(usage, key)) for key in keys] for field, keys in _TOKENS.items()}
    return {field: next(filter(None, numbers), 0) for field, numbers in given.items()}


def _arguments(value: object) -> dict[str, str]:
    arguments = _decoded(value)
    if isinstance(arguments, dict):
        return {key: _clean(text_of(item)) for key, item in arguments.items()}
    return {"prompt": _clean(text_of(arguments))}


def _assistant_row(
    row_id: str, blocks: list[Any], common: dict[str, object], model: str, usage: dict[str, int]
) -> dict[str, object]:
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
    """Return a text of `text_of` as it may be stored; one that was cut loses its last word, which may be half a secret."""
    return redact(without_private(text[: cut_before(text, _MAX_TEXT - 1)]), "ledger").text
