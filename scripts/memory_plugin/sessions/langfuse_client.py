"""The Langfuse server: its address, keys and version, requests that wait, and sessions that are read from it.

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

from ..kernel.context import Deadline
from ..kernel.fastjson import as_integer, digest, dumps, loads
from ..kernel.files import make_folder, replace_file
from ..kernel.hygiene import redact
from ..kernel.judge import credentials
from ..kernel.judge.calls import error_for, fetch, json_object
from ..kernel.judge.question import JudgeError, Values, value_at
from ..kernel.judge.transport import Request, tls_context
from ..kernel.judge.vendors import parse_address
from ..kernel.paths import Paths
from ..kernel.settings import Settings
from ..kernel.text import cut_before, without_private
from .rows import SOURCE, pulled_folder

KEYS = ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
HOSTS = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_SECONDS = 120.0  # for one command, with all retries
_CLOUD = "https://cloud.langfuse.com"
_KEY = re.compile(r"[!-9;-~]{1,500}")  # ASCII without spaces and colons, which end a name in the header
# Version 4 reads sessions through `v2/observations` and scores through `v3/scores`; version 3 through sessions and traces, and `v2/scores`.
MODERN, LEGACY = "v4", "v3"
_PROBES: dict[str, tuple[str, dict[str, object]]] = {
    "sessions": ("/v2/observations", {"limit": 1, "fields": "core"}),
    "scores": ("/v3/scores", {"limit": 1}),
}
_API = "/api/public"
_DEFAULT_WAIT = 30.0  # seconds, after a 429 that names none
_MAX_BYTES = 32 << 20
_FIELDS = "core,basic,time,io,model,usage,trace_context"
_PER_PAGE = 500
_MAX_TEXT = 20_000
_MAX_DEPTH = 5
_TEXT_KEYS = ("content", "text", "prompt", "message", "messages", "output", "result", "query", "input")
_TOKENS = {
    "input_tokens": ("input", "input_tokens", "promptTokens"),
    "output_tokens": ("output", "output_tokens", "completionTokens"),
}


def server_route(paths: Paths, settings: Settings) -> credentials.AddressSource:
    """Return the server's address and the setting or variable that names it."""
    variables = credentials.UserEnvironment(paths.config_dir)
    return credentials.address_source("sessions.langfuse.host", HOSTS, _CLOUD, settings, variables)


def find_access(paths: Paths, settings: Settings, off: str = "") -> credentials.ServerAccess:
    """Return the server's address and credentials. Raises JudgeError: disabled (`off` is the reason), bad_url or no_key."""
    if off:
        raise JudgeError("disabled", off)
    variables = credentials.UserEnvironment(paths.config_dir)
    address = parse_address(server_route(paths, settings).url)
    if address is None:
        why = "sessions.langfuse.host or LANGFUSE_HOST: not https://, nor http:// to this machine"
        raise JudgeError("bad_url", why)
    keys = [variables.get(name) for name in KEYS]
    for name, key in zip(KEYS, keys):
        if not _KEY.fullmatch(key):
            problem = 'is not set, or is not a key. Set it in your environment or in "env" of your own settings.json'
            raise JudgeError("no_key", "%s %s" % (name, problem))
    basic = b64encode(":".join(keys).encode("ascii")).decode("ascii")
    proxy, authorities = credentials.proxy_for(address, variables), variables.get("NODE_EXTRA_CA_CERTS")
    return credentials.ServerAccess(address, (("authorization", "Basic " + basic),), proxy, authorities)


def connect(paths: Paths, settings: Settings, off: str = "") -> LangfuseClient:
    """Return a client of the user's server, for the requests of one command. Raises JudgeError like `find_access`."""
    return LangfuseClient(find_access(paths, settings, off), Deadline(_SECONDS))


