"""Scores in Langfuse: their configs, their form, and sending them until the server has each.

A score must fit its config, because the server answers 200 and later drops one that does not. A config is matched by name, type and
scale, and created only if it is missing.

The ledger is the queue: a score in it is pending until it could be read back from the server. If the process is killed in between, it is
sent again with the same id and time, which changes nothing on the server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import sleep
from typing import Any, NamedTuple

from ..kernel.context import now
from ..kernel.fastjson import as_number, digest, dumps, texts_by_name
from ..kernel.files import FileLock, make_folder
from ..kernel.judge.credentials import ServerAccess
from ..kernel.judge.question import JudgeError, value_at
from ..kernel.paths import Paths, read_state, write_state
from .langfuse_client import MODERN, LangfuseClient, probe
from .rows import latest_rows
from .rubric import OVERALL, scales, valid_scores

STORED = "stored"
_MAX_COMMENT = 5000
_NUMERIC_SCALE: dict[str, object] = {"dataType": "NUMERIC", "minValue": 0, "maxValue": 1}
_MAX_BYTES = 64 << 20
_LOCK_SECONDS = 10.0
_PER_REQUEST = 50
_OBJECT, _ARRAY = "object", "array"
_MAPS = ("server", "configs", "scores")
_REFUSALS = ("http_400", "http_413", "http_422")
# Seconds before each check for posted scores, because servers store them a moment after they answer 200.
_CONFIRM_PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0)


Body = Mapping[str, object]  # of a request


def score_configs() -> dict[str, Body]:
    """Return the request bodies that create our configs, by name."""
    configs: dict[str, Body] = {}
    for name, scale in scales().items():
        categories = [{"label": label, "value": value} for value, label in enumerate(scale.labels)]
        form = {"dataType": "CATEGORICAL", "categories": categories} if categories else _NUMERIC_SCALE
        configs[name] = {"name": name, **form, "description": scale.description}
    return configs


def ensure_configs(client: LangfuseClient) -> dict[str, str]:
    """Create the missing ones of our configs, and return the ids of all by name. Raises JudgeError.

    The server allows several configs of one name. The first one that is not archived is used.
    """
    ours = score_configs()
    ids: dict[str, Any] = {}
    for row in client.rows("/score-configs", {"page": 1, "limit": _PER_REQUEST}):
        name = value_at(row, "name")
        if name in ours and _is_usable(row, ours[name]):
            ids.setdefault(name, row["id"])
    for name in [name for name in ours if name not in ids]:
        ids[name] = client.post("/score-configs", ours[name]).get("id")
        if not isinstance(ids[name], str):
            raise JudgeError("wrong_type", "the answer to the score config %s has no id" % name)
    return ids


def _is_usable(row: Any, config: Body) -> bool:  # noqa: ANN401 (whatever a server sent)
    """Return whether a config of the server is not archived and has the type and scale of ours."""
    # The server may add further fields to a category.
    given = row.get("categories") or ()
    categories = [{name: value_at(one, name) for name in ("label", "value")} for one in given]
    scale = {**row, "categories": categories, "description": config["description"]}
    return row.get("isArchived") is False and all(scale.get(name) == config[name] for name in config)


def score_bodies(row: dict[str, Any]) -> list[Body]:
    """Return the scores of a ledger row: one per scored dimension, and the overall score.

    `configId` is added when they are sent. Id and timestamp depend on session, dimension and rubric alone, because the server updates a
    score only if both are the same.
    """
    scorer, subject = row.get("scorer", {}), row.get("subject", {})
    is_trace = subject.get("kind") == "trace"  # of a pulled session
    target = {"traceId": subject.get("id")} if is_trace else {"sessionId": row["session"]}
    metadata = {"project": row.get("project"), "confidence": row.get("confidence"), **scorer}
    common = {"timestamp": row.get("stamp"), **target, "metadata": metadata}
    bodies: list[Body] = []
    scores = valid_scores({**row["dimensions"], OVERALL: row.get(OVERALL)})
    for name, config in score_configs().items():
        if name in scores:
            key = "memory %s %s %s" % (row["session"], name, scorer.get("rubric", ""))
            value = scales()[name].label(scores[name]) or float(scores[name])
            body = {"id": digest(key.encode("utf-8", "replace")), "name": name, "value": value}
            comment = _comment(row, name)[:_MAX_COMMENT]
            bodies.append({**body, "dataType": config["dataType"], "comment": comment, **common})
    return bodies


def _comment(row: dict[str, Any], name: str) -> str:
    """Return a dimension's rationale and evidence, or the causes of the overall score."""
    if name == OVERALL:
        return "root cause: %s" % (row.get("root_cause") or "not said")
    entry = row["dimensions"][name]
    items = ((" ".join("T%s" % at for at in one["turns"]), one["what"]) for one in entry.get("evidence", ()))
    return "\n".join(filter(None, [entry.get("rationale"), *["%s: %s" % item for item in items]]))


