"""A JSON server on loopback: the base class of servers that stand in for a provider."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Status, content and headers. Bytes are sent as they are, other content as JSON; status 0 closes the connection without a response.
Response = tuple[int, Any, dict[str, str]]


class JsonServer(ABC):
    """Serves on `url` in threads, from its construction until `close`."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = "http://127.0.0.1:%d" % self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @abstractmethod
    def respond(self, method: str, path: str, headers: dict[str, str], body: Any) -> Response:  # noqa: ANN401 (JSON)
        """Return the response to a request. Header names are in lower case; `body` is None if the request has none."""

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()


def _handler(server: JsonServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1  # one packet for headers and body: two would wait for each other's acknowledgment

        def _serve(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            request_headers = {name.lower(): value for name, value in self.headers.items()}
            status, content, headers = server.respond(self.command, self.path, request_headers, body)
            if status == 0:
                self.close_connection = True
                return
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            headers = {"content-type": "application/json", "content-length": str(len(data)), **headers}
            for name, value in headers.items():
                self.send_header(name, value)
            with suppress(ConnectionError):  # the client may have been killed
                self.end_headers()
                self.wfile.write(data)

        do_GET = do_POST = _serve  # noqa: N815

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    return Handler
