"""Calls to a model: made in parallel until the deadline, each with the request format of its backend.

`make_calls` runs a backend's `answer` function in one thread per call. `answer` calls `exchange`, which sends the request and maps every
response to a text or a JudgeError.
"""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fastjson import dumps, loads
from .errors import JudgeError
from .models import rejected_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from ssl import SSLContext

    from ..clock import Deadline
    from .backends import Backend
    from .credentials import ServerAccess
    from .models import Names, RequestOptions
    from .question import Question
    from .transport import Response

    Body = dict[str, Any]

_HTTP_OK, _FIRST_ERROR, _TOO_MANY, _UNAVAILABLE, _OVERLOADED = 200, 400, 429, 503, 529
_MALFORMED = (400, 422)  # statuses for a request that the server does not accept
_BY_STATUS = {_TOO_MANY: "rate_limited", _UNAVAILABLE: "overloaded", _OVERLOADED: "overloaded"}
_RETRY_AFTER = 1.0  # seconds, if the server does not say


class JudgeCall(NamedTuple):
    """One question to one model.

    `access` is None for the scripted backend, which reads `script`. `retry` allows one more try after 429 and 5xx, never while a prompt
    waits.
    """

    question: Question
    model: str
    access: ServerAccess | None
    script: str
    tls: SSLContext | None
    options: RequestOptions
    retry: bool


class ApiFormat(NamedTuple):
    """The request and response format of a backend.

    `path` returns the URL path for a model; `headers` go with every request; `body` builds the request; `read` raises JudgeError
    `parse_error` for a response of another shape.  `names` are the words that the server's errors use for the parts of a request.
    """

    path: Callable[[str], str]
    headers: tuple[tuple[str, str], ...]
    body: Callable[[Question, str, RequestOptions], Body]
    read: Callable[[Body], ModelText]
    names: Names


class ModelText(NamedTuple):
    """The text in a response, or the `failure` that the response reports; tokens are None if it does not state them."""

    text: str
    failure: str
    tokens_in: int | None
    tokens_out: int | None


class CallOutcome:
    """The result of one call, filled in by its thread.

    `text` is the model's text, or None with the name of a `failure`. `sent` is set before the first byte of the request is sent: from then
    on the provider may charge for it, unless `refused` (an error status) says that it did not. `parts` are the parts of the request that
    the server rejected by name; `wait` is how many seconds it asks to wait.
    """

    __slots__ = (
        "detail", "done", "failure", "ms", "parts", "refused", "sent", "text", "tokens_in", "tokens_out", "wait",
    )  # fmt: skip

    def __init__(self) -> None:
        self.text: str | None = None
        self.failure = ""
        self.detail = ""
        self.sent = False
        self.refused = False
        self.parts: frozenset[str] = frozenset()
        self.done = False
        self.wait: float | None = None
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.ms = 0.0

    def fail(self, name: str, detail: str = "", wait: float | None = None) -> CallOutcome:
        """Mark this outcome as failed, and return it."""
        self.text, self.failure, self.detail, self.wait = None, name, detail, wait
        return self