def ledger_scores(paths: Paths) -> Iterator[Body]:
    """Yield the scores of each session's latest grade."""
    for row in latest_rows(paths).values():
        yield from score_bodies(row)


class Outbox:
    """What is known about one server, in a file that is replaced atomically.

    - `server`: the versions and the form of requests that it supports; `configs`: its score config ids by name.
    - `scores`: by id, a fingerprint of the score that was sent last, and STORED or the reason of a refusal.
    - `not_before`: seconds since the epoch before which the server must not be asked, 0 for none.
    - `pending`, which is not in the file: the scores by id that are to be sent.
    """

    def __init__(self, paths: Paths, access: ServerAccess) -> None:
        address = access.address
        key = "%s %s %d %s %s" % (address.scheme, address.host, address.port, address.path, access.headers)
        self._path = paths.state("langfuse", digest(key.encode("utf-8", "replace"), 8) + ".json")
        self.pending: dict[str, Body] = {}
        self._read()

    def _read(self) -> None:
        """Read the file. If it is damaged, scores are sent again, which does no harm."""
        stored = read_state(self._path, _MAX_BYTES)
        self.server, self.configs, self.scores = (texts_by_name(stored.get(name)) for name in _MAPS)
        self.not_before = float(as_number(stored.get("not_before")) or 0)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other senders out, and read what they wrote. Raises Busy and OSError."""
        make_folder(os.path.dirname(self._path))
        with FileLock(self._path + ".lock", _LOCK_SECONDS):
            self._read()
            yield

    def save(self) -> None:
        """Write the file. Raises OSError."""
        write_state(self._path, {name: getattr(self, name) for name in (*_MAPS, "not_before")}, durable=True)

    def missing(self, bodies: Iterable[Body]) -> dict[str, Body]:
        """Return the scores, by id, that the server neither has nor refused with this content."""
        sent = {name: text.partition(" ")[0] for name, text in self.scores.items()}
        return {str(body["id"]): body for body in bodies if sent.get(str(body["id"])) != _fingerprint(body)}

    def finish(self, score_id: str, outcome: str = STORED) -> None:
        """Record that the server has a score, or why it refuses it."""
        self.scores[score_id] = "%s %s" % (_fingerprint(self.pending.pop(score_id)), outcome)


def _fingerprint(body: Body) -> str:
    return digest(dumps(body).encode("ascii"), 8)


class PushResult(NamedTuple):
    """The numbers of confirmed and pending scores, and the refused ones with the reasons."""

    confirmed: int
    pending: int
    refused: dict[str, str]


def send_scores(paths: Paths, client: LangfuseClient, progress: Callable[[str], None]) -> PushResult:
    """Send the ledger's scores that the server does not have yet.

    Raises JudgeError, OSError, and Busy if another process is sending; unsent scores stay pending. After a rate limit, nothing is sent
    before the time that the server gave.
    """
    outbox = Outbox(paths, client.access)
    with outbox.locked():
        outbox.pending = outbox.missing(ledger_scores(paths))
        outbox.save()
        queued = list(outbox.pending)
        wait = outbox.not_before - now()
        if wait > 0:
            raise JudgeError("rate_limited", "the server asked to wait %d more seconds" % (wait + 1))
        try:
            _push(outbox, client, progress)
        except JudgeError as error:
            if error.name == "rate_limited" and error.wait:
                outbox.not_before = now() + error.wait
            if error.name == "http_404":  # the last probe was wrong, such as during an upgrade
                outbox.server.clear()
            raise
        finally:
            outbox.save()
    done = [name for name in queued if name not in outbox.pending]
    outcomes = {name: outbox.scores[name].partition(" ")[2] for name in done}
    refused = {name: why for name, why in outcomes.items() if why != STORED}
    return PushResult(len(done) - len(refused), len(outbox.pending), refused)


def _push(outbox: Outbox, client: LangfuseClient, progress: Callable[[str], None]) -> None:
    """Send the pending scores, and read back which of them the server stored. Raises JudgeError and OSError."""
    _prepare_server(outbox, client)
    ids = list(outbox.pending)
    for start in range(0, len(ids), _PER_REQUEST):
        progress("%d of %d scores sent" % (start, len(ids)))
        sent = ids[: start + _PER_REQUEST]
        for score_id in sent[start:]:
            refusal = _post(outbox, client, outbox.pending[score_id])
            if refusal:
                outbox.finish(score_id, refusal)
        _confirm(outbox, client, sent, [0.0])  # a rate limit may end this run
    _confirm(outbox, client, ids, _CONFIRM_PAUSES)
    if outbox.pending:  # one config may have been archived: look them up again next time
        outbox.configs = {}


def _prepare_server(outbox: Outbox, client: LangfuseClient) -> None:
    """Probe the server and ensure its score configs, unless the outbox has both."""
    if not outbox.server:
        outbox.server = probe(client)
        outbox.save()
    if {body["name"] for body in outbox.pending.values()} - outbox.configs.keys():
        outbox.configs = ensure_configs(client)
        outbox.save()


def _post(outbox: Outbox, client: LangfuseClient, body: Body) -> str:
    """Send a score, alone or as a list; return why the server refuses both forms, or "". Raises JudgeError.

    The form that worked last is tried first, but it may come from another server's 200, such as a proxy's.
    """
    score, refusal = {**body, "configId": outbox.configs.get(str(body["name"]))}, ""
    for form in sorted((_OBJECT, _ARRAY), key=lambda form: form != outbox.server.get("form", _OBJECT)):
        try:
            client.post("/scores", [score] if form == _ARRAY else score)
        except JudgeError as error:
            if error.name not in _REFUSALS:
                raise
            refusal = error.name
        else:
            outbox.server["form"] = form
            return ""
    return refusal


def _confirm(outbox: Outbox, client: LangfuseClient, sent: Sequence[str], pauses: Sequence[float]) -> None:
    """Read the scores that were sent back, and finish those that the server stored."""
    for pause in pauses:
        ids = [score_id for score_id in sent if score_id in outbox.pending]
        if not ids:
            return
        sleep(pause)
        stored = _read_back(client, outbox.server, ids)
        for score_id in ids:
            if _is_same_value(outbox.pending[score_id]["value"], stored.get(score_id)):
                outbox.finish(score_id)
        outbox.save()


def _read_back(client: LangfuseClient, server: Mapping[str, str], ids: Sequence[str]) -> dict[str, object]:
    """Return the values of the scores that the server has, by id. Raises JudgeError."""
    is_modern = server.get("scores") == MODERN
    path, parameter = ("/v3/scores", "id") if is_modern else ("/v2/scores", "scoreIds")
    values: dict[str, object] = {}
    for start in range(0, len(ids), _PER_REQUEST):
        query = {parameter: ",".join(ids[start : start + _PER_REQUEST]), "limit": 100}
        for row in client.rows(path, query):
            values[str(value_at(row, "id"))] = value_at(row, "stringValue") or value_at(row, "value")
    return values


def _is_same_value(sent: object, stored: object) -> bool:
    if isinstance(sent, float) and isinstance(stored, (int, float)):
        return abs(stored - sent) < 1e-6
    return stored == sent
