"""A question sent to a server in a backend's form, and its answer brought to one outcome with one set of names."""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

from ..native import dumps, loads
from .billing import most_tokens
from .outcome import Failed

if TYPE_CHECKING:
    from collections.abc import Callable
    from ssl import SSLContext

    from ..clock import Deadline
    from .access import Access
    from .outcome import Outcome
    from .question import Question
    from .transport import Response

    Body = dict[str, Any]

__all__ = ["Call", "Form", "Text", "count", "exchange", "field"]

_OK, _BAD_REQUEST, _TOO_MANY, _UNAVAILABLE, _OVERLOADED = 200, 400, 429, 503, 529
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

    `path` is that of a model; `headers` go with every request; `body` is the request's, for at most so many tokens,
    and `plain` without all that a model may refuse; `read` raises Failed `parse_error` for an answer of another shape.
    """

    path: Callable[[str], str]
    headers: tuple[tuple[str, str], ...]
    body: Callable[[Question, str, int, bool], Body]
    read: Callable[[Body], Text]


class Call(NamedTuple):
    """One question on its way: to which model, by which access; `plain` where the model is known to need it.

    `access` is None for the scripted backend, which reads `script`; `again` allows one more try after 429, 5xx and
    529, never on the prompt's path.
    """

    question: Question
    model: str
    access: Access | None
    script: str
    tls: SSLContext | None
    plain: bool
    again: bool


def exchange(form: Form, call: Call, deadline: Deadline, outcome: Outcome) -> None:
    """Fill the outcome. Raises Failed.

    A model that answers 400 is asked once more, within the same deadline, without what it may not know.
    """
    outcome.plain = call.plain
    response = _patient(form, call, deadline, outcome)
    if response.status == _BAD_REQUEST and not outcome.plain:
        outcome.plain = True
        response = _patient(form, call, deadline, outcome)
    if response.status != _OK:
        outcome.refused = True
        raise _refusal(response)
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
    most = most_tokens(call.question, plain=call.plain)
    body = dumps(form.body(call.question, call.model, most, outcome.plain)).encode("ascii")
    return post(call.access, form.path(call.model), form.headers, body, deadline, outcome, call.tls)


def _refusal(response: Response) -> Failed:
    """What an error status means. The server's own words are left out: they may quote the request, or the key."""
    status = response.status
    if 300 <= status < _BAD_REQUEST:
        return Failed("redirect", "redirects are not followed, they would carry the key")
    return Failed(_BY_STATUS.get(status, "http_%d" % status), "", _retry_after(response))


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
