"""Send scores: copy them from the ledger to the outbox, post them, and remove them only after they could be read back."""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple

from ...kernel.clock import Deadline, now
from ...kernel.judge.errors import JudgeError
from ...kernel.judge.question import value_at
from ..score_rows import latest_rows
from .langfuse_client import LangfuseClient
from .langfuse_server import MODERN, find_access, probe
from .outbox import MAX_TRIES, Outbox
from .score_payloads import ensure_configs, score_bodies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...kernel.paths import Paths
    from ...kernel.settings.load import Settings

_SCORES_PER_REQUEST = 15  # if the server accepts several; its own SDK's figure
_IDS_PER_REQUEST = 50
_OBJECT, _ARRAY = "object", "array"
_ACCEPTED = (200, 201, 202, 207)
_WRONG_FORM = 400
# Seconds before each check for posted scores, because servers store them a moment after they answer 200.
_CONFIRM_PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0)


class PushResult(NamedTuple):
    """The numbers of confirmed and pending scores, and the refused ones with the reasons."""

    confirmed: int
    pending: int
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
    """Send the pending scores; the caller holds the outbox's lock. Raises JudgeError and OSError; unsent scores stay pending.

    After a rate limit, nothing is sent before the time that the server gave.
    """
    refused_before = set(outbox.refused)
    sent_before = len(outbox.sent)
    if outbox.not_before > now():
        raise JudgeError(
            "rate_limited", "the server asked to wait %d more seconds" % (outbox.not_before - now() + 1)
        )
    try:
        _prepare_server(outbox, client)
        _confirm_posted(outbox, client, [0.0])  # those of an earlier run that was interrupted
        _post_all(outbox, client, progress)
        _confirm_posted(outbox, client, pauses)
    except JudgeError as error:
        if error.name == "rate_limited" and error.wait:
            outbox.not_before = now() + error.wait
            outbox.save()
        if (
            error.name == "http_404"
        ):  # the last probe was wrong, such as during an upgrade: probe again next time
            outbox.server.clear()
            outbox.save()
        raise
    _give_up(outbox)
    refused = {name: why for name, why in outbox.refused.items() if name not in refused_before}
    return PushResult(len(outbox.sent) - sent_before - len(refused), len(outbox.pending), refused)


def _prepare_server(outbox: Outbox, client: LangfuseClient) -> None:
    """Probe the server and ensure its score configs, unless the outbox has both."""
    if not outbox.server:
        outbox.server = probe(client)
        outbox.save()
    missing = {entry["body"].get("name") for entry in outbox.pending.values()} - set(outbox.configs)
    if missing:
        outbox.configs = ensure_configs(client)
        outbox.save()


def _post_all(outbox: Outbox, client: LangfuseClient, progress: Callable[[str], None]) -> None:
    ids = list(outbox.pending)
    start = 0
    while start < len(ids):
        progress("%d of %d scores sent" % (start, len(ids)))
        # The first request tells whether the server accepts several scores at once.
        size = _SCORES_PER_REQUEST if outbox.server.get("form") == _ARRAY else 1
        _post(outbox, client, ids[start : start + size])
        outbox.save()
        start += size


def _post(outbox: Outbox, client: LangfuseClient, ids: list[str]) -> None:
    """Send some scores in the form that the server accepts. Raises JudgeError, also for a 200 that is not Langfuse's.

    The stored form may come from another server's 200, such as a proxy's, so a score is refused only after both forms were.
    """
    bodies = [_with_config(outbox, score_id) for score_id in ids]
    form = outbox.server.get("form", _OBJECT)
    reply = client.post("/scores", bodies if form == _ARRAY else bodies[0])
    if reply.status == _WRONG_FORM and len(ids) == 1:
        form = _ARRAY if form == _OBJECT else _OBJECT
        reply = client.post("/scores", bodies if form == _ARRAY else bodies[0])
    if reply.status in _ACCEPTED:
        if not isinstance(reply.payload, dict):
            raise JudgeError("wrong_type", "the answer to a score is not a JSON object")
        outbox.server["form"] = form
        for score_id in ids:
            outbox.pending[score_id]["posted"] += 1
    elif len(ids) > 1:  # one of them is wrong: find it
        for score_id in ids:
            _post(outbox, client, [score_id])
    else:
        outbox.refuse(ids[0], "http_%d" % reply.status)


def _with_config(outbox: Outbox, score_id: str) -> dict[str, Any]:
    body = outbox.pending[score_id]["body"]
    config_id = outbox.configs.get(body.get("name"))
    return {**body, "configId": config_id} if config_id else dict(body)


def _confirm_posted(outbox: Outbox, client: LangfuseClient, pauses: Sequence[float]) -> None:
    """Read the posted scores back, and confirm those that the server stored."""
    for pause in pauses:
        posted = [score_id for score_id, entry in outbox.pending.items() if entry.get("posted")]
        if not posted:
            return
        sleep(pause)
        stored = read_back(client, outbox.server, posted)
        for score_id in posted:
            if score_id in stored and _is_same_value(outbox.pending[score_id]["body"], stored[score_id]):
                outbox.confirm(score_id)
        outbox.save()


def read_back(client: LangfuseClient, server: dict[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """Return the values of the scores that the server has, by id. Raises JudgeError."""
    is_modern = server.get("scores") == MODERN
    path, parameter = ("/v3/scores", "id") if is_modern else ("/v2/scores", "scoreIds")
    values: dict[str, Any] = {}
    for start in range(0, len(ids), _IDS_PER_REQUEST):
        reply = client.get(path, {parameter: ",".join(ids[start : start + _IDS_PER_REQUEST]), "limit": 100})
        rows = value_at(reply.payload, "data")
        if reply.status != 200 or not isinstance(rows, list):
            raise JudgeError("http_%d" % reply.status, "scores could not be read back")
        for row in rows:
            score_id = value_at(row, "id")
            if isinstance(score_id, str):
                label = value_at(row, "stringValue")
                values[score_id] = label if isinstance(label, str) and label else value_at(row, "value")
    return values


def _is_same_value(body: dict[str, Any], stored: object) -> bool:
    sent = body["value"]
    if isinstance(sent, str) or isinstance(stored, bool) or not isinstance(stored, (int, float)):
        return bool(stored == sent)
    return abs(float(stored) - float(sent)) < 1e-6


def _give_up(outbox: Outbox) -> None:
    """Refuse the scores that the server accepted three times and never stored.

    For the rest, look the configs up again next time: one may have been archived.
    """
    if outbox.pending:
        outbox.configs = {}
    for score_id, entry in list(outbox.pending.items()):
        if entry.get("posted", 0) >= MAX_TRIES:
            outbox.refuse(score_id, "accepted %d times and never stored" % entry["posted"])
    outbox.save()
