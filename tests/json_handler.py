"""The HTTP side of servers that stand in for a provider: one function answers each request with JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

# (method, path, headers by lower-case name, body) -> (status, response)
Answer = Callable[[str, str, dict[str, str], Any], tuple[int, bytes]]


def json_handler(answer: Answer) -> type[BaseHTTPRequestHandler]:
    """Return a quiet handler that parses the body, asks `answer`, and sends its response as JSON."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, data = answer(self.command, self.path, headers, body)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _serve  # noqa: N815

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    return Handler
