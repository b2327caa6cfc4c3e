"""The outbox of a server: pending scores, sent scores, and what the server supports. One file per server, replaced atomically.

A score is written to the file before it is sent, and removed only after the server confirmed it. If the process is killed in between, the
score is sent again with the same id and time, which changes nothing on the server.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from ...kernel.fastjson import digest, dumps
from ...kernel.files import make_folder
from ...kernel.locks import FileLock
from ...kernel.state_file import read_state, write_state
from ..score_rows import latest_rows
from .score_payloads import score_bodies

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...kernel.judge.credentials import ServerAccess
    from ...kernel.paths import Paths
    from ...kernel.settings.load import Settings

MAX_TRIES = 3
_MAX_BYTES = 64 << 20
_LOCK_SECONDS = 10.0


class Outbox:
    """The file of one server.

    - `server`: the versions and the form of requests that it supports; `configs`: its score config ids by name.
    - `pending` (`waiting` in the file): score id to the body and how often it was posted.
    - `sent`: score id to a fingerprint of the body; `refused`: score id to the reason. A refused score is also in `sent`.
    - `not_before`: seconds since the epoch before which the server must not be asked, 0 for none.
    """

    def __init__(self, paths: Paths, access: ServerAccess) -> None:
        address = access.address
        key = "%s %s %d %s %s" % (address.scheme, address.host, address.port, address.path, access.headers)
        self._path = paths.state("langfuse", digest(key.encode("utf-8", "replace"), 8) + ".json")
        self.server: dict[str, Any] = {}
        self.configs: dict[str, str] = {}
        self.pending: dict[str, dict[str, Any]] = {}
        self.sent: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.not_before = 0.0
        self.reload()

    def reload(self) -> None:
        """Read the file; needed again once the lock is held. If it is damaged, scores are sent again, which does no harm."""
        stored = read_state(self._path, _MAX_BYTES)
        for name in ("server", "configs", "sent", "refused"):
            if isinstance(stored.get(name), dict):
                setattr(self, name, stored[name])
        pending = stored.get("waiting")
        if isinstance(pending, dict):
            self.pending = {
                score_id: entry
                for score_id, entry in pending.items()
                if isinstance(entry, dict) and isinstance(entry.get("body"), dict)
            }
        if isinstance(stored.get("not_before"), (int, float)):
            self.not_before = float(stored["not_before"])

    def lock(self) -> FileLock:
        """Return the lock against a second sender. Entering it raises Busy."""
        make_folder(os.path.dirname(self._path))
        return FileLock(self._path + ".lock", _LOCK_SECONDS)

    def save(self) -> None:
        """Write the file. Raises OSError."""
        stored = {
            "server": self.server,
            "configs": self.configs,
            "waiting": self.pending,
            "sent": self.sent,
            "refused": self.refused,
            "not_before": self.not_before,
        }
        write_state(self._path, stored, durable=True)

    def enqueue(self, bodies: Iterable[dict[str, Any]]) -> int:
        """Add the scores that were not sent with this content; return how many. Raises OSError."""
        added = 0
        for body in bodies:
            score_id = body["id"]
            entry = self.pending.get(score_id)
            queued = _fingerprint(entry["body"]) if entry else self.sent.get(score_id)
            if _fingerprint(body) == queued:
                continue
            self.pending[score_id] = {"body": body, "posted": 0}
            self.refused.pop(score_id, None)
            added += 1
        if added:
            self.save()
        return added

    def confirm(self, score_id: str) -> None:
        """Record that the server has a score."""
        self.sent[score_id] = _fingerprint(self.pending.pop(score_id)["body"])

    def refuse(self, score_id: str, reason: str) -> None:
        """Record that the server refuses a score, which is sent again only after it changed."""
        self.refused[score_id] = reason
        self.sent[score_id] = _fingerprint(self.pending.pop(score_id)["body"])


def _fingerprint(body: dict[str, Any]) -> str:
    return digest(dumps(body).encode("ascii"), 8)


class OutboxOverview(NamedTuple):
    """Numbers of scores: `unqueued` are only in this project's ledger, `pending` in the outbox, `sent` were seen on the server.

    `refused` maps score ids to the reason. `not_before` is the time before which the server must not be asked, 0 for none.
    """

    host: str
    unqueued: int
    pending: int
    sent: int
    refused: dict[str, str]
    not_before: float


def outbox_overview(paths: Paths, settings: Settings, access: ServerAccess) -> OutboxOverview:
    """Return what was sent and what was not, without asking the server."""
    outbox = Outbox(paths, access)
    unqueued = sum(
        body["id"] not in outbox.sent and body["id"] not in outbox.pending
        for row in latest_rows(paths, settings).values()
        for body in score_bodies(row)
    )
    return OutboxOverview(
        access.address.authority,
        unqueued,
        len(outbox.pending),
        len(outbox.sent) - len(outbox.refused),
        outbox.refused,
        outbox.not_before,
    )
