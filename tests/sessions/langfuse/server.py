"""A Langfuse server on loopback that behaves like real ones: what it says at once, and what it drops later without a word.

Modes: `v4` reads by v2/observations and v3/scores and answers 404 to the old paths; `v3` the other way round; `array` is a v4 that takes
scores as an array only.  The rules are those that servers of version 4.16 were seen to follow.
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
    """`scores` are those stored, by id and timestamp; `configs` in order; `before` sees each request first and may answer it, or raise."""

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
        """Return the response to a request of somebody who is signed in."""
        split = urlsplit(target)
        path, query = split.path, {name: values[0] for name, values in parse_qs(split.query).items()}
        self.seen.append((method, path, body))
        early = self.before(method, path, body)
        if early is not None:
            return early
        modern = self.mode != "v3"
        if path == "/api/public/scores" and method == "POST":
            return self._post_scores(body)
        if path == "/api/public/score-configs":
            return self._post_config(body) if method == "POST" else self._list_configs(query)
        if modern and path == "/api/public/v3/scores":
            return 200, {"data": self._found(query.get("id", ""), modern=True), "meta": {"limit": 50}}, {}
        if not modern and path == "/api/public/v2/scores":
            return 200, {"data": self._found(query.get("scoreIds", ""), modern=False), "meta": {}}, {}
        if modern and path == "/api/public/v2/observations":
            return self._observations(query)
        if not modern and path.startswith("/api/public/sessions/"):
            return self._session(unquote(path.rpartition("/")[2]))
        if not modern and path.startswith("/api/public/traces/"):
            return self._trace(unquote(path.rpartition("/")[2]))
        return 404, {"message": "Not found"}, {}

    # scores

    def _post_scores(self, body: Any) -> Response:  # noqa: ANN401
        if self.mode == "array":
            if not isinstance(body, list):
                return 400, {"message": "Invalid request data", "error": "expected array"}, {}
            errors = [problem for one in body for problem in [refusal(one)] if problem]
            for one in body:
                if not refusal(one):
                    self._ingest(one)
            if errors:
                return (
                    207,
                    {"accepted": len(body) - len(errors), "rejected": len(errors), "errors": errors},
                    {},
                )
            return 202, {"message": "Accepted"}, {}
        problem = refusal(body)
        if problem:
            return 400, {"message": "Invalid request data", "error": [problem]}, {}
        self._ingest(body)
        return 200, {"id": body.get("id", "made-up")}, {}

    def _ingest(self, body: dict[str, Any]) -> None:
        """Do what the worker does later: check against the config, without reporting failures."""
        row = dict(body)
        if not self.stores:
            return
        if "configId" in body:
            config = next((one for one in self.configs if one["id"] == body["configId"]), None)
            if config is None or config["isArchived"] or dropped(body, config):
                return
            row["name"] = config["name"]
            row["dataType"] = config["dataType"]
        if isinstance(row["value"], str):
            levels: list[Any] = next(
                (one.get("categories", []) for one in self.configs if one["id"] == row.get("configId")), []
            )
            row["stringValue"] = row["value"]
            row["number"] = next((level["value"] for level in levels if level["label"] == row["value"]), 0)
        key = (str(body.get("id")), str(body.get("timestamp")))
        self.scores[key] = row
        self._hidden.setdefault(key, self.lag)

    def _found(self, ids: str, *, modern: bool) -> list[dict[str, Any]]:
        rows = []
        for key, row in self.scores.items():
            if ids and key[0] not in ids.split(","):
                continue
            if self._hidden[key] > 0:
                self._hidden[key] -= 1
                continue
            label = row.get("stringValue")
            value = row["value"] if label is None or modern else row["number"]
            rows.append(
                {
                    "id": row["id"],
                    "name": row["name"],
                    "value": value,
                    **({"stringValue": label} if label and not modern else {}),
                }
            )
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
        return (
            200,
            {
                "data": rows,
                "meta": {"page": page, "limit": limit, "totalItems": len(self.configs), "totalPages": total},
            },
            {},
        )

    # sessions

    def _observations(self, query: dict[str, str]) -> Response:
        """Return the plain parameter `sessionId` is ignored, as real servers did for a long time."""
        wanted = {
            one["value"]
            for one in json.loads(query.get("filter", "[]"))
            if one["column"] == "sessionId" and one["operator"] == "="
        }
        rows = [row for row in self.observations if not wanted or row["sessionId"] in wanted]
        at = int(base64.b64decode(query["cursor"])) if "cursor" in query else 0
        limit = min(int(query.get("limit", 50)), 3)
        more = at + limit < len(rows)
        meta = {"cursor": base64.b64encode(str(at + limit).encode()).decode()} if more else {}
        shown = [
            {**row, "input": as_text(row.get("input")), "output": as_text(row.get("output"))}
            for row in rows[at : at + limit]
        ]
        return 200, {"data": shown, "meta": meta}, {}

    def _session(self, name: str) -> Response:
        traces = dict.fromkeys(row["traceId"] for row in self.observations if row["sessionId"] == name)
        if not traces:
            return 404, {"message": "Session not found"}, {}
        return (
            200,
            {
                "id": name,
                "createdAt": "",
                "projectId": "p",
                "environment": "",
                "traces": [{"id": trace} for trace in traces],
            },
            {},
        )

    def _trace(self, name: str) -> Response:
        rows = [row for row in self.observations if row["traceId"] == name]
        if not rows:
            return 404, {"message": "Trace not found"}, {}
        root = rows[0]
        steps = [{"usage": {}, **row} for row in rows[1:]]
        whole = {
            "id": name,
            "timestamp": root["startTime"],
            "sessionId": root["sessionId"],
            "input": root.get("input"),
            "output": root.get("output"),
        }
        return 200, {**whole, "observations": steps, "scores": [], "htmlPath": ""}, {}


def as_text(value: Any) -> Any:  # noqa: ANN401
    """Return input and output as new servers give them: as text."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


def refusal(body: Any) -> str | None:  # noqa: ANN401, PLR0911 (a line a rule)
    """Return why the server answers 400 to a score; None when it answers 200."""
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
        # with a config the worker decides about numbers for categorical ones
        return (
            None if kind == "CATEGORICAL" and body.get("configId") else "Invalid input: expected another type"
        )
    if kind == "TEXT" and len(str(value)) > 500:
        return "Too big: expected string to have <=500 characters"
    return None if body.get("source", "API") in ("API", "ANNOTATION") else "Invalid option"


def dropped(body: dict[str, Any], config: dict[str, Any]) -> bool:
    """Return whether the worker drops a score that the server answered with 200."""
    value = body["value"]
    if config["dataType"] == "CATEGORICAL":
        return value not in [level["label"] for level in config["categories"]]
    return isinstance(value, str) or not config.get("minValue", value) <= value <= config.get(
        "maxValue", value
    )
