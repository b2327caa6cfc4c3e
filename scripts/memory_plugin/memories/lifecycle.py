"""The life of a memory: saved, accepted, edited, retired, restored, archived, and gone; each step with the trust it implies."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ..kernel.clock import now_iso
from . import catalog, writing
from .files import StoredMemory, all_memories
from .hygiene import clean_text
from .record import ACTIVE, ARCHIVED, MAX_SUPERSEDES, RETIRED, InvalidMemory, with_change
from .supersession import name_for, older_names
from .trust import BY_CLAUDE, TRUSTED, load_trust

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.paths import Places
    from .stores import Store
    from .survey import Item
    from .trust import StoreTrust
    from .writing import Written

__all__ = [
    "Removal",
    "accept",
    "archive",
    "edit",
    "forget",
    "redact",
    "remove_expired_retired",
    "restore",
    "rewrite",
    "save",
    "save_all",
    "supersede",
    "unsupersede",
]


class Removal(NamedTuple):
    """What a `forget` did: the files deleted now, and when the file of a retired memory goes (an empty text when it is gone)."""

    id: str
    deleted: list[str]
    goes_at: str


def save(places: Places, store: Store, data: dict[str, Any], word: bool) -> Written:
    """Store a memory. With the user's `word` it is trusted at once and may begin a store of theirs; without, it waits to be accepted."""
    begins = _is_empty(store)
    written = writing.add(places, store, data)
    _settle(places, store, [written], word, begins)
    return written


def save_all(
    places: Places, store: Store, many: Iterable[dict[str, Any]], word: bool
) -> list[Written | InvalidMemory]:
    """Store many memories as `save` does; for each what was written, or why not. Raises OSError and Busy, with the earlier ones stored."""
    begins = _is_empty(store)
    results: list[Written | InvalidMemory] = []
    try:
        results.extend(_added(places, store, data) for data in many)
    finally:
        _settle(
            places,
            store,
            [result for result in results if not isinstance(result, InvalidMemory)],
            word,
            begins,
        )
        catalog.rebuild(store)
    return results


def _is_empty(store: Store) -> bool:
    return not any(True for _ in all_memories(store))


def _added(places: Places, store: Store, data: dict[str, Any]) -> Written | InvalidMemory:
    try:
        return writing.add(places, store, data, listed=False)
    except InvalidMemory as error:
        return error


def edit(
    places: Places,
    stored: StoredMemory,
    fields: Callable[[dict[str, Any]], dict[str, Any]],
    summary: str,
    word: bool,
) -> Written:
    """Change some fields of a memory, made by `fields` from its present data; without the user's `word` the changed memory waits."""
    written = writing.change(places, stored, lambda data: with_change(data, summary, fields(data)))
    _settle(places, stored.store, [written], word, begins=False)
    return written


def supersede(places: Places, old: Item, new: Item) -> StoredMemory:
    """Let one memory replace another, as the user asked; return the older one as it is then.

    Both ends say so, the newer one first: wherever this is interrupted, the older one is superseded or all is as before. An end that is
    not trusted is not written, since its whole text would become trusted with it; nor is the older one of another store, where other
    projects do not have the newer one.
    """
    names = older_names(old.stored.key, old.stored.memory.supersedes, new.stored.key)
    if new.trust == TRUSTED and set(names).difference(new.stored.memory.supersedes):
        summary = "supersedes " + old.stored.memory.id
        edit(places, new.stored, partial(_with_older, names), summary, word=True)
    if old.trust != TRUSTED or old.stored.store != new.stored.store:
        return old.stored
    mark = {"superseded_by": name_for(new.stored.key, old.stored.key)}
    summary = "superseded by " + new.stored.memory.id
    return edit(places, old.stored, lambda _: mark, summary, word=True).stored


def _with_older(names: list[str], data: dict[str, Any]) -> dict[str, Any]:
    there = data.get("supersedes")
    kept = [name for name in there if isinstance(name, str)] if isinstance(there, list) else []
    return {"supersedes": list(dict.fromkeys([*kept, *names]))[:MAX_SUPERSEDES]}


def unsupersede(places: Places, old: StoredMemory, newer: Iterable[Item], word: bool) -> StoredMemory:
    """Undo `supersede`: let a memory speak for itself again; return it as it is then.

    `newer` are the memories that name it in `supersedes`. Those that are not trusted stay as they are, and so do all without the user's
    word, since a change would make them pending.
    """
    for one in newer:
        if word and one.trust == TRUSTED:
            summary = "does not supersede %s any more" % old.memory.id
            edit(places, one.stored, partial(_without, old), summary, word)
    if not old.memory.superseded_by:
        return old
    return edit(places, old, lambda _: {"superseded_by": None}, "not superseded any more", word).stored


def _without(old: StoredMemory, data: dict[str, Any]) -> dict[str, Any]:
    there = data.get("supersedes")
    names = (old.memory.id, "%s/%s" % (old.memory.category, old.memory.id), old.key)
    kept = [name for name in there if name not in names] if isinstance(there, list) else []
    return {"supersedes": kept}


