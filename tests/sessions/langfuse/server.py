"""A Langfuse server on loopback that behaves like real ones: it refuses some requests, and silently drops some scores that it accepted.

Modes: `v4` reads through v2/observations and v3/scores and answers 404 to the old paths; `v3` is the opposite; `array` is a v4 that
accepts scores only as an array. The rules were observed on servers of version 4.16.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.json_server import JsonServer, Response

KEYS = ("pk-lf-test", "sk-lf-test")
TYPES = ("NUMERIC", "CATEGORICAL", "BOOLEAN", "TEXT")


class Langfuse(JsonServer):
    """The server.

    - `scores`: the stored scores by id and timestamp; `configs`: in the order of their creation.
    - `lag`: how many reads do not show a new score yet; `stores`: whether any accepted score is stored.
    - `before` sees each request first, and may answer it or raise.
    """

    def __init__(self, mode: str = "v4") -> None:
        self.mode = mode
        self.scores: dict[tuple[str, str], dict[str, Any]] = {}
        self.configs: list[dict[str, Any]] = []
        self.observations: list[dict[str, Any]] = []
        self.lag = 0
        self.stores = True
        self.seen: list[tuple[str, str, Any]] = []
        self.before: Callable[[str, str, Any], Response | None] = lambda *_: None
        self._hidden: dict[tuple[str, str], int] = {}
        super().__init__()

    def posted(self) -> list[Any]:
        """Return the bodies of all posted scores."""
        return [body for method, path, body in self.seen if (method, path) == ("POST", "/api/public/scores")]

    def respond(self, method: str, path: str, headers: dict[str, str], body: Any) -> Response:  # noqa: ANN401 (JSON)
        """Return the response to a request with the right keys, and 401 to any other."""
        basic = base64.b64encode(":".join(KEYS).encode()).decode()
        if headers.get("authorization") != "Basic " + basic:
            return 401, {"message": "Invalid credentials"}, {}
        return self.answer(method, path, body)

    def answer(self, method: str, target: str, body: Any) -> Response:  # noqa: ANN401, PLR0911 (JSON; a line a path)
        """Return the response to an authenticated request."""
        split = urlsplit(target)
        path, query = split.path, {name: values[0] for name, values in parse_qs(split.query).items()}
        self.seen.append((method, path, body))
        early = self.before(method, path, body)
        if early is not None:
            return early
        is_modern = self.mode != "v3"
        if path == "/api/public/scores" and method == "POST":
            return self._post_scores(body)
        if path == "/api/public/score-configs":
            return self._post_config(body) if method == "POST" else self._list_configs(query)
        if is_modern and path == "/api/public/v3/scores":
            return 200, {"data": self._read_scores(query.get("id", "")), "meta": {"limit": 50}}, {}
        if not is_modern and path == "/api/public/v2/scores":
            return 200, {"data": self._read_scores(query.get("scoreIds", "")), "meta": {}}, {}
        if is_modern and path == "/api/public/v2/observations":
            return self._observations(query)
        if not is_modern and path.startswith("/api/public/sessions/"):
            return self._session(unquote(path.rpartition("/")[2]))
        if not is_modern and path.startswith("/api/public/traces/"):
            return self._trace(unquote(path.rpartition("/")[2]))
        return 404, {"message": "Not found"}, {}

    # scores

    def _post_scores(self, body: Any) -> Response:  # noqa: ANN401
        if self.mode == "array":
            if not isinstance(body, list):
                return 400, {"message": "Invalid request data", "error": "expected array"}, {}
            accepted = [score for score in body if not refusal_reason(score)]
            for score in accepted:
                self._ingest(score)
            errors = [reason for reason in map(refusal_reason, body) if reason]
            if errors:
                return 207, {"accepted": len(accepted), "rejected": len(errors), "errors": errors}, {}
            return 202, {"message": "Accepted"}, {}
        problem = refusal_reason(body)
        if problem:
            return 400, {"message": "Invalid request data", "error": [problem]}, {}
        self._ingest(body)
        return 200, {"id": body.get("id", "made-up")}, {}

    def _ingest(self, body: dict[str, Any]) -> None:
        """Do what the server's worker does later: check a score against its config, without reporting failures."""
        row = dict(body)
        if not self.stores:
            return
        if "configId" in body:
            config = next((config for config in self.configs if config["id"] == body["configId"]), None)
            if config is None or config["isArchived"] or is_dropped(body, config):
                return
            row["name"] = config["name"]
            row["dataType"] = config["dataType"]
        if isinstance(row["value"], str):
            levels = [
                level
                for config in self.configs
                if config["id"] == row.get("configId")
                for level in config.get("categories", [])
            ]
            row["stringValue"] = row["value"]
            row["number"] = next((level["value"] for level in levels if level["label"] == row["value"]), 0)
        key = (str(body.get("id")), str(body.get("timestamp")))
        self.scores[key] = row
        self._hidden.setdefault(key, self.lag)

    def _read_scores(self, ids: str) -> list[dict[str, Any]]:
        """Return the visible scores; version 3 gives a category as number and `stringValue`, version 4 as value."""
        rows = []
        for key, row in self.scores.items():
            if ids and key[0] not in ids.split(","):
                continue
            if self._hidden[key] > 0:
                self._hidden[key] -= 1
                continue
            shown = {"id": row["id"], "name": row["name"], "value": row["value"]}
            if self.mode == "v3" and row.get("stringValue"):
                shown.update(value=row["number"], stringValue=row["stringValue"])
            rows.append(shown)
        return rows

    # configs

    def _post_config(self, body: dict[str, Any]) -> Response:
        name = str(body.get("name", ""))
        labels = [level["label"] for level in body.get("categories", [])]
        if not 0 < len(name) <= 35 or body.get("dataType") not in TYPES or len(set(labels)) < len(labels):
            return 400, {"message": "Invalid request data"}, {}
        config = {
            **body,
            "id": "cfg-%d" % (len(self.configs) + 1),
            "isArchived": False,
            "projectId": "p",
            "createdAt": "",
            "updatedAt": "",
        }
        self.configs.append(config)
        return 200, config, {}

    def _list_configs(self, query: dict[str, str]) -> Response:
        page, limit = int(query.get("page", 1)), int(query.get("limit", 50))
        total = max(1, math.ceil(len(self.configs) / limit))
        rows = self.configs[(page - 1) * limit : page * limit]
        meta = {"page": page, "limit": limit, "totalItems": len(self.configs), "totalPages": total}
        return 200, {"data": rows, "meta": meta}, {}

    # sessions

    def _observations(self, query: dict[str, str]) -> Response:
        """Return a page of observations by filter; the parameter `sessionId` is ignored, as real servers did for a long time."""
        sessions = {
            condition["value"]
            for condition in json.loads(query.get("filter", "[]"))
            if condition["column"] == "sessionId" and condition["operator"] == "="
        }
        rows = [row for row in self.observations if not sessions or row["sessionId"] in sessions]
        start = int(base64.b64decode(query["cursor"])) if "cursor" in query else 0
        end = start + min(int(query.get("limit", 50)), 3)
        meta = {"cursor": base64.b64encode(str(end).encode()).decode()} if end < len(rows) else {}
        page = [
            {**row, "input": as_text(row.get("input")), "output": as_text(row.get("output"))}
            for row in rows[start:end]
        ]
        return 200, {"data": page, "meta": meta}, {}

    def _session(self, name: str) -> Response:
        trace_ids = dict.fromkeys(row["traceId"] for row in self.observations if row["sessionId"] == name)
        if not trace_ids:
            return 404, {"message": "Session not found"}, {}
        session = {"id": name, "createdAt": "", "projectId": "p", "environment": ""}
        return 200, {**session, "traces": [{"id": trace_id} for trace_id in trace_ids]}, {}

    def _trace(self, name: str) -> Response:
        rows = [row for row in self.observations if row["traceId"] == name]
        if not rows:
            return 404, {"message": "Trace not found"}, {}
        root = rows[0]
        steps = [{"usage": {}, **row} for row in rows[1:]]
        trace = {
            "id": name,
            "timestamp": root["startTime"],
            "sessionId": root["sessionId"],
            "input": root.get("input"),
            "output": root.get("output"),
        }
        return 200, {**trace, "observations": steps, "scores": [], "htmlPath": ""}, {}


