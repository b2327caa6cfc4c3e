"""Write memories: under one lock per store, atomically, and without secrets; and the readable list of a store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import Callable, NamedTuple

from ..kernel.files import is_draft, make_folder, read_regular, replace_file
from ..kernel.paths import Paths
from . import InvalidMemory
from .hygiene import Redacted, clean_data, shown_items, shown_line
from .memory_files import (
    MAX_BYTES,
    USER,
    Store,
    StoredMemory,
    category_folders,
    read_memory,
    refuse_many_values,
    store_key,
    why_not_read,
)
from .memory_text import text_digests
from .record import ACTIVE, LISTS, MAX_TITLE, categories, is_id, parse_memory, require_lists, slug

Data = dict[str, object]  # of a memory, as its file has it
Edit = Callable[[Data], Data]

_MAX_SAME_TITLE = 1000
_HEADER = "# Memory Index\n"
_MAX_INDEX_MD = 32 << 20
_ARROW = " -> "


class Written(NamedTuple):
    """A memory as it was stored, and what was removed from it.

    `created` is False if a memory with the same title and content existed; `is_exact` then says whether the rest of its text is the
    same, too.
    """

    stored: StoredMemory
    redacted: list[Redacted]
    created: bool
    is_exact: bool = True


Settle = Callable[[StoredMemory, Written], None]


def add(paths: Paths, store: Store, data: Data) -> Written:
    """Store a new memory under its id, or one made from its title; if the same title and content exist, return that memory.

    Raises InvalidMemory, OSError, and Busy when another process held the store for five seconds.
    """
    _require_readable(store)
    data, redacted = clean_data(data)
    category = categories()[str(data["category"])]
    requested_id = data.get("id")
    base = str(requested_id) if is_id(requested_id) else slug(str(data["title"]))
    with paths.lock(store_key(store)):
        _prepare_store(store)
        numbered = ("%s-%d" % (base[:74], number) for number in range(2, _MAX_SAME_TITLE))
        for identity in chain([base], numbered):
            path = store.path(category.name, identity)
            if not os.path.lexists(path):
                data["id"] = identity
                return Written(_write(store, category.name, path, data), redacted, True)
            existing = _same_memory(store, category.name, path, data)
            if existing is not None:
                return Written(existing, redacted, False, _is_exact(existing, data))
    raise InvalidMemory("title: %d memories have this title already" % _MAX_SAME_TITLE)


def _same_memory(store: Store, category: str, path: str, data: Data) -> StoredMemory | None:
    """Return the memory in a file if its title, content and status are those of `data`."""
    try:
        existing = read_memory(store, categories()[category], path)
    except (InvalidMemory, OSError):
        return None
    names = ("title", "content", "record_status")
    return existing if all(existing.memory.data.get(name) == data.get(name) for name in names) else None


def _is_exact(existing: StoredMemory, data: Data) -> bool:
    """Return whether a stored memory has exactly the text of `data`, including tags, phrases, files and guard."""
    memory = parse_memory(data, existing.memory.id, categories()[existing.memory.category])
    return text_digests(memory) == text_digests(existing.memory)


def change(
    paths: Paths, stored: StoredMemory, edit: Edit, cleaned: bool = True, settle: Settle | None = None
) -> Written:
    """Rewrite a memory's file with the result of `edit`, whose input is read under the lock, so no other change is lost.

    `cleaned` False leaves all other fields as they are: retiring a memory must work whatever the file contains. `settle` is called under
    the lock, too, with the memory before and after.
    """
    store = stored.store
    _require_readable(store)
    with paths.lock(store_key(store)):
        fresh = read_memory(store, categories()[stored.memory.category], stored.path)
        data = edit(fresh.memory.data)
        redacted: list[Redacted] = []
        if cleaned:
            new = [name for name in LISTS if data.get(name) != fresh.memory.data.get(name)]
            data, redacted = clean_data(data)
            require_lists(data, new)
        written = Written(_write(store, stored.memory.category, stored.path, data), redacted, False)
        if settle is not None:
            settle(fresh, written)
        return written


def require_writable(paths: Paths, stored: StoredMemory) -> None:
    """Write a memory's file as it is. Raises OSError where it can be neither changed nor deleted: then trust must not change either."""
    with paths.lock(store_key(stored.store)):
        data = read_regular(stored.path, MAX_BYTES)[0]
        replace_file(stored.path, data, 0o600 if stored.store.scope == USER else 0o666, durable=False)


