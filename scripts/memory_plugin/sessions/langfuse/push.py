"""Sending what waits: posted, read back, and only then out of the outbox."""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

from ...kernel.clock import now
from ...kernel.judge.outcome import Failed
from ...kernel.judge.wire import field
from .configs import ensure
from .outbox import MOST_TRIES
from .server import MODERN, probe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .client import Client
    from .outbox import Outbox

__all__ = ["Pushed", "push", "read_back"]

_AT_ONCE = 15  # scores in one request, where the server takes several (its own SDK's figure)
_IDS_AT_ONCE = 50
_OBJECT, _ARRAY = "object", "array"
_ACCEPTED = (200, 201, 202, 207)
# Seconds between looks for what was posted: servers store scores a moment after they say 200.
_LOOKS = (0.0, 0.5, 1.0, 2.0, 4.0)


class Pushed(NamedTuple):
    """How many scores are on the server now, how many still wait, and which were refused, with the reasons."""

    confirmed: int
    waiting: int
    refused: dict[str, str]


def push(
    outbox: Outbox, client: Client, progress: Callable[[str], None], looks: Sequence[float] = _LOOKS
) -> Pushed:
    """Send what waits, within the lock of the outbox. Raises Failed and OSError; what was not sent waits on.

    After a rate limit nothing is asked before its time.
    """
    refused_before = set(outbox.refused)
    sent_before = len(outbox.sent)
    if outbox.not_before > now():
        raise Failed(
            "rate_limited", "the server asked to wait %d more seconds" % (outbox.not_before - now() + 1)
        )
    try:
        _prepare(outbox, client)
        _look(outbox, client, [0.0])
        _post_all(outbox, client, progress)
        _look(outbox, client, looks)
    except Failed as failed:
        if failed.name == "rate_limited" and failed.wait:
            outbox.not_before = now() + failed.wait
            outbox.save()
        raise
    _give_up(outbox)
    refused = {name: why for name, why in outbox.refused.items() if name not in refused_before}
    return Pushed(len(outbox.sent) - sent_before - len(refused), len(outbox.waiting), refused)


def _prepare(outbox: Outbox, client: Client) -> None:
    """Know the server and its configs."""
    if not outbox.server:
        outbox.server = probe(client)
        outbox.save()
    missing = {entry["body"].get("name") for entry in outbox.waiting.values()} - set(outbox.configs)
    if missing:
        outbox.configs = ensure(client)
        outbox.save()


def _post_all(outbox: Outbox, client: Client, progress: Callable[[str], None]) -> None:
    names = list(outbox.waiting)
    at = 0
    while at < len(names):
        progress("%d of %d scores sent" % (at, len(names)))
        several = names[at : at + (_AT_ONCE if outbox.server.get("form") == _ARRAY else 1)]
        _post(outbox, client, several)
        outbox.save()
        at += len(several)


def _post(outbox: Outbox, client: Client, names: list[str]) -> None:
    """Send some scores in the form that the server takes, which the first one finds out."""
    sent = [_with_config(outbox, name) for name in names]
    form = outbox.server.get("form", _OBJECT)
    reply = client.post("/scores", sent if form == _ARRAY else sent[0])
    if reply.status == 400 and "form" not in outbox.server:
        form = _ARRAY
        reply = client.post("/scores", sent)
    if reply.status in _ACCEPTED:
        outbox.server["form"] = form
        for name in names:
            outbox.waiting[name]["posted"] += 1
    elif len(names) > 1:  # one of them is at fault: find it
        for name in names:
            _post(outbox, client, [name])
    else:
        outbox.refuse(names[0], "http_%d" % reply.status)


def _with_config(outbox: Outbox, name: str) -> dict[str, Any]:
    body = outbox.waiting[name]["body"]
    identity = outbox.configs.get(body.get("name"))
    return {**body, "configId": identity} if identity else dict(body)


def _look(outbox: Outbox, client: Client, pauses: Sequence[float]) -> None:
    """Look for what was posted, and take what is there out of the outbox."""
    for pause in pauses:
        posted = [name for name, entry in outbox.waiting.items() if entry.get("posted")]
        if not posted:
            return
        sleep(pause)
        found = read_back(client, outbox.server, posted)
        for name in posted:
            if name in found and _agrees(outbox.waiting[name]["body"], found[name]):
                outbox.confirm(name)
        outbox.save()


def read_back(client: Client, server: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The values of scores that the server has, by id. Raises Failed."""
    modern = server.get("scores") == MODERN
    found: dict[str, Any] = {}
    for at in range(0, len(names), _IDS_AT_ONCE):
        ids = ",".join(names[at : at + _IDS_AT_ONCE])
        reply = (
            client.get("/v3/scores", {"id": ids, "limit": 100})
            if modern
            else client.get("/v2/scores", {"scoreIds": ids, "limit": 100})
        )
        rows = field(reply.payload, "data")
        if reply.status != 200 or not isinstance(rows, list):
            raise Failed("http_%d" % reply.status, "scores could not be read back")
        for row in rows:
            name = field(row, "id")
            if isinstance(name, str):
                label = field(row, "stringValue")
                found[name] = label if isinstance(label, str) and label else field(row, "value")
    return found


def _agrees(body: dict[str, Any], value: object) -> bool:
    wanted = body["value"]
    if isinstance(wanted, str) or isinstance(value, bool) or not isinstance(value, (int, float)):
        return bool(value == wanted)
    return abs(float(value) - float(wanted)) < 1e-6


def _give_up(outbox: Outbox) -> None:
    """Refuse what the server took three times and never had; for the rest the configs are asked for again: one may be archived."""
    if outbox.waiting:
        outbox.configs = {}
    for name, entry in list(outbox.waiting.items()):
        if entry.get("posted", 0) >= MOST_TRIES:
            outbox.refuse(name, "taken %d times and never stored" % entry["posted"])
    outbox.save()