def as_text(value: Any) -> Any:  # noqa: ANN401
    """Return an input or output as version 4 sends it: as JSON text."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def refusal_reason(body: Any) -> str | None:  # noqa: ANN401, PLR0911 (a line a rule)
    """Return why the server answers 400 to a score; None if it answers 200."""
    if not isinstance(body, dict):
        return "Invalid input: expected object"
    subjects = [name for name in ("traceId", "sessionId", "datasetRunId") if body.get(name)]
    value, kind = body.get("value"), body.get("dataType")
    if not isinstance(body.get("name"), str) or not body["name"]:
        return "Too small: expected string to have >=1 characters"
    if len(subjects) != 1 or (body.get("observationId") and subjects != ["traceId"]):
        return "Provide exactly one of the following: traceId (with optional observationId), sessionId or datasetRunId."
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return "Invalid input"
    if kind is not None and (
        kind not in TYPES or isinstance(value, str) is not (kind in ("CATEGORICAL", "TEXT"))
    ):
        # A number for a categorical score with a config is accepted, and dropped later.
        is_left_to_worker = kind == "CATEGORICAL" and body.get("configId")
        return None if is_left_to_worker else "Invalid input: expected another type"
    if kind == "TEXT" and len(str(value)) > 500:
        return "Too big: expected string to have <=500 characters"
    return None if body.get("source", "API") in ("API", "ANNOTATION") else "Invalid option"


def is_dropped(body: dict[str, Any], config: dict[str, Any]) -> bool:
    """Return whether the worker drops a score that the server answered with 200."""
    value = body["value"]
    if config["dataType"] == "CATEGORICAL":
        return value not in [level["label"] for level in config["categories"]]
    if isinstance(value, str):
        return True
    return not config.get("minValue", value) <= value <= config.get("maxValue", value)
