"""Send requests to Langfuse one at a time, wait as long as the server asks, and retry transient failures."""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from ...kernel.fastjson import dumps, loads
from ...kernel.judge.errors import JudgeError
from ...kernel.judge.transport import Request, fetch, tls_context

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...kernel.clock import Deadline
    from ...kernel.judge.credentials import ServerAccess

API = "/api/public"
_MAX_TRIES = 3
_RETRY_PAUSE = 0.5  # seconds before the second try, doubled for the third
_DEFAULT_WAIT = 30.0  # seconds, after a 429 that names none
_MAX_BYTES = 32 << 20
_TOO_MANY = 429
_OK = range(200, 300)


class LangfuseReply(NamedTuple):
    """A status and the JSON value of the body; None for an empty body or one that is not JSON."""

    status: int
    payload: Any


class LangfuseClient:
    """Requests to one server within one deadline; `requests` counts them."""

    def __init__(self, access: ServerAccess, deadline: Deadline) -> None:
        self.access = access
        self.requests = 0
        self._deadline = deadline
        self._tls = tls_context(access)

    def get(self, path: str, query: Mapping[str, object] | None = None) -> LangfuseReply:
        """Return the reply to a GET of a path below API. Raises JudgeError like `send`."""
        return self.send("GET", path + ("?" + urlencode(query) if query else ""), None)

    def post(self, path: str, body: object) -> LangfuseReply:
        """Return the reply to a POST to a path below API. Raises JudgeError like `send`."""
        return self.send("POST", path, dumps(body).encode("ascii"))

    def send(self, method: str, path: str, body: bytes | None) -> LangfuseReply:
        """Return the reply to a request; the caller judges its status, a 2xx or a 4xx.

        After 429, wait if the deadline allows it. Transport errors and 5xx are tried three times, because every request here can be
        repeated without harm. Raises JudgeError: http_401, http_403, redirect, rate_limited (with the wait), http_5xx, wrong_type, and
        those of `fetch`.
        """
        tries = 0
        while True:
            tries += 1
            try:
                return self._send_once(method, path, body)
            except JudgeError as error:
                wait = error.wait if error.name == "rate_limited" else _retry_pause(error, tries)
                if wait is None or wait >= self._deadline.remaining():
                    raise
            sleep(wait)

    def _send_once(self, method: str, path: str, body: bytes | None) -> LangfuseReply:
        self.requests += 1
        request = Request(method, API + path, (), body, _MAX_BYTES)
        response = fetch(self.access, request, self._deadline, self._tls)
        status = response.status
        if status == _TOO_MANY:
            raise JudgeError("rate_limited", "", _retry_after(response.headers.get("retry-after", "")))
        if status in (401, 403) or status >= 500:
            raise JudgeError("http_%d" % status)
        if 300 <= status < 400:
            raise JudgeError("redirect", "redirects are not followed, because they would pass on the key")
        try:
            payload = loads(response.body.decode("utf-8")) if response.body else None
        except ValueError:
            payload = None
        if status in _OK and payload is None:
            raise JudgeError("wrong_type", "the response is not JSON")
        return LangfuseReply(status, payload)


def _retry_pause(error: JudgeError, tries: int) -> float | None:
    """Return the seconds before the next try; None if there is none."""
    is_transient = error.name in ("network", "timeout") or error.name.startswith("http_5")
    return _RETRY_PAUSE * 2 ** (tries - 1) if is_transient and tries < _MAX_TRIES else None


def _retry_after(text: str) -> float:
    """Return the seconds of a Retry-After header; the default for a date or nonsense."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 9 else _DEFAULT_WAIT
