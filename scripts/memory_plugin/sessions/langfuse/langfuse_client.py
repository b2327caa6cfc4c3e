"""The Langfuse server: its address and keys, its version, and requests that wait as long as it asks and retry transient failures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from time import sleep
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ...kernel.clock import Deadline
from ...kernel.fastjson import dumps, loads
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
