"""Decisions about trust that the index does not know yet: until it is brought up to date, recall leaves the affected memories out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.fastjson import dumps, loads
from ..memories.trust_file import SEEN, DecisionFile, decision_paths
from .index_file import meta_get

if TYPE_CHECKING:
    from collections.abc import Collection

    from ..kernel.context import Context
    from ..kernel.sqlite import Connection

DECIDED = "decided"  # the entry of `meta` with the state of the records at the last refresh


def new_decisions(
    connection: Connection, trusted: DecisionFile, rejected: DecisionFile, accept_from: Collection[str]
) -> tuple[set[str] | None, str]:
    """Return the digests of texts that the user decided about since the last refresh, and the present state of the trust records.

    The digests are None if they are unknown, so that every memory must be checked.
    """
    present = [trusted.end, rejected.end, sorted(accept_from)]
    saved = meta_get(connection, DECIDED)
    if saved == dumps(present):
        return set(), saved
    before = loads(saved) if saved else None
    digests: set[str] = set()
    if not isinstance(before, list) or before[2] != present[2]:
        return None, dumps(present)
    for file, (inode, size) in zip((trusted, rejected), before):
        new = file.since((inode, size))
        if new is None:
            return None, dumps(present)
        digests.update(decision.digest for decision in new if decision.how != SEEN)
    return digests, dumps(present)


def in_doubt(connection: Connection, keys: Collection[str], context: Context) -> set[str]:
    """Return those of the keys about whose text the user may have decided since the last refresh. Raises TrustUnreadable."""
    trusted, rejected = map(DecisionFile, decision_paths(context.paths))
    trusted.load(None)
    rejected.load(None)
    decided, _ = new_decisions(connection, trusted, rejected, context.settings.texts("trust.accept_from"))
    if decided is None:
        return set(keys)
    rows = connection.execute(
        "SELECT key, full_digest, text_digest, new_phrases FROM documents WHERE key IN (%s)"
        % ",".join("?" * len(keys)),
        list(keys),
    )
    return {key for key, *digests in rows.fetchall() if not decided.isdisjoint(digests)}
