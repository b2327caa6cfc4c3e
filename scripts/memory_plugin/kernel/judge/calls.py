r"""Calls to a model: made in parallel until the deadline, through the client or in the form of a vendor's API.

The backend `scripted` answers from a file, for tests and trials, without network and key: `judge/script.json` in the state folder.

    {"replies": [{"rubric": "relevance", "text": "{\"relevant\": [0]}"},
                 {"failure": "overloaded", "delay": 0.1}]}

The first reply whose `rubric`, if given, matches the question is used, after `delay` seconds: its `text`, or its `failure`.

The backend `host` asks through Claude Code with the session's own login: `hooks/register.js` runs inside the client. In the folder `host`,
`SESSION.open` holds a key while it listens, `SESSION.N.ask` holds a request, and `SESSION.N.answer` the result and a line end.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from threading import Thread
from time import sleep, time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fastjson import as_objects, dumps, loads
from ..files import bug_text, make_folder, read_regular, replace_file
from ..paths import read_state
from ..text.clean import plain
from .models import Family, rejected_parts
from .question import JudgeError, Question, Verdict
from .vendors import HOST, SCRIPTED, VENDORS, Vendor, anthropic_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from ssl import SSLContext

    from ..context import Deadline
    from .credentials import ServerAccess
    from .transport import Request, Response

    Body = dict[str, Any]

# Why the client has no answer: `refused` is a request that it does not send, such as one for a model that a policy blocks.
_BY_REASON = {"aborted": "timeout", "empty-reply": "truncated", "refused": "http_400"}
_MALFORMED = (400, 422)  # statuses for a request that the server does not accept
_BY_STATUS = {429: "rate_limited", 503: "overloaded", 529: "overloaded"}
_RETRY_AFTER = 1.0  # seconds, if the server does not say
_MAX_BYTES = 1 << 20
_POLL = 0.005  # seconds
_MARGIN = 0.1  # seconds that the answer may take from the client to this process
_LAST = 0.02  # seconds before the deadline, to delete the files in time
_LISTENS = 15.0  # seconds at most; an older mark is of a client that ended in between
_KEPT = 86_400.0  # seconds, for files of a session that ended in the middle of a question


class Target(NamedTuple):
    """Where and how questions are asked.

    `access` is None for the backends without a server, which use files in `folder`. `retry` allows one more try after 429 and 5xx.
    """

    backend: str
    model: str
    access: ServerAccess | None
    family: Family
    retry: bool
    folder: str
    session: str
    tls: SSLContext | None = None


def make_calls(questions: Sequence[Question], target: Target, deadline: Deadline) -> list[Verdict]:
    """Ask all questions in parallel and return a verdict for each, whose `text` is to be read, at the deadline at the latest."""
    if target.access is not None:
        from .transport import tls_context

        target = target._replace(tls=tls_context(target.access))
    verdicts = [Verdict(None, "timeout") for _ in questions]
    started = deadline.elapsed_ms()
    tasks = [partial(_make, one, target, deadline, verdicts, at) for at, one in enumerate(questions)]
    run_until(deadline, tasks)
    results = list(verdicts)  # a late answer no longer counts
    for verdict in results:
        verdict.ms = verdict.ms or round(deadline.elapsed_ms() - started, 1)
    return results


def run_until(deadline: Deadline, tasks: Iterable[Callable[[], None]]) -> None:
    """Run every task in a daemon thread and return when all have ended, at the deadline at the latest."""
    threads = [Thread(target=task, daemon=True) for task in tasks]
    for thread in threads:
        with suppress(RuntimeError):  # the process may have no more threads
            thread.start()
    for thread in threads:
        if thread.ident is not None:
            thread.join(deadline.remaining())


def fetch(access: ServerAccess, request: Request, deadline: Deadline, tls: SSLContext | None) -> Response:
    """Send a request and return its response, at the deadline at the latest. Raises JudgeError like `send`."""
    from .transport import send

    results: list[Response | JudgeError] = []

    def work() -> None:
        try:
            results.append(send(access, request, deadline, tls))
        except JudgeError as error:
            results.append(error.with_traceback(None))  # which would keep the response alive

    run_until(deadline, [work])
    result = results[0] if results else JudgeError("timeout")
    if isinstance(result, JudgeError):
        raise result
    return result


def _make(question: Question, target: Target, deadline: Deadline, verdicts: list[Verdict], at: int) -> None:
    """Make one call and store its verdict, whatever happens."""
    started = deadline.elapsed_ms()
    verdict = Verdict(None)
    try:
        ask = {SCRIPTED: _answer_from_script, HOST: _ask_client}.get(target.backend, _ask_vendor)
        ask(question, target, deadline, verdict)
    except JudgeError as error:
        verdict.failure, verdict.detail, verdict.wait = error.name, error.detail, error.wait
        verdict.is_free = verdict.is_free or error.unsent
    except Exception as error:
        verdict.failure, verdict.detail = "error", bug_text(error)
    verdict.ms = round(deadline.elapsed_ms() - started, 1)
    verdicts[at] = verdict


def _ask_client(question: Question, target: Target, deadline: Deadline, verdict: Verdict) -> None:
    """Send a request through the client and fill in the verdict. Raises JudgeError."""
    request = {
        "model": target.model,
        "system": question.rubric.system,
        "prompt": question.message,
        "maxTokens": target.family.max_tokens(question),
        "effort": "low",  # which the client drops if the model takes none
    }
    result = _client_result(target, request, deadline)
    status, text = result.get("status"), result.get("text")
    if result.get("isAnswered") is not True or not isinstance(text, str):
        if isinstance(status, int):
            raise JudgeError(_BY_STATUS.get(status, "http_%d" % status))
        raise JudgeError(_BY_REASON.get(str(result.get("reason")), "network"))
    verdict.tokens_in, verdict.tokens_out = anthropic_tokens(result.get("usage"))
    verdict.text = text


def listener_key(folder: str, session: str) -> str:
    """Return the key of the client that listens for questions of this session; its folder is made, so that it may listen.

    Raises JudgeError `no_host`.
    """
    try:
        make_folder(os.path.join(folder, HOST))
        key, mark = read_regular(os.path.join(folder, HOST, _name(session) + ".open"), _MAX_BYTES)
        if key and time() - mark.st_mtime < _LISTENS:
            return key.decode("ascii")
    except (OSError, ValueError):
        pass
    raise JudgeError("no_host", "Claude Code does not answer here")


def _client_result(target: Target, request: Body, deadline: Deadline) -> Body:
    """Return the client's result: `isAnswered`, and `text` and `usage` or a `reason`. Raises JudgeError."""
    folder = os.path.join(target.folder, HOST)
    path = os.path.join(folder, "%s.%s" % (_name(target.session), os.urandom(8).hex()))
    limit = max(1, round(1000 * (deadline.remaining() - _MARGIN)))
    key = listener_key(target.folder, target.session)
    try:
        sent = dumps({**request, "timeoutMs": limit, "key": key}).encode("ascii")
        replace_file(path + ".ask", sent, durable=False)
        while deadline.remaining() > _LAST:
            sleep(_POLL)
            with suppress(FileNotFoundError):
                data = read_regular(path + ".answer", _MAX_BYTES)[0]
                if data.endswith(b"\n"):
                    result = loads(data.decode("utf-8"))
                    return result if isinstance(result, dict) else {}
    except (OSError, ValueError):
        raise JudgeError("no_host", "Claude Code's answer cannot be read") from None
    finally:
        _remove(folder, path)
    raise JudgeError("timeout")


