"""The life of a memory: saved, accepted, edited, retired, restored, archived, and gone; each step with the trust it implies."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.clock import now_iso
from . import writing
from .files import StoredMemory, all_memories
from .record import ACTIVE, ARCHIVED, RETIRED, InvalidMemory, with_change
from .trust import BY_CLAUDE, load_trust

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.paths import Places
    from .stores import Store
    from .writing import Written

__all__ = ["Removal", "accept", "archive", "edit", "forget", "remove_expired_retired", "restore", "save"]


class Removal(NamedTuple):
    """What a `forget` did: the files deleted now, and when the file of a retired memory goes (an empty text when it is gone)."""

    id: str
    deleted: list[str]
    goes_at: str


def save(places: Places, store: Store, data: dict[str, Any], word: bool) -> Written:
    """Store a memory. With the user's `word` it is trusted at once and may begin a store of theirs; without, it waits to be accepted."""
    begins = not any(True for _ in all_memories(store))
    written = writing.add(places, store, data)
    _settle(places, store, written, word, begins)
    return written


def edit(places: Places, stored: StoredMemory, fields: dict[str, Any], summary: str, word: bool) -> Written:
    """Change some fields of a memory; without the user's `word` the changed memory waits to be accepted."""
    written = writing.change(places, stored, lambda data: with_change(data, summary, fields))
    _settle(places, stored.store, written, word, begins=False)
    return written


def _settle(places: Places, store: Store, written: Written, word: bool, begins: bool) -> None:
    with writing.store_lock(places, store):
        trust = load_trust(places, store)
        if word:
            if begins or all(trust.is_known(other) or other.key == written.stored.key for other in all_memories(store)):
                trust.own()
            trust.trust(written.stored)
        elif written.created or not trust.is_known(written.stored):
            trust.hold(written.stored, BY_CLAUDE)
        trust.save()


def accept(places: Places, store: Store, memories: Iterable[StoredMemory], whole_store: bool) -> list[str]:
    """Trust memories on the user's word, the whole store when so said; their keys come back."""
    with writing.store_lock(places, store):
        trust = load_trust(places, store)
        accepted = []
        for stored in memories:
            trust.trust(stored)
            accepted.append(stored.key)
        if whole_store:
            trust.own()
        trust.save()
    return accepted


def forget(places: Places, stored: StoredMemory, reason: str, at_once: bool, grace_days: int) -> Removal:
    """Retire a memory, or delete its file at once. A retired file goes after the grace period."""
    if at_once:
        deleted = writing.remove(places, stored)
        with writing.store_lock(places, stored.store):
            trust = load_trust(places, stored.store)
            trust.forget(stored)
            trust.save()
        return Removal(stored.memory.id, deleted, "")
    fields = {"record_status": RETIRED, "retired_at": now_iso(), "retired_reason": reason or "forgotten by the user"}
    _move(places, stored, fields, "retired")
    return Removal(stored.memory.id, [], _after(str(fields["retired_at"]), grace_days))


def archive(places: Places, stored: StoredMemory, reason: str) -> Written:
    """Keep a memory for ever without recalling it."""
    return _move(places, stored, {"record_status": ARCHIVED, "archived_at": now_iso(), "archived_reason": reason}, "archived")


def restore(places: Places, stored: StoredMemory, word: bool) -> Written:
    """Make a retired or archived memory active again. Raises InvalidMemory when it is active."""
    if stored.memory.status == ACTIVE:
        raise InvalidMemory("%s is active already" % stored.memory.id)
    dropped = {"retired_at": None, "retired_reason": None, "archived_at": None, "archived_reason": None}
    fields = {name: value for name, value in dropped.items() if name in stored.memory.data}
    return edit(places, stored, {"record_status": ACTIVE, **fields}, "restored", word)


def _move(places: Places, stored: StoredMemory, fields: dict[str, Any], summary: str) -> Written:
    return writing.change(places, stored, lambda data: with_change(data, summary, fields))


def _after(moment: str, days: int) -> str:
    try:
        begun = datetime.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    except ValueError:
        return ""
    return (begun + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def remove_expired_retired(places: Places, store: Store, grace_days: int) -> list[str]:
    """Delete the files of memories that were retired longer ago than the grace period, in a store of the user's; the paths come back."""
    if not load_trust(places, store).mine:
        return []
    gone = []
    for stored in list(all_memories(store)):
        goes_at = _after(str(stored.memory.data.get("retired_at") or ""), grace_days)
        if stored.memory.status == RETIRED and goes_at and goes_at <= now_iso() and os.path.isfile(stored.path):
            gone += writing.remove(places, stored)
    return gone