def rewrite(places: Places, stored: StoredMemory, data: dict[str, Any], summary: str, word: bool) -> Written:
    """Replace all fields of a memory by what the user made of them. Raises InvalidMemory when somebody else changed it in the meantime."""

    def replaced(present: dict[str, Any]) -> dict[str, Any]:
        if present != stored.memory.data:
            raise InvalidMemory(
                "%s was changed by somebody else in the meantime; nothing was changed" % stored.memory.id
            )
        return with_change(data, summary, {})

    written = writing.change(places, stored, replaced)
    _settle(places, stored.store, [written], word, begins=False)
    return written


def redact(places: Places, stored: StoredMemory) -> Written:
    """Take secrets and hidden characters out of a memory's file; its standing stays what it is, if it is what was looked at."""
    seen: list[bool] = []

    def cleaned(present: dict[str, Any]) -> dict[str, Any]:
        seen.append(present == stored.memory.data)
        return with_change(present, "secrets taken out", {})

    written = writing.change(places, stored, cleaned)
    with writing.store_lock(places, stored.store):
        trust = load_trust(places, stored.store)
        if all(seen) and trust.is_trusted(stored):
            trust.trust(written.stored)
            trust.save()
    return written


def _settle(places: Places, store: Store, many: list[Written], word: bool, begins: bool) -> None:
    with writing.store_lock(places, store):
        trust = load_trust(places, store)
        if (
            word
            and not trust.mine
            and (begins or _all_known(trust, store, {written.stored.key for written in many}))
        ):
            trust.own()
        for written in many:
            if word:
                trust.trust(written.stored)
            elif written.created or not trust.is_known(written.stored):
                trust.hold(written.stored, BY_CLAUDE)
        trust.save()


def _all_known(trust: StoreTrust, store: Store, new: set[str]) -> bool:
    """Return whether every memory of a store is the user's, accepted, or waiting already: none came unseen with a repository."""
    return all(stored.key in new or trust.is_known(stored) for stored in all_memories(store))


def accept(places: Places, store: Store, memories: Iterable[StoredMemory], whole_store: bool) -> list[str]:
    """Trust memories as the user asked, the whole store when told so; return their keys."""
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
        _distrust(places, stored)
        return Removal(stored.memory.id, deleted, "")
    said = clean_text(reason, "retired_reason", [])
    fields = {
        "record_status": RETIRED,
        "retired_at": now_iso(),
        "retired_reason": said or "forgotten by the user",
    }
    _move(places, stored, fields, "retired")
    _distrust(places, stored)
    return Removal(stored.memory.id, [], _after(str(fields["retired_at"]), grace_days))


def _distrust(places: Places, stored: StoredMemory) -> None:
    """Drop what is known of a forgotten memory, so that only the user can bring it back."""
    with writing.store_lock(places, stored.store):
        trust = load_trust(places, stored.store)
        trust.forget(stored)
        trust.save()


def archive(places: Places, stored: StoredMemory, reason: str) -> Written:
    """Keep a memory for ever without recalling it."""
    said = clean_text(reason, "archived_reason", [])
    return _move(
        places,
        stored,
        {"record_status": ARCHIVED, "archived_at": now_iso(), "archived_reason": said},
        "archived",
    )


def restore(places: Places, stored: StoredMemory, word: bool) -> Written:
    """Make a retired or archived memory active again. Raises InvalidMemory when it is active."""
    if stored.memory.status == ACTIVE:
        raise InvalidMemory("%s is active already" % stored.memory.id)
    dropped = {"retired_at": None, "retired_reason": None, "archived_at": None, "archived_reason": None}
    fields = {name: value for name, value in dropped.items() if name in stored.memory.data}
    return edit(places, stored, lambda _: {"record_status": ACTIVE, **fields}, "restored", word)


def _move(places: Places, stored: StoredMemory, fields: dict[str, Any], summary: str) -> Written:
    return writing.change(places, stored, lambda data: with_change(data, summary, fields), cleaned=False)


def _after(moment: str, days: int) -> str:
    try:
        begun = datetime.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        return (begun + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):  # a file may name any year
        return ""


def remove_expired_retired(places: Places, store: Store, grace_days: int) -> list[str]:
    """Delete the files of memories that were retired longer ago than the grace period, in a store of the user's; the paths come back.

    What killed writers left behind goes too.
    """
    if not load_trust(places, store).mine:
        return []
    gone = writing.sweep(places, store)
    for stored in list(all_memories(store)):
        goes_at = _after(str(stored.memory.data.get("retired_at") or ""), grace_days)
        if (
            stored.memory.status == RETIRED
            and goes_at
            and goes_at <= now_iso()
            and os.path.isfile(stored.path)
        ):
            gone += writing.remove(places, stored)
            _distrust(places, stored)
    return gone
