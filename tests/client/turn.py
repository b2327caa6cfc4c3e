"""The result of one run of the client."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from tests.client.fake_api import Request

Row = dict[str, Any]


def rows(text: str) -> list[Row]:
    """Return the JSON objects in the lines of a text; other lines are skipped."""
    found: list[Row] = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            found.append(row)
    return found


class Turn(NamedTuple):
    """The exit code and output of a run, and the requests that the API got meanwhile."""

    returncode: int
    stdout: str
    stderr: str
    seconds: float
    requests: list[Request]

    @property
    def events(self) -> list[Row]:
        """Return the events of `--output-format stream-json`."""
        return rows(self.stdout)

    @property
    def init(self) -> Row:
        """Return the event with plugins, plugin_errors, skills and slash_commands, or {} if it did not come."""
        return next((event for event in self.events if event.get("subtype") == "init"), {})

    @property
    def text(self) -> str:
        """Return Claude's last answer, or the plain output."""
        results = [event for event in self.events if event.get("type") == "result"]
        return str(results[-1].get("result") or "") if results else self.stdout.strip()

    @property
    def session(self) -> str:
        """Return the session's id."""
        return str(self.init["session_id"])

    def of_kind(self, kind: str) -> list[Request]:
        """Return the requests of one kind: `main`, `side`, `other`, `proxy` ..."""
        return [request for request in self.requests if request.kind == kind]

    def sent(self, pattern: str) -> list[str]:
        """Return the texts sent to the model in the agent loop that match a pattern."""
        texts = [text for request in self.of_kind("main") for text in request.texts]
        return [text for text in texts if re.search(pattern, text, re.DOTALL)]
