"""The Langfuse server: its address and keys, its version, requests that wait and retry, and scores and score configs in its format.

A score must fit its config, because the server answers 200 and later drops one that does not. A config is matched by name, type and
scale, and created only if it is missing.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from time import sleep
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ...kernel.clock import Deadline
from ...kernel.fastjson import digest, dumps, loads
from ...kernel.judge.calls import fetch
from ...kernel.judge.credentials import (
    AddressSource,
    ServerAccess,
    UserEnvironment,
    address_source,
    parse_address,
    proxy_for,
)
from ...kernel.judge.question import JudgeError, value_at
from ...kernel.judge.transport import Request, tls_context
from ...kernel.paths import Paths
from ...kernel.settings.values import Settings
from ..dimensions import OVERALL, dimensions, overall_description
from ..score_rows import scores_of

_PUBLIC, _SECRET = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
HOSTS = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_CLOUD = "https://cloud.langfuse.com"
_MAX_KEY = 500
# Version 4 reads sessions through `v2/observations` and scores through `v3/scores`; version 3 through sessions and traces, and `v2/scores`.
MODERN, LEGACY = "v4", "v3"
_API = "/api/public"
_MAX_TRIES = 3
_RETRY_PAUSE = 0.5  # seconds before the second try, doubled for the third
_DEFAULT_WAIT = 30.0  # seconds, after a 429 that names none
_MAX_BYTES = 32 << 20
_TOO_MANY = 429
_PER_PAGE = 50
_MAX_COMMENT = 5000
_NUMERIC_SCALE: dict[str, Any] = {"dataType": "NUMERIC", "minValue": 0, "maxValue": 1}


def is_configured(paths: Paths, settings: Settings) -> bool:
    """Return whether the user's settings or environment mention a server: a host, a key, or automatic sending."""
    if settings.text("sessions.langfuse.host") or settings.flag("sessions.langfuse.automatic"):
        return True
    return bool(UserEnvironment(paths.config_dir).first((*HOSTS, _PUBLIC, _SECRET)))


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
    keys = [variables.get(name) for name in (_PUBLIC, _SECRET)]
    for name, key in zip((_PUBLIC, _SECRET), keys):
        if not key:
            raise JudgeError(
                "no_key", "%s is not set in your environment or in env of your own settings" % name
            )
        if len(key) > _MAX_KEY or not key.isascii() or not key.isprintable() or " " in key or ":" in key:
            raise JudgeError(
                "no_key", "%s holds no key: it is too long, or has characters that no key has" % name
            )
    basic = b64encode(":".join(keys).encode("ascii")).decode("ascii")
    authorities = variables.get("NODE_EXTRA_CA_CERTS")
    return ServerAccess(
        address, (("authorization", "Basic " + basic),), proxy_for(address, variables), authorities
    )


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

    def rows(self, path: str, query: Mapping[str, object], failed: str) -> tuple[list[Any], dict[str, Any]]:
        """Return one page of a list and what the server says about further pages.

        Raises JudgeError like `post`, and with the text `failed` for any other reply.
        """
        reply = self.get(path, query)
        rows, meta = value_at(reply.payload, "data"), value_at(reply.payload, "meta")
        if reply.status != 200 or not isinstance(rows, list):
            raise JudgeError("http_%d" % reply.status, failed)
        return rows, meta if isinstance(meta, dict) else {}

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


def probe(client: LangfuseClient) -> dict[str, Any]:
    """Return how to read this server's `sessions` and `scores`, each MODERN or LEGACY. Raises JudgeError."""
    queries: dict[str, tuple[str, dict[str, object]]] = {
        "sessions": ("/v2/observations", {"limit": 1, "fields": "core"}),
        "scores": ("/v3/scores", {"limit": 1}),
    }
    versions = {}
    for name, query in queries.items():
        status = client.get(*query).status
        if status not in (200, 404):
            raise JudgeError("http_%d" % status, "the server could not be probed")
        versions[name] = MODERN if status == 200 else LEGACY
    return versions


