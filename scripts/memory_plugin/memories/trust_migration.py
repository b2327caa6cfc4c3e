"""Migrate the trust records of version 0.1.0, one file per store with digests of another form, to the current record."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..kernel.fastjson import digest, dumps, loads
from ..kernel.files import Unreadable, read_regular
from .memory_files import all_memories, category_folders, listing
from .record import RETIRED
from .stores import store_key, stores
from .trust import canonical, load_trust
from .trust_file import TrustUnreadable

if TYPE_CHECKING:
    from ..kernel.paths import Paths
    from .memory_files import FileProblem, StoredMemory
    from .record import Memory
    from .stores import Store

__all__ = ["has_old_trust", "migrate_trust"]

MIGRATED = "migrated"
_MAX_BYTES = 64 << 20


def has_old_trust(paths: Paths) -> bool:
    """Return whether one of the current stores has a record of 0.1.0 that was not migrated yet."""
    return any(os.path.lexists(_old_path(paths, store)) for store in stores(paths))


def migrate_trust(paths: Paths, max_files: int | None = None) -> bool:
    """Trust the unchanged texts that 0.1.0 trusted; return False if a store is left for later.

    A store is left for later if it has more than `max_files` files or could not be read completely. An old record is deleted only after
    everything in it is recorded, so this may be interrupted at any point. Raises OSError.
    """
    complete = True
    for store in stores(paths):
        path = _old_path(paths, store)
        if not os.path.lexists(path) or not os.path.isdir(store.root):
            continue
        if max_files is not None and _file_count(store) > max_files:
            complete = False
            continue
        record = _old_record(path, store)
        trust = load_trust(paths)
        trusted = record.get("trusted")
        problems: list[FileProblem] = []
        memories = list(all_memories(store, problems))
        if any(problem.passes for problem in problems):
            complete = False  # a file that cannot be read now may hold a trusted text
            continue
        if isinstance(trusted, dict):
            trust.accept([stored for stored in memories if _was_trusted(stored, trusted)], MIGRATED)
        for stored in memories:
            if stored.memory.status == RETIRED and record.get("mine") is True:
                trust.withdraw(stored)  # the user forgot it: its file is deleted after the grace period
        os.unlink(path)
    return complete


def _file_count(store: Store) -> int:
    return sum(len(listing(folder)) for _, folder in category_folders(store))


def _old_path(paths: Paths, store: Store) -> str:
    return paths.state("trust", store_key(store) + ".json")


def _old_record(path: str, store: Store) -> dict[str, object]:
    """Return a store's record of 0.1.0; a damaged one grants nothing. Raises TrustUnreadable."""
    try:
        record = loads(read_regular(path, _MAX_BYTES)[0].decode("utf-8"))
    except Unreadable as error:
        raise TrustUnreadable(path, str(error).removeprefix(path + ": ")) from None
    except (FileNotFoundError, ValueError):
        return {}
    if not isinstance(record, dict) or record.get("store") != os.path.realpath(store.root):
        return {}
    return record


def _was_trusted(stored: StoredMemory, trusted: dict[str, object]) -> bool:
    digests = trusted.get("%s/%s" % (stored.memory.category, stored.memory.id))
    return (
        isinstance(digests, list)
        and stored.memory.data.get("guard") is None  # 0.1.0 did not cover guards
        and _old_digest(stored.memory) in digests
    )


def _old_digest(memory: Memory) -> str:
    """Return the digest that 0.1.0 recorded for a memory."""
    fields = [
        memory.category,
        memory.title,
        memory.tags,
        memory.files,
        memory.asked_as,
        memory.expires_at,
        memory.status,
        memory.data["content"],
    ]
    if memory.superseded_by or memory.supersedes:
        fields += [memory.superseded_by, memory.supersedes]
    return digest(dumps(canonical(fields)).encode("ascii"))