class LangfuseClient:
    """Requests to one server within one deadline, one at a time.

    After 429, wait if the deadline allows it. Raises JudgeError, as `fetch` does and for every status but 2xx: http_NNN, redirect,
    overloaded, rate_limited with the wait; wrong_type or parse_error for an answer that is not a JSON object.
    """

    def __init__(self, access: credentials.ServerAccess, deadline: Deadline) -> None:
        self.access = access
        self._deadline = deadline
        self._tls = tls_context(access)

    def get(self, path: str, query: Mapping[str, object] | None = None) -> Values:
        """Return the answer to a GET of a path of the API."""
        return self._send("GET", path + ("?" + urlencode(query) if query else ""), None)

    def find(self, path: str, query: Mapping[str, object] | None = None) -> Values | None:
        """Return the answer to a GET; None if the server does not know the path."""
        try:
            return self.get(path, query)
        except JudgeError as error:
            if error.name != "http_404":
                raise
        return None

    def rows(self, path: str, query: Mapping[str, object]) -> Iterator[Any]:
        """Yield the rows of all pages of a list."""
        more: Mapping[str, object] = query
        while more:
            answer = self.get(path, more)
            if not isinstance(answer.get("data"), list):
                raise JudgeError("wrong_type", "the answer is not a list of rows")
            yield from answer["data"]
            more = _next_page(more, answer.get("meta"))

    def post(self, path: str, body: object) -> Values:
        """Return the answer to a POST."""
        return self._send("POST", path, dumps(body).encode("ascii"))

    def _send(self, method: str, path: str, body: bytes | None) -> Values:
        while True:
            try:
                return self._send_once(method, path, body)
            except JudgeError as error:
                if error.name != "rate_limited":
                    raise
                wait = error.wait = _DEFAULT_WAIT if error.wait is None else error.wait
                if wait >= self._deadline.remaining():
                    raise
            sleep(wait)

    def _send_once(self, method: str, path: str, body: bytes | None) -> Values:
        request = Request(method, _API + path, (), body, _MAX_BYTES)
        response = fetch(self.access, request, self._deadline, self._tls)
        if response.status >= 300:
            raise error_for(response)
        return json_object(response)


def _next_page(query: Mapping[str, object], meta: object) -> dict[str, object]:
    """Return the query of the next page: some lists have cursors, others page numbers. Empty after the last page."""
    if value_at(meta, "cursor"):
        return {**query, "cursor": value_at(meta, "cursor")}
    page = as_integer(query.get("page")) or 1
    return {**query, "page": page + 1} if page < (as_integer(value_at(meta, "totalPages")) or 0) else {}


def probe(client: LangfuseClient) -> dict[str, str]:
    """Return how to read this server's `sessions` and `scores`, each MODERN or LEGACY. Raises JudgeError."""
    return {
        name: LEGACY if client.find(path, query) is None else MODERN
        for name, (path, query) in _PROBES.items()
    }


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
    """Read a session through `v2/observations`; a trace's head is its root observation, the first without a parent.

    Some servers ignore the parameter `sessionId`, so a filter is sent, and each row is checked.
    """
    condition = [{"type": "string", "column": "sessionId", "operator": "=", "value": session}]
    query: dict[str, object] = {"fields": _FIELDS, "limit": _PER_PAGE, "filter": dumps(condition)}
    rows_of: dict[str, list[Any]] = {}
    for row in client.rows("/v2/observations", query):
        if value_at(row, "sessionId") == session:
            rows_of.setdefault(str(value_at(row, "traceId")), []).append(row)
    traces = []
    for rows in rows_of.values():
        rows.sort(key=_start)
        root = next((row for row in rows if not value_at(row, "parentObservationId")), rows[0])
        traces.append(_trace(root, [row for row in rows if row is not root or len(rows) == 1]))
    return traces


def _read_legacy(client: LangfuseClient, session: str) -> list[Trace]:
    """Read a session and then each of its traces, because a session lists no observations."""
    found = client.find("/sessions/" + quote(session, safe=""))
    ids = [str(value_at(entry, "id")) for entry in value_at(found, "traces") or ()]
    heads = [client.find("/traces/" + quote(trace, safe="")) for trace in ids]
    own = (head for head in heads if head and head.get("sessionId") in (session, None))
    return [_trace(head, head.get("observations")) for head in own]


