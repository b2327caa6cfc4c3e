"""A question sent to a server in a backend's form, and its answer brought to one outcome with one set of names."""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

from ..native import dumps, loads
from .outcome import Failed
from .terms import named_parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from ..clock import Deadline
    from .access import Access
    from .outcome import Outcome
    from .question import Question
    from .terms import Names, Terms
    from .transport import Response

    Body = dict[str, Any]

__all__ = ["Call", "Form", "Text", "count", "exchange", "field"]

_OK, _FIRST_ERROR, _TOO_MANY, _UNAVAILABLE, _OVERLOADED = 200, 400, 429, 503, 529
_MALFORMED = (400, 422)  # what servers answer to a request that they do not accept
_BY_STATUS = {_TOO_MANY: "rate_limited", _UNAVAILABLE: "overloaded", _OVERLOADED: "overloaded"}
_AGAIN_AFTER = 1.0  # seconds, where the server does not say


class Text(NamedTuple):
    """A model's text out of an answer, or the `failure` that the answer reports; tokens None where not told."""

    text: str
    failure: str
    tokens_in: int | None
    tokens_out: int | None


class Form(NamedTuple):
    """A backend's form.

    `path` is that of a model; `headers` go with every request; `body` is the request's; `read` raises Failed `parse_error` for an
    answer of another shape.  `names` are the words by which the server's errors call the parts of a request.
    """

    path: Callable[[str], str]
    headers: tuple[tuple[str, str], ...]
    body: Callable[[Question, str, Terms], Body]
    read: Callable[[Body], Text]
    names: Names


class Call(NamedTuple):
    """One question on its way: to which model, by which access, on which terms.

    `access` is None for the scripted backend, which reads `script`; `again` allows one more try after 429, 5xx and
    529, never on the prompt's path.
    """

    question: Question
    model: str
    access: Access | None
    script: str
    tls: SSLContext | None
    terms: Terms
    again: bool


def exchange(form: Form, call: Call, deadline: Deadline, outcome: Outcome) -> None:
    """Fill the outcome. Raises Failed.

    Where the server names what it refuses in the request, `outcome.parts` says so: whoever asked may ask once more without.
    """
    response = _patient(form, call, deadline, outcome)
    if response.status != _OK:
        outcome.refused = True
        if response.status in _MALFORMED:
            outcome.parts = named_parts(response.body, form.names) & call.terms.sent()
        raise _refusal(response, outcome.parts)
    answer = form.read(_payload(response))
    outcome.tokens_in, outcome.tokens_out = answer.tokens_in, answer.tokens_out
    if answer.failure:
        raise Failed(answer.failure)
    outcome.text = answer.text


def _patient(form: Form, call: Call, deadline: Deadline, outcome: Outcome) -> Response:
    response = _once(form, call, deadline, outcome)
    if call.again and (response.status == _TOO_MANY or response.status >= 500):
        wait = _retry_after(response)
        wait = _AGAIN_AFTER if wait is None else wait
        if wait < deadline.remaining():
            sleep(wait)
            response = _once(form, call, deadline, outcome)
    return response


def _once(form: Form, call: Call, deadline: Deadline, outcome: Outcome) -> Response:
    from .transport import post  # the network, only now

    assert call.access is not None
    body = dumps(form.body(call.question, call.model, call.terms)).encode("ascii")
    return post(call.access, form.path(call.model), form.headers, body, deadline, outcome, call.tls)


def _refusal(response: Response, parts: frozenset[str]) -> Failed:
    """Return what an error status means. The server's own words are left out: they may quote the request, or the key."""
    status = response.status
    if 300 <= status < _FIRST_ERROR:
        return Failed("redirect", "redirects are not followed, they would carry the key")
    detail = "it refuses: %s" % ", ".join(sorted(parts)) if parts else ""
    return Failed(_BY_STATUS.get(status, "http_%d" % status), detail, _retry_after(response))


def _retry_after(response: Response) -> float | None:
    """The seconds that the server asks to wait; None when it does not say."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = response.headers.get(name, "")
        if value.isascii() and value.replace(".", "", 1).isdigit() and len(value) <= 12:
            return float(value) * unit
    return _until(response.headers.get("retry-after", ""))


def _until(date: str) -> float | None:
    """The seconds to an HTTP date (RFC 9110, 10.2.3)."""
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
        raise Failed("compressed", "the answer is compressed, which was not asked for")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Failed(
            "wrong_type",
            "the answer is no JSON but %s" % (kind[:40] if kind.isprintable() else "something else"),
        )
    try:
        payload = loads(response.body.decode("utf-8"))
    except ValueError:
        raise Failed("parse_error", "the answer is no JSON") from None
    if not isinstance(payload, dict):
        raise Failed("parse_error", "the answer is no JSON object")
    return payload


def field(value: object, *path: str | int) -> Any:  # noqa: ANN401 (whatever a server sent)
    """What lies at a path of keys and list positions; None when nothing does."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def count(value: object) -> int | None:
    """A number of tokens; None for anything that is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40 else None
