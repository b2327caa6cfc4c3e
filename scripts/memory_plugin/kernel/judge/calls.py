r"""Calls to a model: made in parallel until the deadline, through the client or in the form of a vendor's API.

The backend `scripted` answers from a file, for tests and trials, without network and key: `judge/script.json` in the state folder.

    {"replies": [{"rubric": "relevance", "text": "{\"relevant\": [0]}"},
                 {"failure": "overloaded", "delay": 0.1}]}

The first reply whose `rubric`, if given, matches the question is used, after `delay` seconds: its `text`, or its `failure`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fastjson import dumps, loads
from ..files import read_regular
from .errors import CallOutcome, JudgeError
from .host import HOST, ask_client
from .models import rejected_parts
from .question import value_at
from .vendors import SCRIPTED, VENDORS, anthropic_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from ssl import SSLContext

    from ..clock import Deadline
    from .credentials import ServerAccess
    from .models import RequestOptions
    from .question import Question
    from .transport import Response
    from .vendors import Vendor

    Body = dict[str, Any]

_HTTP_OK, _TOO_MANY, _FIRST_SERVER_ERROR = 200, 429, 500
# Why the client has no answer: `refused` is a request that it does not send, such as one for a model that a policy blocks.
_BY_REASON = {"aborted": "timeout", "empty-reply": "truncated", "refused": "http_400"}
_MALFORMED = (400, 422)  # statuses for a request that the server does not accept
_BY_STATUS = {_TOO_MANY: "rate_limited", 503: "overloaded", 529: "overloaded"}
_RETRY_AFTER = 1.0  # seconds, if the server does not say
_MAX_SCRIPT_BYTES = 1 << 20


class JudgeCall(NamedTuple):
    """One question to one model.

    `access` is None for the backends without a server, which use files in `folder`. `retry` allows one more try after 429 and 5xx, never
    while a prompt waits.
    """

    question: Question
    backend: str
    model: str
    access: ServerAccess | None
    folder: str
    session: str
    tls: SSLContext | None
    options: RequestOptions
    retry: bool


def make_calls(calls: Sequence[JudgeCall], deadline: Deadline) -> list[CallOutcome]:
    """Make all calls in parallel and return their outcomes, at the deadline at the latest."""
    outcomes: list[CallOutcome | None] = [None] * len(calls)
    started = deadline.elapsed_ms()
    run_until(deadline, [partial(_make, call, deadline, outcomes, at) for at, call in enumerate(calls)])
    waited = round(deadline.elapsed_ms() - started, 1)
    return [outcome or CallOutcome("timeout", waited) for outcome in outcomes]


def run_until(deadline: Deadline, tasks: Iterable[Callable[[], None]]) -> None:
    """Run every task in a daemon thread and return when all have ended, at the deadline at the latest."""
    threads = [Thread(target=task, daemon=True) for task in tasks]
    for thread in threads:
        with suppress(RuntimeError):  # the process may have no more threads
            thread.start()
    for thread in threads:
        if thread.ident is not None:
            thread.join(deadline.remaining())


def _make(call: JudgeCall, deadline: Deadline, outcomes: list[CallOutcome | None], at: int) -> None:
    """Make one call and store its outcome, whatever happens."""
    started = deadline.elapsed_ms()
    outcome = CallOutcome()
    try:
        if call.backend == SCRIPTED:
            _answer_from_script(call, deadline, outcome)
        elif call.backend == HOST:
            _ask_client(call, deadline, outcome)
        else:
            _ask_vendor(VENDORS[call.backend], call, deadline, outcome)
    except JudgeError as error:
        outcome.failure, outcome.detail, outcome.wait = error.name, error.detail, error.wait
        outcome.is_free = outcome.is_free or error.unsent
    except Exception as error:
        outcome.failure, outcome.detail = "error", type(error).__name__
    outcome.ms = round(deadline.elapsed_ms() - started, 1)
    outcomes[at] = outcome


def _ask_client(call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Send a call's request through the client and fill in the outcome. Raises JudgeError."""
    rubric = call.question.rubric
    request = {
        "model": call.model,
        "system": rubric.system,
        "prompt": call.question.message,
        "maxTokens": call.options.max_tokens(call.question),
        "effort": "low",  # which the client drops if the model takes none
    }
    result = ask_client(os.path.join(call.folder, HOST), call.session, request, deadline)
    status, text = result.get("status"), result.get("text")
    if result.get("isAnswered") is not True or not isinstance(text, str):
        if isinstance(status, int):
            raise JudgeError(_BY_STATUS.get(status, "http_%d" % status))
        raise JudgeError(_BY_REASON.get(str(result.get("reason")), "network"))
    outcome.tokens_in, outcome.tokens_out = anthropic_tokens(result.get("usage"))
    outcome.text = text


