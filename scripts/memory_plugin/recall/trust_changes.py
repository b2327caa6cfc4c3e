"""Decisions about trust that the index does not know yet, and the memories that await one.

Recall leaves the memories out whose texts the user decided about since the last refresh. A session's start tells the user about pending
ones, so the modules that read memories are imported only if there is a problem.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Collection

from ..kernel.context import Context
from ..kernel.fastjson import digest, dumps, loads
from ..kernel.files import os_error_text
from ..kernel.paths import Paths
from ..kernel.sqlite import Connection
from ..kernel.state_file import read_state, write_state
from ..memories.trust_file import SEEN, DecisionFile, decision_paths
from .index_file import meta_get

DECIDED = "decided"  # the entry of `meta` with the state of the records at the last refresh
_PENDING = "pending"
_RECORDS = ("trusted.jsonl", "rejected.jsonl")


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
        "SELECT key, full_digest, text_digest FROM documents WHERE key IN (%s)" % ",".join("?" * len(keys)),
        list(keys),
    )
    return {key for key, *digests in rows.fetchall() if not decided.isdisjoint(digests)}


def pending_keys(connection: Connection) -> list[str]:
    """Return the keys of the memories that await approval, in order; superseded ones are left out. Raises SqliteError."""
    rows = connection.execute(
        "SELECT key FROM documents WHERE trust = ? AND status = 'active' AND key NOT IN (SELECT key FROM superseded) ORDER BY key",
        (_PENDING,),
    )
    return [key for (key,) in rows]


def due_notice(paths: Paths, connection: Connection | None) -> str:
    """Return a line for the user about the memories that await approval, once per set of memories; usually empty.

    `connection` is the index, or None if it cannot answer. Raises SqliteError.
    """
    folder = paths.state("trust")
    if any(_looks_unreadable(os.path.join(folder, name)) for name in _RECORDS):
        from ..memories.trust import load_trust

        try:
            load_trust(paths)
        except OSError as error:
            return "memory: " + os_error_text(error)
    pending = [] if connection is None else pending_keys(connection)
    if not pending:
        return ""
    path = paths.state("notices", paths.project_key + ".json")
    current = digest("\n".join(pending).encode("utf-8", "replace"))
    # Record first: if this fails, stay silent rather than repeat the line in every session.
    try:
        if read_state(path).get(_PENDING) == current:
            return ""
        write_state(path, {_PENDING: current})
    except OSError:
        return ""
    subject = "1 memory awaits" if len(pending) == 1 else "%d memories await" % len(pending)
    are = "is" if len(pending) == 1 else "are"
    return "memory: %s approval and %s not recalled until then. To review: /memory:review" % (subject, are)


def _looks_unreadable(path: str) -> bool:
    """Return whether a file exists and may be unreadable; only reading it tells."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return not modes.S_ISREG(status.st_mode) or not os.access(path, os.R_OK)