def _trace(head: object, steps: object) -> Trace:
    """Return a trace whose input and output are those of `head`, an observation or the trace itself."""
    identity, start = _field(head, "traceId", "id"), _field(head, "startTime", "timestamp")
    in_order = sorted(steps, key=_start) if isinstance(steps, list) else []
    return Trace(identity, start, value_at(head, "input"), value_at(head, "output"), in_order)


def _start(row: object) -> str:
    return _field(row, "startTime")


def _field(row: object, *names: str) -> str:
    """Return a field of a row as a text; fields that a server names differently are read under each name."""
    return str(next(filter(None, (value_at(row, name) for name in names)), ""))


def _kind(row: object) -> str:
    return _field(row, "type").upper()


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
        prompt, output = _text(trace.input), _text(trace.output)
        if prompt:
            yield _user_row(trace.id, prompt, common)
        for number, step in enumerate(trace.steps):
            yield from _step_rows(step, "%s-%d" % (trace.id, number), {**common, "timestamp": _start(step)})
        if output and not any(_kind(step) == "GENERATION" for step in trace.steps):
            yield _assistant_row(trace.id + "-end", [{"type": "text", "text": output}], common)


def _step_rows(step: object, row_id: str, common: dict[str, object]) -> Iterator[dict[str, object]]:
    kind, model = _kind(step), _field(step, "providedModelName", "model")
    output = _text(value_at(step, "output"))
    if kind == "GENERATION":
        blocks = [{"type": "text", "text": output}] if output else []
        usage = _tokens(value_at(step, "usageDetails") or value_at(step, "usage"))
        yield _assistant_row(row_id, blocks, common, model, usage)
    elif kind not in ("EVENT", "AGENT", "CHAIN"):
        name = _field(step, "name")
        tool = name.partition(": ")[2] or name
        call = {"type": "tool_use", "id": row_id, "name": tool, "input": _arguments(value_at(step, "input"))}
        yield _assistant_row(row_id, [call], common, model)
        failed = value_at(step, "level") == "ERROR"
        result = {"type": "tool_result", "tool_use_id": row_id, "content": output, "is_error": failed}
        yield _user_row(row_id + "-result", [result], common)


def _tokens(usage: object) -> dict[str, int]:
    """Return the tokens of a generation under the names of a transcript, 0 if unknown."""
    given = {field: [as_integer(value_at(usage, key)) for key in keys] for field, keys in _TOKENS.items()}
    return {field: next(filter(None, numbers), 0) for field, numbers in given.items()}


def _arguments(value: object) -> dict[str, str]:
    arguments = _decoded(value)
    named = arguments if isinstance(arguments, dict) else {"prompt": arguments}
    return {key: _text(item) for key, item in named.items()}


def _user_row(row_id: str, content: object, common: dict[str, object]) -> dict[str, object]:
    return {"type": "user", "uuid": row_id, **common, "message": {"role": "user", "content": content}}


def _assistant_row(
    row_id: str, blocks: list[Any], common: dict[str, object], model: str = "", usage: object = None
) -> dict[str, object]:
    message = {"id": row_id, "role": "assistant", "model": model, "content": blocks, "usage": usage or {}}
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
    if isinstance(value, list):
        text = "\n".join(filter(None, (text_of(item, depth - 1) for item in value[:200])))
    elif isinstance(value, dict):
        named = next(filter(None, map(value.get, _TEXT_KEYS)), None)
        text = text_of(named, depth - 1) if named else dumps(value)
    else:
        text = str(value)
    return text[:_MAX_TEXT]


def _text(value: object) -> str:
    """Return the text in a value as it may be stored; one that was cut loses its last word, which may be half a secret."""
    text = text_of(value)
    return redact(without_private(text[: cut_before(text, _MAX_TEXT - 1)]), "ledger").text
