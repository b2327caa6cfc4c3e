"""What is still to be sent, what was, and what is known of the server: one file a server and project, replaced as a whole.

A score waits in the file before it is sent and leaves it only when the server was seen to have it.  Whoever is killed in between sends it
again under the same id and time, which changes nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...kernel.files import Unreadable, make_folder, read_regular, replace_file
from ...kernel.locks import FileLock
from ...kernel.native import digest, dumps, loads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...kernel.judge.access import Access
    from ...kernel.paths import Places

__all__ = ["MOST_TRIES", "Outbox"]

MOST_TRIES = 3
_MAX_BYTES = 64 << 20
_WAIT = 10.0


class Outbox:
    """The file. `waiting` maps a score's id to its body and how often it was posted; `sent` to what was sent; `refused` to the reason."""

    def __init__(self, places: Places, access: Access) -> None:
        address = access.address
        key = "%s %s %d %s %s" % (address.scheme, address.host, address.port, address.path, access.headers)
        self._path = places.state("langfuse", digest(key.encode("utf-8", "replace"), 8) + ".json")
        self.server: dict[str, Any] = {}
        self.configs: dict[str, str] = {}
        self.waiting: dict[str, dict[str, Any]] = {}
        self.sent: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.not_before = 0.0
        self._load()

    def _load(self) -> None:
        """Take what the file holds; a damaged one costs sending again, which does no harm."""
        try:
            found = loads(read_regular(self._path, _MAX_BYTES)[0].decode("ascii"))
        except (FileNotFoundError, Unreadable, ValueError):
            return
        if not isinstance(found, dict):
            return
        for name in ("server", "configs", "sent", "refused"):
            if isinstance(found.get(name), dict):
                setattr(self, name, found[name])
        waiting = found.get("waiting")
        if isinstance(waiting, dict):
            self.waiting = {
                name: entry
                for name, entry in waiting.items()
                if isinstance(entry, dict) and isinstance(entry.get("body"), dict)
            }
        if isinstance(found.get("not_before"), (int, float)):
            self.not_before = float(found["not_before"])

    def lock(self) -> FileLock:
        """The lock that keeps two pushers apart. Entering raises Busy."""
        make_folder(os.path.dirname(self._path))
        return FileLock(self._path + ".lock", _WAIT)

    def reload(self) -> None:
        """Read the file again, once the lock is held."""
        self._load()

    def save(self) -> None:
        """Write the file. Raises OSError."""
        names = ("server", "configs", "waiting", "sent", "refused", "not_before")
        replace_file(self._path, dumps({name: getattr(self, name) for name in names}).encode("ascii"))

    def enqueue(self, bodies: Iterable[dict[str, Any]]) -> int:
        """Put scores that were not sent as they are into the file; how many. Raises OSError."""
        added = 0
        for body in bodies:
            name = body["id"]
            waits = self.waiting.get(name)
            if _fingerprint(body) == (_fingerprint(waits["body"]) if waits else self.sent.get(name)):
                continue
            self.waiting[name] = {"body": body, "posted": 0}
            self.refused.pop(name, None)
            added += 1
        if added:
            self.save()
        return added

    def confirm(self, name: str) -> None:
        """Note that the server has a score."""
        self.sent[name] = _fingerprint(self.waiting.pop(name)["body"])

    def refuse(self, name: str, why: str) -> None:
        """Note that the server will not take a score; it is sent again only when it changes."""
        self.refused[name] = why
        self.sent[name] = _fingerprint(self.waiting.pop(name)["body"])


def _fingerprint(body: dict[str, Any]) -> str:
    return digest(dumps(body).encode("ascii"), 8)
