"""Scores in Langfuse: their configs, their form, and an outbox between the ledger and the server.

A score must fit its config, because the server answers 200 and later drops one that does not. A config is matched by name, type and
scale, and created only if it is missing.

A score is written to the outbox before it is sent, and removed only after it could be read back from the server. If the process is killed
in between, the score is sent again with the same id and time, which changes nothing on the server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import sleep
from typing import Any, NamedTuple

from ..kernel.context import Deadline, now
from ..kernel.fastjson import as_integer, digest, dumps
from ..kernel.files import FileLock, make_folder
from ..kernel.judge.credentials import ServerAccess
from ..kernel.judge.question import JudgeError, value_at
from ..kernel.paths import Paths, read_state, write_state
from ..kernel.settings import Settings
from .langfuse_client import MODERN, LangfuseClient, find_access, probe
from .rows import latest_rows, scores_of
from .rubric import OVERALL, dimensions, overall_description

_CONFIGS_PER_PAGE = 50
_MAX_COMMENT = 5000
_NUMERIC_SCALE: dict[str, object] = {"dataType": "NUMERIC", "minValue": 0, "maxValue": 1}
_MAX_TRIES = 3
_MAX_BYTES = 64 << 20
_LOCK_SECONDS = 10.0
_SCORES_PER_REQUEST = 15  # if the server accepts several; its own SDK's figure
_IDS_PER_REQUEST = 50
_OBJECT, _ARRAY = "object", "array"
_ACCEPTED = (200, 201, 202, 207)
_WRONG_FORM = 400
# Seconds before each check for posted scores, because servers store them a moment after they answer 200.
_CONFIRM_PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0)


Body = Mapping[str, object]  # of a request


def score_configs() -> dict[str, Body]:
    """Return the request bodies that create our configs, by name."""
    configs: dict[str, Body] = {}
    for dimension in dimensions().values():
        categories = [{"label": label, "value": value} for value, label in enumerate(dimension.labels)]
        scale = {"dataType": "CATEGORICAL", "categories": categories} if categories else _NUMERIC_SCALE
        configs[dimension.id] = {"name": dimension.id, **scale, "description": dimension.description}
    configs[OVERALL] = {"name": OVERALL, **_NUMERIC_SCALE, "description": overall_description()}
    return configs


def existing_configs(client: LangfuseClient) -> dict[str, str]:
    """Return the ids of our configs on the server by name, without archived ones. Raises JudgeError.

    The server allows several configs of one name. The first one is used.
    """
    ours = score_configs()
    ids: dict[str, str] = {}
    page, pages = 0, 1
    while page < pages:
        page += 1
        query = {"page": page, "limit": _CONFIGS_PER_PAGE}
        rows, meta = client.rows("/score-configs", query, "score configs could not be listed")
        for row in rows:
            name = value_at(row, "name")
            if name in ours and _is_usable(row, ours[name]):
                ids.setdefault(name, row["id"])
        pages = (as_integer(value_at(meta, "totalPages")) or 0) if rows else 0
    return ids


def _is_usable(row: Any, config: Body) -> bool:  # noqa: ANN401 (whatever a server sent)
    """Return whether a config of the server is not archived and has the type and scale of ours."""
    # The server may add further fields to a category.
    categories = [
        {name: value_at(category, name) for name in ("label", "value")}
        for category in row.get("categories") or ()
    ]
    scale = {**row, "categories": categories, "description": config["description"]}
    return row.get("isArchived") is False and all(scale.get(name) == config[name] for name in config)


def ensure_configs(client: LangfuseClient) -> dict[str, str]:
    """Return the ids of all our configs by name; create the missing ones. Raises JudgeError."""
    ids = existing_configs(client)
    for name, config in score_configs().items():
        if name not in ids:
            reply = client.post("/score-configs", config)
            config_id = value_at(reply.payload, "id")
            if reply.status not in (200, 201) or not isinstance(config_id, str):
                raise JudgeError("http_%d" % reply.status, "the score config %s could not be created" % name)
            ids[name] = config_id
    return ids


def score_bodies(row: dict[str, Any]) -> list[Body]:
    """Return the scores of a ledger row: one per scored dimension, and the overall score.

    `configId` is added when they are sent. Id and timestamp depend on session, dimension and rubric alone, because the server updates a
    score only if both are the same.
    """
    scores: dict[str, float | None] = {**scores_of(row), OVERALL: row.get(OVERALL)}
    scorer, subject = row.get("scorer", {}), row.get("subject", {})
    is_trace = subject.get("kind") == "trace"  # of a pulled session
    common = {
        "timestamp": row.get("stamp"),
        "traceId" if is_trace else "sessionId": subject.get("id") if is_trace else row["session"],
        "metadata": {
            "scorer": "memory %s" % row.get("version", ""),
            **{name: scorer.get(name) for name in ("by", "model", "rubric")},
            **{name: row.get(name) for name in ("confidence", "turns", "project")},
        },
    }
    bodies: list[Body] = []
    for name, config in score_configs().items():
        score, labels = scores.get(name), dimensions()[name].labels if name != OVERALL else ()
        if score is None or (score > 1 and not labels):
            continue
        key = "memory %s %s %s" % (row["session"], name, scorer.get("rubric", ""))
        value = labels[int(score)] if labels else float(score)
        body = {"id": digest(key.encode("utf-8", "replace")), "name": name, "value": value}
        comment = _comment(row, name)[:_MAX_COMMENT]
        bodies.append({**body, "dataType": config["dataType"], "comment": comment, **common})
    return bodies


def _comment(row: dict[str, Any], name: str) -> str:
    """Return a dimension's rationale and evidence, or the causes of the overall score."""
    if name == OVERALL:
        return "root cause: %s" % (row.get("root_cause") or "not said")
    entry = row["dimensions"][name]
    evidence = [
        "%s: %s" % (" ".join("T%s" % turn for turn in item["turns"]), item["what"])
        for item in entry.get("evidence", ())
    ]
    return "\n".join(filter(None, [entry.get("rationale"), *evidence]))