def _name(session: str) -> str:
    """Return the session as part of a file's name; "none" for one that the client would not listen for."""
    return session if session.replace("-", "").replace("_", "").isalnum() and session.isascii() else "none"


def _remove(folder: str, path: str) -> None:
    """Delete the files of one question, and those that other sessions left behind."""
    oldest = time() - _KEPT
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.path.startswith(path) or entry.stat().st_mtime < oldest:
                os.unlink(entry.path)


def _ask_vendor(question: Question, target: Target, deadline: Deadline, verdict: Verdict) -> None:
    """Send a request to a vendor's API and fill in the verdict. Raises JudgeError."""
    vendor = VENDORS[target.backend]
    response = _send(vendor, question, target, deadline)
    if target.retry and (response.status == 429 or response.status >= 500):
        wait = _retry_after(response)
        wait = _RETRY_AFTER if wait is None else wait
        if wait < deadline.remaining():
            sleep(wait)
            response = _send(vendor, question, target, deadline)
    if response.status != 200:
        verdict.is_free = True
        if response.status in _MALFORMED:
            verdict.rejected = rejected_parts(response.body) & target.family.sent()
        raise error_for(response, verdict.rejected)
    vendor.read(json_object(response), verdict)


def _send(vendor: Vendor, question: Question, target: Target, deadline: Deadline) -> Response:
    from urllib.parse import quote

    from .transport import Request, send

    assert target.access is not None
    body = dumps(vendor.body(question, target.model, target.family)).encode("ascii")
    path = vendor.path.replace("%s", quote(target.model.removeprefix("models/"), safe=""))
    request = Request("POST", path, tuple(vendor.headers), body)
    return send(target.access, request, deadline, target.tls)


def error_for(response: Response, parts: frozenset[str] = frozenset()) -> JudgeError:
    """Return the error for a status; `parts` are those of the request that the server rejects.

    The server's text is left out because it may quote the request or the key.
    """
    status = response.status
    if 300 <= status < 400:
        return JudgeError("redirect", "redirects are not followed, because they would receive the key")
    detail = "it refuses: %s" % ", ".join(sorted(parts)) if parts else ""
    return JudgeError(_BY_STATUS.get(status, "http_%d" % status), detail, _retry_after(response))


def _retry_after(response: Response) -> float | None:
    """Return the seconds that the server asks to wait; None if it does not say."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = response.headers.get(name, "")
        if value.isascii() and value.isdigit() and len(value) <= 9:
            return float(value) * unit
    return None


def json_object(response: Response) -> Body:
    """Return the JSON object in a response. Raises JudgeError `parse_error` or `wrong_type`."""
    try:
        payload = loads(response.body.decode("utf-8"))
    except ValueError:
        kind = plain(response.headers.get("content-type", "none"), 40)
        failure = "parse_error" if "json" in kind.lower() else "wrong_type"
        raise JudgeError(failure, "the response is not JSON; content type: %s" % kind) from None
    if not isinstance(payload, dict):
        raise JudgeError("parse_error", "the response is not a JSON object")
    return payload


def _answer_from_script(question: Question, target: Target, deadline: Deadline, verdict: Verdict) -> None:
    """Answer from a script. Raises JudgeError; `no_script` if no reply matches."""
    path, rubric = os.path.join(target.folder, "script.json"), question.rubric.id
    replies: list[Any] = as_objects(read_state(path).get("replies"))
    reply = next((each for each in replies if each.get("rubric", rubric) == rubric), None)
    if reply is None:
        raise JudgeError("no_script", "no reply for %s in %s" % (rubric, path))
    sleep(min(float(reply.get("delay", 0)), deadline.remaining()))
    if deadline.remaining() <= 0:
        raise JudgeError("timeout")
    if reply.get("failure"):
        raise JudgeError(str(reply["failure"]))
    verdict.text = str(reply.get("text", ""))
    verdict.tokens_in = verdict.tokens_out = 0
