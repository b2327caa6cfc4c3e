"""Find memories that await approval or have no phrases, and decide when to tell the user about them.

This runs at every session start, so the modules that read memories and trust are imported only if there is a problem.
"""

from __future__ import annotations

import os
import stat as modes

from ..kernel.fastjson import digest
from ..kernel.files import os_error_text
from ..kernel.state_file import read_state, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Paths
    from ..kernel.sqlite import Connection

_PENDING = "pending"
_PHRASES = "phrases"
_MIN_WITHOUT_PHRASES = 5
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

    If none await it, many memories without phrases are a reason for a line, once in each project.

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
    path = paths.state("notices", paths.project_key + ".json")
    if not pending:
        return "" if connection is None else _phrases_notice(path, connection)
    current = digest("\n".join(pending).encode("utf-8", "replace"))
    # Record first: if this fails, stay silent rather than repeat the line in every session.
    if not _announce(path, _PENDING, current):
        return ""
    subject = "1 memory awaits" if len(pending) == 1 else "%d memories await" % len(pending)
    are = "is" if len(pending) == 1 else "are"
    return "memory: %s approval and %s not recalled until then. To review: /memory:review" % (subject, are)


def _phrases_notice(path: str, connection: Connection) -> str:
    if _PHRASES in read_state(path):
        return ""
    rows = connection.execute(
        "SELECT count(*) FROM documents WHERE injectable = 1 AND scope != 'native' AND asked_as = '[]'"
    )
    (number,) = rows.fetchone()
    if number < _MIN_WITHOUT_PHRASES or not _announce(path, _PHRASES, "told"):
        return ""
    why = "have no phrases, so only prompts with the same words find them; to add some: /memory:phrases"
    return "memory: %d memories %s" % (number, why)


def _looks_unreadable(path: str) -> bool:
    """Return whether a file exists and may be unreadable; only reading it tells."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return not modes.S_ISREG(status.st_mode) or not os.access(path, os.R_OK)


def _announce(path: str, name: str, current: str) -> bool:
    """Record what the user is told under a name; return False if they were told this before, or it cannot be recorded."""
    state = read_state(path)
    if state.get(name) == current:
        return False
    try:
        write_state(path, {**state, name: current})
    except OSError:
        return False
    return True
