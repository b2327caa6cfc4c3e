"""Keep the outbox of a server: scores to send, scores sent, and the server's properties. One file per server, replaced atomically.

A score is written to the file before it is sent, and removed only after the server confirmed it. If the process is killed in between, the
score is sent again under the same id and time, which changes nothing.
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

__all__ = ["MAX_TRIES", "Outbox", "OutboxOverview", "outbox_overview"]

MAX_TRIES = 3
_MAX_BYTES = 64 << 20
_LOCK_SECONDS = 10.0


class Outbox:
    """The file of one server.

    `waiting` maps a score's id to its body and how often it was posted, `sent` maps it to a fingerprint of the sent body, and `refused` to
    the reason.
    """

    def __init__(self, paths: Paths, access: ServerAccess) -> None:
        address = access.address
        key = "%s %s %d %s %s" % (address.scheme, address.host, address.port, address.path, access.headers)
        self._path = paths.state("langfuse", digest(key.encode("utf-8", "replace"), 8) + ".json")
        self.server: dict[str, Any] = {}
        self.configs: dict[str, str] = {}
        self.waiting: dict[str, dict[str, Any]] = {}
        self.sent: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.not_before = 0.0
        self.reload()

    def reload(self) -> None:
        """Read the file (again, once the lock is held). With a damaged file, all scores are sent again, which does no harm."""
        state = read_state(self._path, _MAX_BYTES)
        for name in ("server", "configs", "sent", "refused"):
            if isinstance(state.get(name), dict):
                setattr(self, name, state[name])
        waiting = state.get("waiting")
        if isinstance(waiting, dict):
            self.waiting = {
                name: entry
                for name, entry in waiting.items()
                if isinstance(entry, dict) and isinstance(entry.get("body"), dict)
            }
        if isinstance(state.get("not_before"), (int, float)):
            self.not_before = float(state["not_before"])

    def lock(self) -> FileLock:
        """Return the lock against a second sender. Entering it raises Busy."""
        make_folder(os.path.dirname(self._path))
        return FileLock(self._path + ".lock", _LOCK_SECONDS)

    def save(self) -> None:
        """Write the file. Raises OSError."""
        names = ("server", "configs", "waiting", "sent", "refused", "not_before")
        write_state(self._path, {name: getattr(self, name) for name in names}, durable=True)

    def enqueue(self, bodies: Iterable[dict[str, Any]]) -> int:
        """Add the scores that are new or changed; return how many. Raises OSError."""
        added = 0
        for body in bodies:
            name = body["id"]
            queued = self.waiting.get(name)
            latest = _fingerprint(queued["body"]) if queued else self.sent.get(name)
            if _fingerprint(body) == latest:
                continue
            self.waiting[name] = {"body": body, "posted": 0}
            self.refused.pop(name, None)
            added += 1
        if added:
            self.save()
        return added

    def confirm(self, name: str) -> None:
        """Record that the server has a score."""
        self.sent[name] = _fingerprint(self.waiting.pop(name)["body"])

    def refuse(self, name: str, why: str) -> None:
        """Record that the server rejects a score; it is sent again only if it changes."""
        self.refused[name] = why
        self.sent[name] = _fingerprint(self.waiting.pop(name)["body"])


def _fingerprint(body: dict[str, Any]) -> str:
    return digest(dumps(body).encode("ascii"), 8)


class OutboxOverview(NamedTuple):
    """Scores of this project: `unqueued` are only in the ledger, `waiting` are in the outbox, `sent` were seen on the server.

    `refused` maps a score's id to the reason. `not_before` is the time before which the server must not be asked, or 0.
    """

    host: str
    unqueued: int
    waiting: int
    sent: int
    refused: dict[str, str]
    not_before: float


def outbox_overview(paths: Paths, settings: Settings, access: ServerAccess) -> OutboxOverview:
    """Return the state of the scores according to this machine's files; the server is not asked."""
    outbox = Outbox(paths, access)
    unqueued = sum(
        body["id"] not in outbox.sent and body["id"] not in outbox.waiting
        for row in latest_rows(paths, settings).values()
        for body in score_bodies(row)
    )
    return OutboxOverview(
        access.address.authority,
        unqueued,
        len(outbox.waiting),
        len(outbox.sent) - len(outbox.refused),
        outbox.refused,
        outbox.not_before,
    )