def _ask_vendor(vendor: Vendor, call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Send a call's request and fill in the outcome. Raises JudgeError."""
    response = _send(vendor, call, deadline)
    if call.retry and (response.status == _TOO_MANY or response.status >= _FIRST_SERVER_ERROR):
        wait = _retry_after(response)
        wait = _RETRY_AFTER if wait is None else wait
        if wait < deadline.remaining():
            sleep(wait)
            response = _send(vendor, call, deadline)
    if response.status != _HTTP_OK:
        outcome.is_free = True
        if response.status in _MALFORMED:
            outcome.parts = rejected_parts(response.body, vendor.names) & call.options.sent()
        raise _error_for(response, outcome.parts)
    answer = vendor.read(_payload(response))
    outcome.tokens_in, outcome.tokens_out = answer.tokens_in, answer.tokens_out
    if answer.failure:
        raise JudgeError(answer.failure)
    outcome.text = answer.text


def _send(vendor: Vendor, call: JudgeCall, deadline: Deadline) -> Response:
    from .transport import Request, send

    assert call.access is not None
    body = dumps(vendor.body(call.question, call.model, call.options)).encode("ascii")
    request = Request("POST", vendor.url_path(call.model), tuple(vendor.headers), body)
    return send(call.access, request, deadline, call.tls)


def _error_for(response: Response, parts: frozenset[str]) -> JudgeError:
    """Return the error for a status. The server's text is left out because it may quote the request or the key."""
    status = response.status
    if 300 <= status < 400:
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
        shown = kind[:40] if kind.isprintable() else "something else"
        raise JudgeError("wrong_type", "the response is not JSON but %s" % shown)
    try:
        payload = loads(response.body.decode("utf-8"))
    except ValueError:
        raise JudgeError("parse_error", "the response is not JSON") from None
    if not isinstance(payload, dict):
        raise JudgeError("parse_error", "the response is not a JSON object")
    return payload


def _answer_from_script(call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Answer a call from its script. Raises JudgeError; `no_script` if no reply matches."""
    reply = _scripted_reply(os.path.join(call.folder, "script.json"), call.question.rubric.id)
    sleep(min(float(reply.get("delay", 0)), deadline.remaining()))
    if deadline.remaining() <= 0:
        raise JudgeError("timeout")
    if reply.get("failure"):
        raise JudgeError(str(reply["failure"]))
    outcome.text = str(reply.get("text", ""))
    outcome.tokens_in = outcome.tokens_out = 0


def _scripted_reply(path: str, rubric: str) -> Body:
    try:
        script = loads(read_regular(path, _MAX_SCRIPT_BYTES)[0].decode("utf-8"))
    except (OSError, ValueError):
        raise JudgeError("no_script", "no readable script at %s" % path) from None
    for reply in value_at(script, "replies") or ():
        if isinstance(reply, dict) and reply.get("rubric", rubric) == rubric:
            return reply
    raise JudgeError("no_script", "no reply for %s in %s" % (rubric, path))
