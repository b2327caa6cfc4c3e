"""Send scores: copy them from the ledger to the outbox, post them, read them back, and only then remove them from the outbox."""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

from ...kernel.clock import Deadline, now
from ...kernel.judge.calls import value_at
from ...kernel.judge.errors import JudgeError
from ..score_rows import latest_rows
from .langfuse_client import LangfuseClient
from .langfuse_server import MODERN, find_access, probe
from .outbox import MAX_TRIES, Outbox
from .score_payloads import ensure_configs, score_bodies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...kernel.paths import Paths
    from ...kernel.settings.load import Settings

__all__ = ["PushResult", "push", "read_back", "send_scores"]

_PER_REQUEST = 15  # scores in one request, if the server accepts several (as in its own SDK)
_IDS_PER_REQUEST = 50
_OBJECT, _ARRAY = "object", "array"
_ACCEPTED = (200, 201, 202, 207)
_WRONG_FORM = 400
# Seconds before each check for posted scores: servers store them a moment after they answer 200.
_CONFIRM_PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0)


class PushResult(NamedTuple):
    """The numbers of confirmed and of pending scores, and the refused ones with the reasons."""

    confirmed: int
    waiting: int
    refused: dict[str, str]


def send_scores(
    paths: Paths, settings: Settings, off: str, seconds: float, progress: Callable[[str], None]
) -> PushResult:
    """Send all scores that the server does not have yet. Raises JudgeError, OSError, and Busy if another process is sending."""
    access = find_access(paths, settings, off)
    outbox = Outbox(paths, access)
    with outbox.lock():
        outbox.reload()
        rows = latest_rows(paths, settings).values()
        outbox.enqueue(body for row in rows for body in score_bodies(row))
        return push(outbox, LangfuseClient(access, Deadline(seconds)), progress)


def push(
    outbox: Outbox,
    client: LangfuseClient,
    progress: Callable[[str], None],
    pauses: Sequence[float] = _CONFIRM_PAUSES,
) -> PushResult:
    """Send the pending scores; the caller holds the outbox lock. Raises JudgeError and OSError; unsent scores stay pending.

    After a rate limit, no request is sent before the time that the server gave.
    """
    refused_before = set(outbox.refused)
    sent_before = len(outbox.sent)
    if outbox.not_before > now():
        raise JudgeError(
            "rate_limited", "the server asked to wait %d more seconds" % (outbox.not_before - now() + 1)
        )
    try:
        _prepare(outbox, client)
        _confirm_posted(outbox, client, [0.0])
        _post_all(outbox, client, progress)
        _confirm_posted(outbox, client, pauses)
    except JudgeError as failed:
        if failed.name == "rate_limited" and failed.wait:
            outbox.not_before = now() + failed.wait
            outbox.save()
        if failed.name == "http_404":  # the probe may have been wrong, so probe again next time
            outbox.server.clear()
            outbox.save()
        raise
    _give_up(outbox)
    refused = {name: why for name, why in outbox.refused.items() if name not in refused_before}
    return PushResult(len(outbox.sent) - sent_before - len(refused), len(outbox.waiting), refused)


def _prepare(outbox: Outbox, client: LangfuseClient) -> None:
    """Probe the server and find its configs, unless the outbox knows both."""
    if not outbox.server:
        outbox.server = probe(client)
        outbox.save()
    missing = {entry["body"].get("name") for entry in outbox.waiting.values()} - set(outbox.configs)
    if missing:
        outbox.configs = ensure_configs(client)
        outbox.save()


def _post_all(outbox: Outbox, client: LangfuseClient, progress: Callable[[str], None]) -> None:
    names = list(outbox.waiting)
    at = 0
    while at < len(names):
        progress("%d of %d scores sent" % (at, len(names)))
        request_names = names[at : at + (_PER_REQUEST if outbox.server.get("form") == _ARRAY else 1)]
        _post(outbox, client, request_names)
        outbox.save()
        at += len(request_names)


def _post(outbox: Outbox, client: LangfuseClient, names: list[str]) -> None:
    """Send some scores in the form that the server accepts. Raises JudgeError, also if the answer is not from Langfuse.

    The recorded form may be wrong, because a proxy may have answered with 200. So a score is refused only after both forms were.
    """
    bodies = [_with_config(outbox, name) for name in names]
    form = outbox.server.get("form", _OBJECT)
    reply = client.post("/scores", bodies if form == _ARRAY else bodies[0])
    if reply.status == _WRONG_FORM and len(names) == 1:
        form = _ARRAY if form == _OBJECT else _OBJECT
        reply = client.post("/scores", bodies if form == _ARRAY else bodies[0])
    if reply.status in _ACCEPTED:
        if not isinstance(reply.payload, dict):
            raise JudgeError("wrong_type", "the answer to a score is not a JSON object")
        outbox.server["form"] = form
        for name in names:
            outbox.waiting[name]["posted"] += 1
    elif len(names) > 1:  # send them one by one to find the wrong one
        for name in names:
            _post(outbox, client, [name])
    else:
        outbox.refuse(names[0], "http_%d" % reply.status)


def _with_config(outbox: Outbox, name: str) -> dict[str, Any]:
    body = outbox.waiting[name]["body"]
    identity = outbox.configs.get(body.get("name"))
    return {**body, "configId": identity} if identity else dict(body)


def _confirm_posted(outbox: Outbox, client: LangfuseClient, pauses: Sequence[float]) -> None:
    """Read posted scores back, and remove those that the server has from the outbox."""
    for pause in pauses:
        posted = [name for name, entry in outbox.waiting.items() if entry.get("posted")]
        if not posted:
            return
        sleep(pause)
        stored = read_back(client, outbox.server, posted)
        for name in posted:
            if name in stored and _is_equal(outbox.waiting[name]["body"]["value"], stored[name]):
                outbox.confirm(name)
        outbox.save()


def read_back(client: LangfuseClient, server: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the values of the scores that the server has, by id. Raises JudgeError."""
    modern = server.get("scores") == MODERN
    values: dict[str, Any] = {}
    for at in range(0, len(names), _IDS_PER_REQUEST):
        ids = ",".join(names[at : at + _IDS_PER_REQUEST])
        reply = (
            client.get("/v3/scores", {"id": ids, "limit": 100})
            if modern
            else client.get("/v2/scores", {"scoreIds": ids, "limit": 100})
        )
        rows = value_at(reply.payload, "data")
        if reply.status != 200 or not isinstance(rows, list):
            raise JudgeError("http_%d" % reply.status, "scores could not be read back")
        for row in rows:
            name = value_at(row, "id")
            if isinstance(name, str):
                label = value_at(row, "stringValue")
                values[name] = label if isinstance(label, str) and label else value_at(row, "value")
    return values


def _is_equal(sent: str | float, stored: object) -> bool:
    if isinstance(sent, str) or isinstance(stored, bool) or not isinstance(stored, (int, float)):
        return stored == sent
    return abs(float(stored) - float(sent)) < 1e-6


def _give_up(outbox: Outbox) -> None:
    """Refuse scores that the server accepted three times and never stored.

    For the remaining ones, the configs are read again next time, because one may have been archived.
    """
    if outbox.waiting:
        outbox.configs = {}
    for name, entry in list(outbox.waiting.items()):
        if entry.get("posted", 0) >= MAX_TRIES:
            outbox.refuse(name, "accepted %d times and never stored" % entry["posted"])
    outbox.save()
