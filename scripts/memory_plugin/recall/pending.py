"""Find memories that await approval, and decide when to tell the user about them.

This runs at every session start, so the modules that read memories and trust are imported only if there is a problem.
"""

from __future__ import annotations

import os
import stat as modes

from ..kernel.data import read_state, write_state
from ..kernel.fastjson import digest
from ..kernel.files import os_error_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Paths
    from ..kernel.sqlite import Connection

_PENDING = "pending"
_RECORDS = ("trusted.jsonl", "rejected.jsonl")


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
    if _was_announced(path, current) or not _record_announcement(path, current):
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


def _was_announced(path: str, current: str) -> bool:
    """Return whether the user was told about the set of memories with this digest before."""
    return read_state(path).get(_PENDING) == current


def _record_announcement(path: str, current: str) -> bool:
    """Record that the user is told about the set of memories with this digest; return False if that fails."""
    try:
        write_state(path, {_PENDING: current})
    except OSError:
        return False
    return True
