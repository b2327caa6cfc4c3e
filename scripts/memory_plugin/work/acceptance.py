"""Which memories are pending, and their acceptance in batches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ..memories.memory_files import StoredMemory, all_memories, stores
from ..memories.record import ACTIVE
from ..memories.trust import PENDING, Trust
from .context import WorkContext


def pending_memories(context: WorkContext, trust: Trust) -> Iterator[StoredMemory]:
    """Yield the memories that are pending; superseded ones too, because one inherits phrases only from a trusted text."""
    for stored in chain.from_iterable(map(all_memories, stores(context.paths))):
        waits = trust.state_of(stored) == PENDING or bool(trust.new_phrases(stored))
        if waits and stored.memory.status == ACTIVE:
            yield stored