def remove(paths: Paths, stored: StoredMemory) -> list[str]:
    """Delete a memory's file permanently; return the deleted paths."""
    _require_readable(stored.store)
    with paths.lock(store_key(stored.store)):
        os.unlink(stored.path)
    return [stored.path]


def sweep(paths: Paths, store: Store) -> list[str]:
    """Delete the temporary files of killed writers; return their paths. The lock excludes writers that are still at work."""
    with paths.lock(store_key(store)):
        folders = [store.root, *(folder for _, folder in category_folders(store))]
        entries = chain.from_iterable(os.scandir(folder) for folder in folders if os.path.isdir(folder))
        drafts = [entry.path for entry in entries if is_draft(entry.name)]
        for path in drafts:
            os.unlink(path)
    return drafts


def _require_readable(store: Store) -> None:
    """Raise InvalidMemory for a store that is not read: nothing is written where it would not be found."""
    reason = why_not_read(store)
    if reason:
        raise InvalidMemory(reason)


def _prepare_store(store: Store) -> None:
    if not os.path.isdir(store.root):
        make_folder(store.root, 0o700 if store.scope == USER else 0o777)
    ignore, index = os.path.join(store.root, ".gitignore"), index_md(store)
    if not os.path.lexists(index):
        with suppress(OSError):
            rebuild_index_md(store, [])  # the next refresh fills it
    if store.worktree is not None and not os.path.lexists(ignore):
        replace_file(ignore, b"index.md\n*.tmp\n" if own_index(index) is not None else b"*.tmp\n", 0o666)


def _write(store: Store, category: str, path: str, data: Data) -> StoredMemory:
    private = store.scope == USER
    folder = os.path.dirname(path)
    if os.path.islink(folder):
        raise InvalidMemory("%s is a symbolic link; a store's folders are never linked" % folder)
    make_folder(folder, 0o700 if private else 0o777)
    replace_file(path, _encode(data), 0o600 if private else 0o666)
    return read_memory(store, categories()[category], path)


def _encode(data: Data) -> bytes:
    # A lone surrogate is written as its JSON escape: a file that contains one can be retired without a loss.
    text = (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    if len(text) > MAX_BYTES:
        advice = "%d bytes, a memory holds at most %d; keep the long text in a file and name it"
        raise InvalidMemory(advice % (len(text), MAX_BYTES))
    refuse_many_values(text)
    return text


def rebuild_index_md(store: Store, memories: Iterable[StoredMemory]) -> None:
    """Rebuild `index.md`, the list for people, from all memories of a store. Raises OSError."""
    listed = (one for one in memories if one.memory.status == ACTIVE and not one.memory.superseded_by)
    lines = sorted(_line(store, stored) for stored in listed)
    text = "".join(line + "\n" for line in (_HEADER, *lines))
    path, present = index_md(store), own_index(index_md(store))
    if os.path.isdir(store.root) and present is not None and text != present:
        # A project's file gets the permissions that the umask gives to the other files of the working tree.
        mode = 0o600 if store.scope == USER else 0o666
        replace_file(path, text.encode("utf-8", "replace"), mode, durable=False)


def own_index(path: str) -> str | None:
    """Return the text of an `index.md` of the plugin, a header and lines that name files, or "" for a missing one; None for a person's."""
    try:
        text = read_regular(path, _MAX_INDEX_MD)[0].decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError:
        return None
    rows = [line for line in text.removeprefix(_HEADER).splitlines() if line.strip()]
    return text if all(line.startswith("- [") and _ARROW in line for line in rows) else None


def index_md(store: Store) -> str:
    """Return the path of the list for people."""
    return os.path.join(store.root, "index.md")


def _line(store: Store, stored: StoredMemory) -> str:
    memory = stored.memory
    title = shown_line(memory.title, MAX_TITLE).replace(_ARROW, " - ").replace("#tags:", "")
    tags = ",".join(tag.replace(",", " ") for tag in shown_items(memory.tags, 40))
    path = os.path.relpath(stored.path, store.worktree or store.root).replace(os.sep, "/")
    line = "- [%s] %s -> %s" % (categories()[memory.category].label, title, path)
    return line + " #tags:" + tags if tags else line
