"""Grants: for a few minutes after the user asked for it, Claude may save or accept something in this session.

A page that Claude reads can ask it to remember something. So what Claude stores unasked is pending, and only a prompt that the user typed
issues a grant, for at most three saves and until the next prompt; each save is shown to the user. This is a safeguard, not a guarantee,
because Claude runs with the user's rights.
"""

from __future__ import annotations

import os

from ..kernel.clock import now
from ..kernel.fastjson import dumps, loads
from ..kernel.files import make_folder, read_regular, replace_file
from ..kernel.locks import FileLock
from ..kernel.state_file import session_file
from .save_requests import APPROVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.paths import Paths

__all__ = [
    "MOST_SAVES",
    "SECONDS",
    "grant",
    "is_granted",
    "record_saves",
    "revoke",
    "take_unshown_saves",
    "use_saves",
]

SECONDS = 600.0
MOST_SAVES = 3
PART = "grant"
_MAX_BYTES = 16_384
_LOCK_WAIT = 1.0


def grant(paths: Paths, session: str, kind: str) -> None:
    """Issue a grant of a kind (`save_requests.SAVE` or APPROVAL) for a session and its project. Raises OSError."""
    until = now() + SECONDS
    _write(paths, session, {"project": paths.project_key, "until": until, "kind": kind, "left": MOST_SAVES})


def revoke(paths: Paths, session: str) -> None:
    """Revoke the grant of a session, if there is one. Raises OSError."""
    path = session_file(paths, session, PART)
    if os.path.lexists(path):
        os.unlink(path)


def is_granted(paths: Paths, session: str, *, approval: bool = False) -> bool:
    """Return whether this session and project have a valid grant for a save, or for any command (`approval`)."""
    found = _read(paths, session)
    return _left(found) > 0 and (not approval or found.get("kind") == APPROVAL)


def use_saves(paths: Paths, session: str, number: int) -> bool:
    """Use the grant for a number of saves, all or none; return whether it covers them. Raises OSError."""
    if not is_granted(paths, session):
        return False
    with FileLock(session_file(paths, session, PART) + ".lock", _LOCK_WAIT):
        found = _read(paths, session)
        left = _left(found)
        if left >= number:
            _write(paths, session, {**found, "left": left - number})
    return left >= number


def record_saves(paths: Paths, session: str, lines: list[str]) -> None:
    """Store lines about what was saved under the grant, until `take_unshown_saves` returns them. Raises OSError."""
    if not os.path.lexists(session_file(paths, session, PART)):
        return
    with FileLock(session_file(paths, session, PART) + ".lock", _LOCK_WAIT):
        found = _read(paths, session)
        if found:
            _write(paths, session, {**found, "unshown": [*_unshown(found), *lines]})


def take_unshown_saves(paths: Paths, session: str) -> list[str]:
    """Return the lines about saves that were not shown yet, and mark them as shown. Raises OSError."""
    path = session_file(paths, session, PART)
    if not os.path.lexists(path):
        return []
    found = _read(paths, session)
    lines = _unshown(found)
    if lines:
        _write(paths, session, {**found, "unshown": []})
    return lines


def _unshown(found: dict[str, Any]) -> list[str]:
    lines = found.get("unshown")
    return [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []


def _read(paths: Paths, session: str) -> dict[str, Any]:
    try:
        found = loads(read_regular(session_file(paths, session, PART), _MAX_BYTES)[0].decode("ascii"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("project") == paths.project_key else {}


def _left(found: dict[str, Any]) -> int:
    """Return how many saves a grant still covers; 0 if it is damaged or expired."""
    until, left = found.get("until"), found.get("left")
    holds = isinstance(until, float) and now() <= until <= now() + SECONDS
    return left if holds and isinstance(left, int) and 0 < left <= MOST_SAVES else 0


def _write(paths: Paths, session: str, found: dict[str, Any]) -> None:
    path = session_file(paths, session, PART)
    make_folder(os.path.dirname(path))
    replace_file(path, dumps(found).encode("ascii"), durable=False)
