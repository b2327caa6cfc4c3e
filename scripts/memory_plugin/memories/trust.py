"""Which memories may be put before Claude: those that are the user's own, or that the user accepted.

The record lies outside every repository and outside the disposable index, one file per store, so that neither a clone nor a rebuild can
grant anything.  A memory is known by a digest of what recall would inject (`record.canonical_digest`): reformatting keeps trust, and so
does switching back to content that was trusted before.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..kernel.fastjson import digest, dumps, loads
from ..kernel.files import Unreadable, make_folder, read_regular, replace_file
from . import gitlog
from .record import canonical_digest
from .stores import USER, repository, store_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.paths import Places
    from .files import StoredMemory
    from .stores import Store

__all__ = ["FOREIGN", "PENDING", "TRUSTED", "StoreTrust", "load_trust", "trust_path"]

TRUSTED, PENDING, FOREIGN = "trusted", "pending", "foreign"
BY_CLAUDE, ARRIVED = "saved by Claude unasked", "arrived with a pull, merge or checkout"
_KEPT_DIGESTS = 20
_MAX_BYTES = 64 << 20


def trust_path(places: Places, store: Store) -> str:
    """Return the file that holds the trust in one store."""
    return places.state("trust", store_key(store) + ".json")


def load_trust(places: Places, store: Store) -> StoreTrust:
    """Return what is trusted in a store; nothing when no record exists or it cannot be read."""
    try:
        data = loads(read_regular(trust_path(places, store), _MAX_BYTES)[0].decode("utf-8"))
    except (FileNotFoundError, Unreadable, ValueError):
        data = None
    if not isinstance(data, dict) or data.get("store") != os.path.realpath(store.root):
        data = {}
    return StoreTrust(places, store, data)


class StoreTrust:
    """The trust in one store; `save` writes it when something changed."""

    def __init__(self, places: Places, store: Store, data: dict[str, Any]) -> None:
        self._path = trust_path(places, store)
        self._store = store
        self.mine: bool = store.scope == USER or data.get("mine") is True
        self._trusted: dict[str, list[str]] = _lists(data.get("trusted"))
        self.pending: dict[str, str] = _reasons(data.get("pending"))
        self._notified = str(data.get("notified") or "")
        log = data.get("log")
        known = isinstance(log, list) and len(log) == 2 and isinstance(log[0], int)
        self._mark = gitlog.Mark(log[0], str(log[1])) if known and isinstance(log, list) else None
        self.doubted = data.get("doubted") is True
        self.settled = True
        self._before = dumps(self._data())

    def _data(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "store": os.path.realpath(self._store.root),
            "mine": self.mine,
            "trusted": self._trusted,
            "pending": self.pending,
            "notified": self._notified,
            "log": list(self._mark) if self._mark else None,
            "doubted": self.doubted,
        }

    def save(self) -> None:
        """Write the record when it changed. Raises OSError."""
        text = dumps(self._data())
        if text != self._before:
            make_folder(os.path.dirname(self._path))
            replace_file(self._path, text.encode("ascii"))
            self._before = text

    def is_known(self, stored: StoredMemory) -> bool:
        """Return whether this very content was trusted once, or is waiting."""
        name = _name(stored)
        return name in self.pending or canonical_digest(stored.memory) in self._trusted.get(name, ())

    def knows_name(self, category: str, identity: str) -> bool:
        """Return whether some content of a memory of this name was trusted once."""
        return "%s/%s" % (category, identity) in self._trusted

    def is_trusted(self, stored: StoredMemory) -> bool:
        """Return whether this very content is trusted."""
        return canonical_digest(stored.memory) in self._trusted.get(_name(stored), ())

    def trust(self, stored: StoredMemory) -> None:
        """Trust this content of a memory, as the user asked."""
        name, mark = _name(stored), canonical_digest(stored.memory)
        kept = [old for old in self._trusted.get(name, []) if old != mark]
        self._trusted[name] = [*kept, mark][-_KEPT_DIGESTS:]
        self.pending.pop(name, None)

    def hold(self, stored: StoredMemory, reason: str) -> None:
        """Make a memory wait for the user's approval."""
        self.pending[_name(stored)] = reason

    def reason(self, stored: StoredMemory) -> str:
        """Why a memory waits; empty when nothing holds it."""
        return self.pending.get(_name(stored), "")

    def forget(self, stored: StoredMemory) -> None:
        """Drop all that is known of a memory that is gone for good."""
        self._trusted.pop(_name(stored), None)
        self.pending.pop(_name(stored), None)

    def own(self) -> None:
        """Take the store as the user's: from now on edits by hand are theirs, and what git brings waits."""
        self.mine = True
        self.doubted = False
        folder = repository(self._store)
        if self._mark is None and folder:
            self._mark = gitlog.mark(folder)

    def doubt(self) -> None:
        """Take every change from now on for one that git brought, until the user's next word: git may have been told what to log."""
        self.doubted = self.mine and self._store.worktree is not None

    def review(
        self,
        found: Iterable[StoredMemory],
        accept_pulls: bool = False,
        log: gitlog.Mark | None = None,
        complete: bool = True,
    ) -> dict[str, str]:
        """Return the standing of each memory found, by its key, after taking note of edits by hand and of what git brought.

        `log` is the end of git's log before the files were read: what git brings while they are being read is brought since then.
        Edits that git may still be making are answered as pending without being noted; while it is at it, `settled` is False and one
        more look is due. Not `complete` says that other changed files are still to be reviewed: git's log is then read again for them,
        or what a pull brought with them would pass for an edit by hand.
        """
        folder = repository(self._store)
        logged = bool(folder and self._mark and gitlog.moved_since(folder, self._mark))
        moved = (logged or self.doubted) and not accept_pulls
        self.settled = not folder or gitlog.is_settled(folder)
        standings = {
            stored.key: self._standing(stored, moved, self.settled or accept_pulls) for stored in found
        }
        if complete and self.mine and folder and self.settled:
            self._mark = log or gitlog.mark(folder)
        return standings

    def _standing(self, stored: StoredMemory, moved: bool, settled: bool) -> str:
        name = _name(stored)
        if canonical_digest(stored.memory) in self._trusted.get(name, ()):
            return TRUSTED
        if name in self.pending:
            return PENDING
        if not self.mine:
            return FOREIGN
        if moved:
            self.pending[name] = ARRIVED
            return PENDING
        if not settled:
            return PENDING
        self.trust(stored)
        return TRUSTED

    def notice_due(self, waiting: Iterable[str]) -> bool:
        """Return whether the user was not yet told of exactly this set of waiting memories; asking counts as telling."""
        mark = digest("\n".join(sorted(waiting)).encode("utf-8", "replace"))
        due = mark != self._notified
        self._notified = mark
        return due


def _name(stored: StoredMemory) -> str:
    return "%s/%s" % (stored.memory.category, stored.memory.id)


def _lists(value: object) -> dict[str, list[str]]:
    if not isinstance(value, dict):
        return {}
    return {
        k: [m for m in v if isinstance(m, str)]
        for k, v in value.items()
        if isinstance(k, str) and isinstance(v, list)
    }


def _reasons(value: object) -> dict[str, str]:
    return (
        {k: v for k, v in value.items() if isinstance(k, str) and isinstance(v, str)}
        if isinstance(value, dict)
        else {}
    )
