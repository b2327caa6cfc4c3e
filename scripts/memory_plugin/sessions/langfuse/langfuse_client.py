"""Send requests to Langfuse one at a time; wait as long as the server asks, and retry transient failures."""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from ...kernel.fastjson import dumps, loads
from ...kernel.judge.calls import CallOutcome
from ...kernel.judge.certificates import tls_context
from ...kernel.judge.errors import JudgeError
from ...kernel.judge.transport import Request, fetch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...kernel.clock import Deadline
    from ...kernel.judge.credentials import ServerAccess

__all__ = ["API", "LangfuseClient", "LangfuseReply"]

API = "/api/public"
_TRIES = 3
_PAUSE = 0.5  # seconds before the second try, doubled for the third
_DEFAULT_WAIT = 30.0
_MAX_BYTES = 32 << 20
_TOO_MANY = 429
_OK = range(200, 300)


class LangfuseReply(NamedTuple):
    """A status and the body's JSON value; None for an empty body or other content."""

    status: int
    payload: Any


class LangfuseClient:
    """Sends requests to one server within one deadline; `requests` counts them."""

    def __init__(self, access: ServerAccess, deadline: Deadline) -> None:
        self.access = access
        self.requests = 0
        self._deadline = deadline
        self._tls = tls_context(access) if access.address.scheme == "https" else None

    def get(self, path: str, query: Mapping[str, object] | None = None) -> LangfuseReply:
        """Send a GET request to a path below API. Raises JudgeError, as `send`."""
        return self.send("GET", path + ("?" + urlencode(query) if query else ""), None)

    def post(self, path: str, body: object) -> LangfuseReply:
        """Send a POST request to a path below API. Raises JudgeError, as `send`."""
        return self.send("POST", path, dumps(body).encode("ascii"))

    def send(self, method: str, path: str, body: bytes | None) -> LangfuseReply:
        """Send a request and return the reply, including one with another 4xx status.

        After 429 it waits, if the deadline allows it. Transport errors and 5xx are tried three times, because every request here may be
        repeated without harm. Raises JudgeError: http_401, http_403, redirect, rate_limited (with the wait), http_5xx, and those of
        `fetch`.
        """
        tries = 0
        while True:
            tries += 1
            try:
                return self._once(method, path, body)
            except JudgeError as failed:
                wait = failed.wait if failed.name == "rate_limited" else self._pause(failed, tries)
                if wait is None or wait >= self._deadline.remaining():
                    raise
            sleep(wait)

    def _pause(self, failed: JudgeError, tries: int) -> float | None:
        """Return the seconds before the next try, or None if there is none."""
        is_transient = failed.name in ("network", "timeout") or failed.name.startswith("http_5")
        return _PAUSE * 2 ** (tries - 1) if is_transient and tries < _TRIES else None

    def _once(self, method: str, path: str, body: bytes | None) -> LangfuseReply:
        self.requests += 1
        request = Request(method, API + path, (), body, _MAX_BYTES)
        response = fetch(self.access, request, self._deadline, CallOutcome(), self._tls)
        status = response.status
        if status == _TOO_MANY:
            raise JudgeError("rate_limited", "", _seconds(response.headers.get("retry-after", "")))
        if status in (401, 403) or status >= 500:
            raise JudgeError("http_%d" % status)
        if 300 <= status < 400:
            raise JudgeError("redirect", "redirects are not followed, they would carry the key")
        try:
            payload = loads(response.body.decode("utf-8")) if response.body else None
        except ValueError:
            payload = None
        if status in _OK and payload is None:
            raise JudgeError("wrong_type", "the response is not JSON")
        return LangfuseReply(status, payload)


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 9 else _DEFAULT_WAIT