def make_calls(backend: Backend, calls: Sequence[JudgeCall], deadline: Deadline) -> list[CallOutcome]:
    """Make all calls in parallel and return their outcomes, at the deadline at the latest.

    Each call has a thread because a DNS lookup has no timeout. A thread that still waits at the deadline is abandoned; as a daemon it does
    not keep the process from exiting.
    """
    from threading import Thread  # only when a question is sent

    outcomes = [CallOutcome() for _ in calls]
    threads = []
    for call, outcome in zip(calls, outcomes):
        thread = Thread(target=_make, args=(backend, call, deadline, outcome), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            outcome.fail("network", "no thread could be started").done = True
        else:
            threads.append(thread)
    for thread in threads:
        thread.join(deadline.remaining())
    return [_snapshot(outcome, deadline) for outcome in outcomes]


def _make(backend: Backend, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Run one call in its thread, and fill in the outcome whatever happens."""
    started = deadline.elapsed_ms()
    try:
        backend.answer(call, deadline, outcome)
    except JudgeError as failed:
        outcome.fail(failed.name, failed.detail, failed.wait)
    except Exception as error:
        outcome.fail("error", type(error).__name__)
    outcome.ms = round(deadline.elapsed_ms() - started, 1)
    outcome.done = True


def _snapshot(outcome: CallOutcome, deadline: Deadline) -> CallOutcome:
    """Return a copy that a thread which is still running cannot change; without a result it is a timeout."""
    done = outcome.done  # read first: the thread sets it last
    copy = CallOutcome()
    for name in CallOutcome.__slots__:
        setattr(copy, name, getattr(outcome, name))
    if not done:
        copy.fail("timeout").ms = deadline.elapsed_ms()
    return copy


def exchange(form: ApiFormat, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Send a call's request and fill in the outcome. Raises JudgeError.

    `outcome.parts` holds the part of the request that the server rejects by name: the caller may ask once more without it.
    """
    response = _send_with_retry(form, call, deadline, outcome)
    if response.status != _HTTP_OK:
        outcome.refused = True
        if response.status in _MALFORMED:
            outcome.parts = rejected_parts(response.body, form.names) & call.options.sent()
        raise _error_for(response, outcome.parts)
    answer = form.read(_payload(response))
    outcome.tokens_in, outcome.tokens_out = answer.tokens_in, answer.tokens_out
    if answer.failure:
        raise JudgeError(answer.failure)
    outcome.text = answer.text


def _send_with_retry(form: ApiFormat, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> Response:
    response = _send(form, call, deadline, outcome)
    if call.retry and (response.status == _TOO_MANY or response.status >= 500):
        wait = _retry_after(response)
        wait = _RETRY_AFTER if wait is None else wait
        if wait < deadline.remaining():
            sleep(wait)
            response = _send(form, call, deadline, outcome)
    return response


def _send(form: ApiFormat, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> Response:
    from .transport import post  # sockets, only when a question is sent

    assert call.access is not None
    body = dumps(form.body(call.question, call.model, call.options)).encode("ascii")
    return post(call.access, form.path(call.model), form.headers, body, deadline, outcome, call.tls)


def _error_for(response: Response, parts: frozenset[str]) -> JudgeError:
    """Return the error for a status. The server's text is left out because it may quote the request or the key."""
    status = response.status
    if 300 <= status < _FIRST_ERROR:
        return JudgeError("redirect", "redirects are not followed, because they would receive the key")
    detail = "it refuses: %s" % ", ".join(sorted(parts)) if parts else ""
    return JudgeError(_BY_STATUS.get(status, "http_%d" % status), detail, _retry_after(response))


def _retry_after(response: Response) -> float | None:
    """Return the seconds that the server asks to wait; None if it does not say."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = response.headers.get(name, "")
        if value.isascii() and value.replace(".", "", 1).isdigit() and len(value) <= 12:
            return float(value) * unit
    return _until(response.headers.get("retry-after", ""))


def _until(date: str) -> float | None:
    """Return the seconds until an HTTP date (RFC 9110, 10.2.3); None if it is not valid."""
    if not date:
        return None
    from email.utils import mktime_tz, parsedate_tz
    from time import time

    try:
        parsed = parsedate_tz(date)
        return None if parsed is None else max(0.0, mktime_tz(parsed) - time())
    except (ValueError, OverflowError, IndexError, TypeError):  # parsedate_tz on hostile dates
        return None


def _payload(response: Response) -> Body:
    if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise JudgeError("compressed", "the response is compressed, which was not requested")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise JudgeError(
            "wrong_type",
            "the response is not JSON but %s" % (kind[:40] if kind.isprintable() else "something else"),
        )
    try:
        payload = loads(response.body.decode("utf-8"))
    except ValueError:
        raise JudgeError("parse_error", "the response is not JSON") from None
    if not isinstance(payload, dict):
        raise JudgeError("parse_error", "the response is not a JSON object")
    return payload


def value_at(value: object, *path: str | int) -> Any:  # noqa: ANN401 (whatever a server sent)
    """Return the value at a path of keys and list indices in a JSON value; None if there is none."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def token_count(value: object) -> int | None:
    """Return a number of tokens; None for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40 else None
