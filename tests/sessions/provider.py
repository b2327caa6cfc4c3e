"""A provider on loopback with single messages and message batches, as in the Anthropic API."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

from tests.json_server import JsonServer, Response
from tests.sessions.grades import reply


class Provider(JsonServer):
    """The server; `url` is its address, `batches` contains the submitted requests, and `done` says whether batches have ended.

    `fails` maps a question's id to its result type, and `error` is the provider's error for `errored` ones.
    """

    def __init__(self) -> None:
        self.batches: dict[str, list[dict[str, Any]]] = {}
        self.done = False
        self.fails: dict[str, str] = {}
        self.error: dict[str, Any] = {"type": "api_error", "message": "Internal server error"}
        self.refuse = 0
        self.loses_answer = False  # submitting a batch returns an error
        self.accepts = True  # whether the batch is created anyway
        self.requests: list[tuple[str, str]] = []
        super().__init__()

    def message(self) -> dict[str, Any]:
        """Return an answer of the model."""
        usage = {"input_tokens": 1000, "output_tokens": 100}
        return {
            "type": "message",
            "content": [{"type": "text", "text": json.dumps(reply())}],
            "stop_reason": "end_turn",
            "usage": usage,
        }

    def result(self, name: str) -> dict[str, Any]:
        """Return a line of a batch's results."""
        kind = self.fails.get(name, "succeeded")
        more: dict[str, Any] = {}
        if kind == "succeeded":
            more["message"] = self.message()
        if kind == "errored":
            more["error"] = {"type": "error", "error": self.error}
        return {"custom_id": name, "result": {"type": kind, **more}}

    def listed(self, name: str) -> dict[str, Any]:
        """Return a batch's entry in the list of batches."""
        counts = {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
        counts["succeeded" if self.done else "processing"] = len(self.batches[name])
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if self.done else "in_progress",
            "created_at": datetime.now(timezone.utc).isoformat().replace("+00:00", "Z"),
            "request_counts": counts,
        }

    def respond(self, method: str, path: str, headers: dict[str, str], body: Any) -> Response:  # noqa: ANN401, PLR0911 (JSON; one return a case)
        """Return the response to a request about batches."""
        assert headers["x-api-key"] == "sk-test"
        self.requests.append((method, path))
        if self.refuse:
            return self.refuse, {}, {}
        if method == "POST" and path == "/v1/messages/batches":
            name = "msgbatch_%d" % (len(self.batches) + 1)
            if self.accepts:
                self.batches[name] = body["requests"]
            if self.loses_answer:
                return 500, {}, {}
            return 200, {"id": name, "processing_status": "in_progress"}, {}
        if path.startswith("/v1/messages/batches?"):
            return 200, {"data": [self.listed(name) for name in self.batches]}, {}
        name = path.split("/")[4]
        if name not in self.batches:
            return 404, {}, {}
        if path.endswith("/results"):
            rows = [self.result(request["custom_id"]) for request in reversed(self.batches[name])]
            return 200, "\n".join(map(json.dumps, rows)).encode() + b"\nno json\n", {}
        return 200, {"id": name, "processing_status": "ended" if self.done else "in_progress"}, {}