class Outbox:
    """The file of one server, replaced atomically.

    - `server`: the versions and the form of requests that it supports; `configs`: its score config ids by name.
    - `pending`: score id to the body; `posted`: how often it was posted.
    - `sent`: score id to a fingerprint of the body; `refused`: score id to the reason. A refused score is also in `sent`.
    - `not_before`: seconds since the epoch before which the server must not be asked, 0 for none.
    """

    def __init__(self, paths: Paths, access: ServerAccess) -> None:
        address = access.address
        key = "%s %s %d %s %s" % (address.scheme, address.host, address.port, address.path, access.headers)
        self._path = paths.state("langfuse", digest(key.encode("utf-8", "replace"), 8) + ".json")
        self.reload()

    def reload(self) -> None:
        """Read the file; needed again once the lock is held. If it is damaged, scores are sent again, which does no harm."""
        stored = read_state(self._path, _MAX_BYTES)
        self.server: dict[str, str] = stored.get("server", {})
        self.configs: dict[str, str] = stored.get("configs", {})
        self.pending: dict[str, Body] = stored.get("pending", {})
        self.posted: dict[str, int] = stored.get("posted", {})
        self.sent: dict[str, str] = stored.get("sent", {})
        self.refused: dict[str, str] = stored.get("refused", {})
        self.not_before: float = stored.get("not_before", 0.0)

    def lock(self) -> FileLock:
        """Return the lock against a second sender. Entering it raises Busy."""
        make_folder(os.path.dirname(self._path))
        return FileLock(self._path + ".lock", _LOCK_SECONDS)

    def save(self) -> None:
        """Write the file. Raises OSError."""
        stored = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        write_state(self._path, stored, durable=True)

    def enqueue(self, bodies: Iterable[Body]) -> None:
        """Add the scores that were not sent with this content. Raises OSError."""
        for body in filter(self.lacks, bodies):
            name = str(body["id"])
            self.pending[name] = body
            self.posted.pop(name, None)
            self.refused.pop(name, None)
        self.save()

    def lacks(self, body: Body) -> bool:
        """Return whether a score was neither sent nor queued with this content."""
        name = str(body["id"])
        before = _fingerprint(self.pending[name]) if name in self.pending else self.sent.get(name)
        return _fingerprint(body) != before

    def confirm(self, score_id: str) -> None:
        """Record that the server has a score."""
        self.sent[score_id] = _fingerprint(self.pending.pop(score_id))
        self.posted.pop(score_id, None)

    def refuse(self, score_id: str, reason: str) -> None:
        """Record that the server refuses a score, which is sent again only after it changed."""
        self.confirm(score_id)
        self.refused[score_id] = reason


def _fingerprint(body: Body) -> str:
    return digest(dumps(body).encode("ascii"), 8)


