"""A fake Anthropic API on loopback that answers from a script and records every request.

It is also an HTTP(S) proxy that refuses everything: with HTTPS_PROXY set to it, each attempt to reach another host is recorded as a
request of the kind `proxy` and answered with 403.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.client.answers import error, events, message
from tests.client.script import Body, Reply, Script, request_kind, text_of

if TYPE_CHECKING:
    from typing_extensions import Self

SECRET_HEADERS = {"x-api-key", "authorization", "cookie", "proxy-authorization"}
MODELS = ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"]


class Request(NamedTuple):
    """A request; of secret headers only the length is kept. `answered` is the source of the answer."""

    number: int
    kind: str
    method: str
    path: str
    headers: dict[str, str]
    body: Body
    answered: str

    @property
    def texts(self) -> list[str]:
        """Return the texts that the model is sent: the system prompt, then each block of each message."""
        system = self.body.get("system")
        contents = [system if isinstance(system, list) else [system or ""]]
        contents += [
            m["content"] if isinstance(m["content"], list) else [m["content"]] for m in self.messages
        ]
        return [text_of([block]) for content in contents for block in content]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the messages of the conversation so far."""
        return list(self.body.get("messages") or [])


class FakeApi(ThreadingHTTPServer):
    """The server, in threads of this process; a context manager starts and stops it."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, script: dict[str, Any] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = Script(script or {})
        self.requests: list[Request] = []
        self.lock = threading.Lock()
        self.url = "http://127.0.0.1:%d" % self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()

    def record(self, handler: Handler, kind: str, body: Body, answered: str) -> int:
        """Record a request and return its number."""
        headers = {
            name.lower(): "<%d characters>" % len(value) if name.lower() in SECRET_HEADERS else value
            for name, value in handler.headers.items()
        }
        with self.lock:
            number = len(self.requests) + 1
            request = Request(number, kind, handler.command, handler.path, headers, body, answered)
            self.requests.append(request)
        return number

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error: a client may close its connection."""


class Handler(BaseHTTPRequestHandler):
    """A connection."""

    protocol_version = "HTTP/1.1"
    server: FakeApi

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the base class's)
        """Log nothing; requests are recorded."""

    def do_CONNECT(self) -> None:
        """Refuse to be a proxy."""
        self.server.record(self, "proxy", {}, "403")
        self.close_connection = True
        self.send(403, b"")

    def do_HEAD(self) -> None:
        """Answer like GET, without a body."""
        self.do_GET()

    def do_GET(self) -> None:
        """Answer the client's requests for models and health."""
        if self.path.startswith("http"):
            self.do_CONNECT()
            return
        answer: dict[str, Any] | None = None
        if self.path.startswith("/v1/models"):
            models = [{"type": "model", "id": name, "display_name": name} for name in MODELS]
            answer = {"data": models, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}
        elif self.path in ("/", "/api/hello", "/v1/hello"):
            answer = {"message": "hello"}
        status = 404 if answer is None else 200
        self.server.record(self, self.kind({}), {}, str(status))
        self.send(status, answer or {})

    def do_POST(self) -> None:
        """Answer messages from the script, token counts by the length, and other requests with an empty object."""
        raw = self.read_body()
        if self.path.startswith("http"):
            self.do_CONNECT()
            return
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {"not_json": raw.decode("utf-8", "replace")}
        kind = self.kind(body)
        if self.path.startswith("/v1/messages/count_tokens"):
            self.server.record(self, kind, body, "count")
            self.send(200, {"input_tokens": max(1, len(raw) // 4)})
        elif self.path.startswith("/v1/messages"):
            reply, source = self.server.script.pick(kind, self.path, body)
            number = self.server.record(self, kind, body, source)
            self.answer(reply, body, number, len(raw))
        else:
            status = 200 if self.path.startswith("/api/") else 404
            self.server.record(self, kind, body, str(status))
            self.send(status, {})

    def kind(self, body: Body) -> str:
        """Return the kind of this request."""
        return request_kind(self.path, {name.lower(): value for name, value in self.headers.items()}, body)

    def read_body(self) -> bytes:
        """Return the request's body, which may come in chunks."""
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        data = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            data += self.rfile.read(size)
            self.rfile.readline()
            if not size:
                return data

    def send(self, status: int, body: dict[str, Any] | bytes, headers: dict[str, str] | None = None) -> None:
        """Send a complete response."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, str(value))
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def reset(self) -> None:
        """Reset the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def answer(self, reply: Reply, body: Body, number: int, size: int) -> None:
        """Send a reply of the script, with its delays and faults."""
        time.sleep(reply.get("delay", 0))
        status = reply.get("status", 200)
        if reply.get("drop") is True:
            self.reset()
        elif "raw" in reply:
            self.send(status, reply["raw"].encode(), reply.get("headers"))
        elif status != 200:
            self.send(status, error(reply, status), reply.get("headers"))
        elif body.get("stream"):
            self.stream(reply, message(reply, body, number, size))
        else:
            self.send(200, message(reply, body, number, size), reply.get("headers"))

    def stream(self, reply: Reply, whole: dict[str, Any]) -> None:
        """Send a message as server-sent events."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if reply.get("malformed"):
            self.chunk(b"event: content_block_start\ndata: {not json\n\n")
        for name, data in events(whole, reply.get("chunk", 400)):
            self.event(name, data)
            time.sleep(reply.get("chunk_delay", 0))
            if name == "content_block_delta" and reply.get("drop") == "mid":
                self.reset()
                return
            if name == "content_block_delta" and reply.get("stream_error"):
                self.event(
                    "error", {"error": {"type": reply["stream_error"], "message": "fake stream error"}}
                )
                self.reset()
                return
        self.chunk(b"")

    def event(self, name: str, data: dict[str, Any]) -> None:
        """Send an event of a stream."""
        text = json.dumps({**data, "type": name}, ensure_ascii=False)
        self.chunk(("event: %s\ndata: %s\n\n" % (name, text)).encode())

    def chunk(self, payload: bytes) -> None:
        """Send a chunk; an empty one ends the response."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(payload), payload))
        self.wfile.flush()
