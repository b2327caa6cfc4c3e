"""A question sent to a server in a backend's form, and its answer brought to one outcome with one set of names.

Calls made side by side, and never waited for beyond the deadline.
"""

from __future__ import annotations

from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fastjson import dumps, loads
from .failures import JudgeError
from .models import rejected_parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from ..clock import Deadline
    from .credentials import ServerAccess
    from .models import Names, RequestOptions
    from .question import Question
    from .transport import Response

    Body = dict[str, Any]
    from collections.abc import Sequence

    from .backends import Backend

__all__ = [
    "ApiFormat",
    "CallOutcome",
    "JudgeCall",
    "ModelText",
    "exchange",
    "make_calls",
    "token_count",
    "value_at",
]

_HTTP_OK, _FIRST_ERROR, _TOO_MANY, _UNAVAILABLE, _OVERLOADED = 200, 400, 429, 503, 529
_MALFORMED = (400, 422)  # what servers answer to a request that they do not accept
_BY_STATUS = {_TOO_MANY: "rate_limited", _UNAVAILABLE: "overloaded", _OVERLOADED: "overloaded"}
_AGAIN_AFTER = 1.0  # seconds, where the server does not say


class ModelText(NamedTuple):
    """A model's text out of an answer, or the `failure` that the answer reports; tokens None where not told."""

    text: str
    failure: str
    tokens_in: int | None
    tokens_out: int | None


class ApiFormat(NamedTuple):
    """A backend's form.

    `path` is that of a model; `headers` go with every request; `body` is the request's; `read` raises JudgeError `parse_error` for an
    answer of another shape.  `names` are the words by which the server's errors call the parts of a request.
    """

    path: Callable[[str], str]
    headers: tuple[tuple[str, str], ...]
    body: Callable[[Question, str, RequestOptions], Body]
    read: Callable[[Body], ModelText]
    names: Names


class JudgeCall(NamedTuple):
    """One question on its way: to which model, by which access, on which terms.

    `access` is None for the scripted backend, which reads `script`; `again` allows one more try after 429, 5xx and
    529, never on the prompt's path.
    """

    question: Question
    model: str
    access: ServerAccess | None
    script: str
    tls: SSLContext | None
    terms: RequestOptions
    again: bool


class CallOutcome:
    """One call.

    `text` is the model's, or None with `failure` named.  `sent` is set before the first byte of the request leaves:
    from then on the provider may charge for it, unless `refused` (an error status) says that it did not.
    `parts` are those of the request that the server refused by name, `wait` how many seconds it asks for.
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
        """Return this outcome, failed for that reason."""
        self.text, self.failure, self.detail, self.wait = None, name, detail, wait
        return self


def exchange(form: ApiFormat, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Fill the outcome. Raises JudgeError.

    Where the server names what it refuses in the request, `outcome.parts` says so: whoever asked may ask once more without.
    """
    response = _patient(form, call, deadline, outcome)
    if response.status != _HTTP_OK:
        outcome.refused = True
        if response.status in _MALFORMED:
            outcome.parts = rejected_parts(response.body, form.names) & call.terms.sent()
        raise _refusal(response, outcome.parts)
    answer = form.read(_payload(response))
    outcome.tokens_in, outcome.tokens_out = answer.tokens_in, answer.tokens_out
    if answer.failure:
        raise JudgeError(answer.failure)
    outcome.text = answer.text


def _patient(form: ApiFormat, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> Response:
    response = _once(form, call, deadline, outcome)
    if call.again and (response.status == _TOO_MANY or response.status >= 500):
        wait = _retry_after(response)
        wait = _AGAIN_AFTER if wait is None else wait
        if wait < deadline.remaining():
            sleep(wait)
            response = _once(form, call, deadline, outcome)
    return response


def _once(form: ApiFormat, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> Response:
    from .transport import post  # the network, only now

    assert call.access is not None
    body = dumps(form.body(call.question, call.model, call.terms)).encode("ascii")
    return post(call.access, form.path(call.model), form.headers, body, deadline, outcome, call.tls)


def _refusal(response: Response, parts: frozenset[str]) -> JudgeError:
    """Return what an error status means. The server's own words are left out: they may quote the request, or the key."""
    status = response.status
    if 300 <= status < _FIRST_ERROR:
        return JudgeError("redirect", "redirects are not followed, they would carry the key")
    detail = "it refuses: %s" % ", ".join(sorted(parts)) if parts else ""
    return JudgeError(_BY_STATUS.get(status, "http_%d" % status), detail, _retry_after(response))


def _retry_after(response: Response) -> float | None:
    """Return the seconds that the server asks to wait; None when it does not say."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = response.headers.get(name, "")
        if value.isascii() and value.replace(".", "", 1).isdigit() and len(value) <= 12:
            return float(value) * unit
    return _until(response.headers.get("retry-after", ""))


def _until(date: str) -> float | None:
    """Return the seconds to an HTTP date (RFC 9110, 10.2.3)."""
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
        raise JudgeError("compressed", "the answer is compressed, which was not asked for")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise JudgeError(
            "wrong_type",
            "the answer is no JSON but %s" % (kind[:40] if kind.isprintable() else "something else"),
        )
    try:
        payload = loads(response.body.decode("utf-8"))
    except ValueError:
        raise JudgeError("parse_error", "the answer is no JSON") from None
    if not isinstance(payload, dict):
        raise JudgeError("parse_error", "the answer is no JSON object")
    return payload


def value_at(value: object, *path: str | int) -> Any:  # noqa: ANN401 (whatever a server sent)
    """Return what lies at a path of keys and list positions; None when nothing does."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def token_count(value: object) -> int | None:
    """Return a number of tokens; None for anything that is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40 else None


def make_calls(backend: Backend, calls: Sequence[JudgeCall], deadline: Deadline) -> list[CallOutcome]:
    """Return what each call came to.

    Each has a thread, because looking up a name knows no time-out; one that still waits there at the deadline is
    left behind, and as a daemon keeps no process from ending.
    """
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
    return [_as_it_stands(outcome, deadline) for outcome in outcomes]


def _make(backend: Backend, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Return what a thread does: fill the outcome, whatever happens."""
    started = deadline.elapsed_ms()
    try:
        backend.answer(call, deadline, outcome)
    except JudgeError as failed:
        outcome.fail(failed.name, failed.detail, failed.wait)
    except Exception as error:
        outcome.fail("error", type(error).__name__)
    outcome.ms = round(deadline.elapsed_ms() - started, 1)
    outcome.done = True


def _as_it_stands(outcome: CallOutcome, deadline: Deadline) -> CallOutcome:
    """Return a copy that the call's thread, should it still run, changes no more."""
    done = outcome.done
    copy = CallOutcome()
    for name in CallOutcome.__slots__:
        setattr(copy, name, getattr(outcome, name))
    if not done:
        copy.fail("timeout").ms = deadline.elapsed_ms()
    return copy
