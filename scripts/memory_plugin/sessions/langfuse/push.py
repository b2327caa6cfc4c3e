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

_PER_REQUEST = 15  # scores in one request, where the server takes several (its own SDK's figure)
_IDS_PER_REQUEST = 50
_OBJECT, _ARRAY = "object", "array"
_ACCEPTED = (200, 201, 202, 207)
_WRONG_FORM = 400
# Seconds before each check for posted scores: servers store them a moment after they answer 200.
_CONFIRM_PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0)


class PushResult(NamedTuple):
    """How many scores were confirmed, how many are still pending, and which were refused, with the reasons."""

    confirmed: int
    waiting: int
    refused: dict[str, str]


def send_scores(
    paths: Paths, settings: Settings, off: str, seconds: float, progress: Callable[[str], None]
) -> PushResult:
    """Send all scores that the server does not have yet. Raises Failed, OSError, and Busy while another process sends."""
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
    """Send what is pending, while the lock of the outbox is held. Raises Failed and OSError; what was not sent stays pending.

    After a rate limit nothing is asked before the time that the server gave.
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
        if failed.name == "http_404":  # it was probed while it did not answer as usual
            outbox.server.clear()
            outbox.save()
        raise
    _give_up(outbox)
    refused = {name: why for name, why in outbox.refused.items() if name not in refused_before}
    return PushResult(len(outbox.sent) - sent_before - len(refused), len(outbox.waiting), refused)


def _prepare(outbox: Outbox, client: LangfuseClient) -> None:
    """Probe the server and find its configs, where that is not known yet."""
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
        several = names[at : at + (_PER_REQUEST if outbox.server.get("form") == _ARRAY else 1)]
        _post(outbox, client, several)
        outbox.save()
        at += len(several)


def _post(outbox: Outbox, client: LangfuseClient, names: list[str]) -> None:
    """Send some scores in the form that the server accepts. Raises Failed, also when the answer is not the server's own.

    A form may have been learned from somebody else's 200, such as a proxy's. So a score is refused only after both forms were.
    """
    sent = [_with_config(outbox, name) for name in names]
    form = outbox.server.get("form", _OBJECT)
    reply = client.post("/scores", sent if form == _ARRAY else sent[0])
    if reply.status == _WRONG_FORM and len(names) == 1:
        form = _ARRAY if form == _OBJECT else _OBJECT
        reply = client.post("/scores", sent if form == _ARRAY else sent[0])
    if reply.status in _ACCEPTED:
        if not isinstance(reply.payload, dict):
            raise JudgeError("wrong_type", "the answer to a score is not a JSON object")
        outbox.server["form"] = form
        for name in names:
            outbox.waiting[name]["posted"] += 1
    elif len(names) > 1:  # one of them is wrong: find it
        for name in names:
            _post(outbox, client, [name])
    else:
        outbox.refuse(names[0], "http_%d" % reply.status)


def _with_config(outbox: Outbox, name: str) -> dict[str, Any]:
    body = outbox.waiting[name]["body"]
    identity = outbox.configs.get(body.get("name"))
    return {**body, "configId": identity} if identity else dict(body)


def _confirm_posted(outbox: Outbox, client: LangfuseClient, pauses: Sequence[float]) -> None:
    """Look for what was posted, and remove what the server has from the outbox."""
    for pause in pauses:
        posted = [name for name, entry in outbox.waiting.items() if entry.get("posted")]
        if not posted:
            return
        sleep(pause)
        found = read_back(client, outbox.server, posted)
        for name in posted:
            if name in found and _is_stored(outbox.waiting[name]["body"], found[name]):
                outbox.confirm(name)
        outbox.save()


def read_back(client: LangfuseClient, server: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the values of scores that the server has, by id. Raises Failed."""
    modern = server.get("scores") == MODERN
    found: dict[str, Any] = {}
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
                found[name] = label if isinstance(label, str) and label else value_at(row, "value")
    return found


def _is_stored(body: dict[str, Any], value: object) -> bool:
    wanted = body["value"]
    if isinstance(wanted, str) or isinstance(value, bool) or not isinstance(value, (int, float)):
        return bool(value == wanted)
    return abs(float(value) - float(wanted)) < 1e-6


def _give_up(outbox: Outbox) -> None:
    """Refuse what the server accepted three times and never stored. For the rest, ask for the configs again: one may be archived."""
    if outbox.waiting:
        outbox.configs = {}
    for name, entry in list(outbox.waiting.items()):
        if entry.get("posted", 0) >= MAX_TRIES:
            outbox.refuse(name, "accepted %d times and never stored" % entry["posted"])
    outbox.save()