def score_configs() -> dict[str, dict[str, Any]]:
    """Return the request bodies that create our configs, by name."""
    configs: dict[str, dict[str, Any]] = {}
    for dimension in dimensions().values():
        categories = [{"label": label, "value": value} for value, label in enumerate(dimension.labels)]
        scale = {"dataType": "CATEGORICAL", "categories": categories} if categories else _NUMERIC_SCALE
        configs[dimension.id] = {"name": dimension.id, **scale, "description": dimension.description}
    configs[OVERALL] = {"name": OVERALL, **_NUMERIC_SCALE, "description": overall_description()}
    return configs


def existing_configs(client: LangfuseClient) -> dict[str, str]:
    """Return the ids of our configs on the server by name, without archived ones. Raises JudgeError.

    The server allows several configs of one name. The first one is used.
    """
    ours = score_configs()
    ids: dict[str, str] = {}
    page, pages = 0, 1
    while page < pages:
        page += 1
        query = {"page": page, "limit": _PER_PAGE}
        rows, meta = client.rows("/score-configs", query, "score configs could not be listed")
        for row in rows:
            name = value_at(row, "name")
            if name in ours and _is_usable(row, ours[name]):
                ids.setdefault(name, row["id"])
        pages = int(meta.get("totalPages", 0)) if rows else 0
    return ids


def _is_usable(row: dict[str, Any], config: dict[str, Any]) -> bool:
    """Return whether a config of the server is not archived and has the type and scale of ours."""
    if row.get("isArchived") is not False or row.get("dataType") != config["dataType"]:
        return False
    if "categories" not in config:
        return bool(row.get("minValue") == config["minValue"] and row.get("maxValue") == config["maxValue"])
    # The server may add further fields to a category.
    scale = [
        {name: value_at(category, name) for name in ("label", "value")}
        for category in row.get("categories") or ()
    ]
    return bool(scale == config["categories"])


def ensure_configs(client: LangfuseClient) -> dict[str, str]:
    """Return the ids of all our configs by name; create the missing ones. Raises JudgeError."""
    ids = existing_configs(client)
    for name, config in score_configs().items():
        if name not in ids:
            reply = client.post("/score-configs", config)
            config_id = value_at(reply.payload, "id")
            if reply.status not in (200, 201) or not isinstance(config_id, str):
                raise JudgeError("http_%d" % reply.status, "the score config %s could not be created" % name)
            ids[name] = config_id
    return ids


def score_bodies(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of a ledger row: one per scored dimension, and the overall score.

    `configId` is added when they are sent. Id and timestamp depend on session, dimension and rubric alone, because the server updates a
    score only if both are the same.
    """
    scores: dict[str, float | None] = {**scores_of(row), OVERALL: row.get(OVERALL)}
    scorer, subject = row.get("scorer", {}), row.get("subject", {})
    is_trace = subject.get("kind") == "trace"  # of a pulled session
    common = {
        "timestamp": row.get("stamp"),
        "traceId" if is_trace else "sessionId": subject.get("id") if is_trace else row["session"],
        "metadata": {
            "scorer": "memory %s" % row.get("version", ""),
            "by": scorer.get("by"),
            "model": scorer.get("model"),
            "rubric": scorer.get("rubric"),
            "confidence": row.get("confidence"),
            "turns": row.get("turns"),
            "project": row.get("project"),
        },
    }
    bodies = []
    for name, config in score_configs().items():
        score = scores.get(name)
        if score is None or (score > 1 and "categories" not in config):
            continue
        key = "memory %s %s %s" % (row["session"], name, scorer.get("rubric", ""))
        bodies.append(
            {
                "id": digest(key.encode("utf-8", "replace")),
                "name": name,
                "value": config["categories"][int(score)]["label"]
                if "categories" in config
                else float(score),
                "dataType": config["dataType"],
                "comment": _comment(row, name)[:_MAX_COMMENT],
                **common,
            }
        )
    return bodies


def _comment(row: Mapping[str, Any], name: str) -> str:
    """Return a dimension's rationale and evidence, or the causes of the overall score."""
    if name == OVERALL:
        root_cause = row.get("root_cause") or "not said"
        return "improvement needed: %s; root cause: %s" % (row.get("improvement"), root_cause)
    entry = row["dimensions"][name]
    evidence = [
        "%s: %s" % (" ".join("T%s" % turn for turn in item["turns"]), item["what"])
        for item in entry.get("evidence", ())
    ]
    return "\n".join(filter(None, [entry.get("rationale"), *evidence]))