def scores_to_send(paths: Paths, outbox: Outbox) -> int:
    """Return how many scores of the ledger and the outbox the server does not have yet."""
    bodies = (body for row in latest_rows(paths).values() for body in score_bodies(row))
    return len({body["id"] for body in bodies if outbox.lacks(body)} | outbox.pending.keys())


class PushResult(NamedTuple):
    """The numbers of confirmed and pending scores, and the refused ones with the reasons."""

    confirmed: int
    pending: int
    refused: dict[str, str]


def send_scores(
    paths: Paths,
    settings: Settings,
    off: str,
    seconds: float,
    progress: Callable[[str], None],
    pauses: Sequence[float] = _CONFIRM_PAUSES,
) -> PushResult:
    """Send all scores that the server does not have yet.

    Raises JudgeError, OSError, and Busy if another process is sending; unsent scores stay pending. After a rate limit, nothing is sent
    before the time that the server gave.
    """
    access = find_access(paths, settings, off)
    outbox = Outbox(paths, access)
    with outbox.lock():
        outbox.reload()
        rows = latest_rows(paths).values()
        outbox.enqueue(body for row in rows for body in score_bodies(row))
        return push(outbox, LangfuseClient(access, Deadline(seconds)), progress, pauses)


def push(
    outbox: Outbox,
    client: LangfuseClient,
    progress: Callable[[str], None],
    pauses: Sequence[float] = _CONFIRM_PAUSES,
) -> PushResult:
    """Send the pending scores; the caller holds the outbox's lock. Raises JudgeError and OSError."""
    refused_before = set(outbox.refused)
    queued = set(outbox.pending)
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
        if error.name == "http_404":  # the last probe was wrong, such as during an upgrade
            outbox.server.clear()
        outbox.save()
        raise
    if outbox.pending:  # one config may have been archived: look them up again next time
        outbox.configs = {}
    for score_id, number in list(outbox.posted.items()):
        if number >= _MAX_TRIES:
            outbox.refuse(score_id, "accepted %d times and never stored" % number)
    outbox.save()
    refused = {name: why for name, why in outbox.refused.items() if name not in refused_before}
    confirmed = queued - outbox.pending.keys() - outbox.refused.keys()
    return PushResult(len(confirmed), len(outbox.pending), refused)


def _prepare_server(outbox: Outbox, client: LangfuseClient) -> None:
    """Probe the server and ensure its score configs, unless the outbox has both."""
    if not outbox.server:
        outbox.server = probe(client)
        outbox.save()
    if {body["name"] for body in outbox.pending.values()} - outbox.configs.keys():
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
    bodies = [
        {**body, "configId": outbox.configs.get(str(body["name"]))}
        for body in map(outbox.pending.__getitem__, ids)
    ]
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
            outbox.posted[score_id] = outbox.posted.get(score_id, 0) + 1
    elif len(ids) > 1:  # one of them is wrong: find it
        for score_id in ids:
            _post(outbox, client, [score_id])
    else:
        outbox.refuse(ids[0], "http_%d" % reply.status)


def _confirm_posted(outbox: Outbox, client: LangfuseClient, pauses: Sequence[float]) -> None:
    """Read the posted scores back, and confirm those that the server stored."""
    for pause in pauses:
        posted = list(outbox.posted)
        if not posted:
            return
        sleep(pause)
        stored = _read_back(client, outbox.server, posted)
        for score_id in posted:
            if _is_same_value(outbox.pending[score_id]["value"], stored.get(score_id)):
                outbox.confirm(score_id)
        outbox.save()


def _read_back(client: LangfuseClient, server: Mapping[str, str], ids: Sequence[str]) -> dict[str, object]:
    """Return the values of the scores that the server has, by id. Raises JudgeError."""
    is_modern = server.get("scores") == MODERN
    path, parameter = ("/v3/scores", "id") if is_modern else ("/v2/scores", "scoreIds")
    values: dict[str, object] = {}
    for start in range(0, len(ids), _IDS_PER_REQUEST):
        query = {parameter: ",".join(ids[start : start + _IDS_PER_REQUEST]), "limit": 100}
        rows, _ = client.rows(path, query, "scores could not be read back")
        values.update(
            (str(value_at(row, "id")), value_at(row, "stringValue") or value_at(row, "value")) for row in rows
        )
    return values


def _is_same_value(sent: object, stored: object) -> bool:
    if isinstance(sent, float) and isinstance(stored, (int, float)):
        return abs(stored - sent) < 1e-6
    return stored == sent
