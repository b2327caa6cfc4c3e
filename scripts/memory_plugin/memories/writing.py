"""Writing memories: under one lock per store, whole files only, secrets kept out, and the readable index kept in step."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ..kernel.files import make_folder, replace_file
from ..kernel.locks import FileLock
from . import catalog
from .files import StoredMemory, read_memory, why_left_alone
from .hygiene import clean_data
from .record import InvalidMemory, categories, slug
from .stores import USER, store_key

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from .hygiene import Redacted
    from .stores import Store

__all__ = ["LOCK_WAIT", "Written", "add", "change", "remove", "store_lock"]

LOCK_WAIT = 5.0
_MAX_SAME_TITLE = 1000


class Written(NamedTuple):
    """A memory as it was stored, and what was taken out of it on the way."""

    stored: StoredMemory
    redacted: list[Redacted]
    created: bool


def store_lock(places: Places, store: Store) -> FileLock:
    """The lock of a store; it lies in our state folder, so that a repository gets no lock files."""
    folder = places.state("locks")
    make_folder(folder)
    return FileLock(os.path.join(folder, store_key(store) + ".lock"), LOCK_WAIT)


def add(places: Places, store: Store, data: dict[str, Any]) -> Written:
    """Store a new memory under an id made from its title; the same title and content again give back what is there.

    Raises InvalidMemory, OSError, and Busy when another process held the store for five seconds.
    """
    _refuse_foreign(store)
    data, redacted = clean_data(data)
    category = categories()[data["category"]]
    base = data.get("id") or slug(data["title"])
    with store_lock(places, store):
        _begin(store)
        for number in range(1, _MAX_SAME_TITLE):
            identity = base if number == 1 else "%s-%d" % (base[:74], number)
            path = store.path(category.name, identity)
            if not os.path.lexists(path):
                data["id"] = identity
                stored = _write(store, category.name, path, data)
                return Written(stored, redacted, True)
            same = _same(store, category.name, path, data)
            if same is not None:
                return Written(same, redacted, False)
    raise InvalidMemory("title: %d memories have this title already" % _MAX_SAME_TITLE)


def _same(store: Store, category: str, path: str, data: dict[str, Any]) -> StoredMemory | None:
    try:
        there = read_memory(store, categories()[category], path)
    except (InvalidMemory, OSError):
        return None
    same = all(there.memory.data.get(name) == data.get(name) for name in ("title", "content", "record_status"))
    return there if same else None


def change(places: Places, stored: StoredMemory, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> Written:
    """Rewrite a memory's file with what `edit` makes of its present content, read again under the lock, so that no other change is lost."""
    store = stored.store
    _refuse_foreign(store)
    with store_lock(places, store):
        fresh = read_memory(store, categories()[stored.memory.category], stored.path)
        data, redacted = clean_data(edit(fresh.memory.data))
        return Written(_write(store, stored.memory.category, stored.path, data), redacted, False)


def remove(places: Places, stored: StoredMemory) -> list[str]:
    """Delete a memory's file for good; the paths that are gone come back."""
    _refuse_foreign(stored.store)
    with store_lock(places, stored.store):
        os.unlink(stored.path)
        catalog.forget(stored.store, stored.path)
    return [stored.path]


def _refuse_foreign(store: Store) -> None:
    reason = why_left_alone(store)
    if reason:
        raise InvalidMemory(reason)


def _begin(store: Store) -> None:
    if not os.path.isdir(store.root):
        make_folder(store.root, 0o700 if store.scope == USER else 0o777)
    ignore = os.path.join(store.root, ".gitignore")
    if store.worktree is not None and not os.path.lexists(ignore):
        replace_file(ignore, b"index.md\n", 0o666)


def _write(store: Store, category: str, path: str, data: dict[str, Any]) -> StoredMemory:
    private = store.scope == USER
    folder = os.path.dirname(path)
    if os.path.islink(folder):
        raise InvalidMemory("%s is a symbolic link; a store's folders are never linked" % folder)
    make_folder(folder, 0o700 if private else 0o777)
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    replace_file(path, text.encode("utf-8", "replace"), 0o600 if private else 0o666)
    stored = read_memory(store, categories()[category], path)
    catalog.note(store, stored)
    return stored
