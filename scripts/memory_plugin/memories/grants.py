"""Grants: for a few minutes after the user asked for it, Claude may save or accept something in this session.

A page that Claude reads can ask it to remember something. Therefore a memory that Claude stores unasked is pending. Only a prompt that the
user typed issues a grant, for at most three saves and until the next prompt, and each save is shown to the user. This is a safeguard, not a
guarantee, because Claude runs with the user's permissions.
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
    "MAX_SAVES",
    "SECONDS",
    "grant",
    "is_granted",
    "record_saves",
    "revoke",
    "take_unshown_saves",
    "use_saves",
]

SECONDS = 600.0
MAX_SAVES = 3
PART = "grant"
_MAX_BYTES = 16_384
_LOCK_WAIT = 1.0


def grant(paths: Paths, session: str, kind: str) -> None:
    """Issue a grant of a kind (`save_requests.SAVE` or APPROVAL) for a session and its project. Raises OSError."""
    until = now() + SECONDS
    _write(paths, session, {"project": paths.project_key, "until": until, "kind": kind, "left": MAX_SAVES})


def revoke(paths: Paths, session: str) -> None:
    """Revoke the grant of a session, if there is one. Raises OSError."""
    path = session_file(paths, session, PART)
    if os.path.lexists(path):
        os.unlink(path)


def is_granted(paths: Paths, session: str, *, approval: bool = False) -> bool:
    """Return whether this session and project have a valid grant for a save, or for any command (`approval`)."""
    state = _read(paths, session)
    return _remaining(state) > 0 and (not approval or state.get("kind") == APPROVAL)


def use_saves(paths: Paths, session: str, number: int) -> bool:
    """Use the grant for a number of saves, all or none; return whether it covers them. Raises OSError."""
    if not is_granted(paths, session):
        return False
    with FileLock(session_file(paths, session, PART) + ".lock", _LOCK_WAIT):
        state = _read(paths, session)
        remaining = _remaining(state)
        if remaining >= number:
            _write(paths, session, {**state, "left": remaining - number})
    return remaining >= number


def record_saves(paths: Paths, session: str, lines: list[str]) -> None:
    """Store lines about what was saved under the grant, until `take_unshown_saves` returns them. Raises OSError."""
    if not os.path.lexists(session_file(paths, session, PART)):
        return
    with FileLock(session_file(paths, session, PART) + ".lock", _LOCK_WAIT):
        state = _read(paths, session)
        if state:
            _write(paths, session, {**state, "unshown": [*_unshown(state), *lines]})


def take_unshown_saves(paths: Paths, session: str) -> list[str]:
    """Return the lines about saves that were not shown yet, and mark them as shown. Raises OSError."""
    path = session_file(paths, session, PART)
    if not os.path.lexists(path):
        return []
    state = _read(paths, session)
    lines = _unshown(state)
    if lines:
        _write(paths, session, {**state, "unshown": []})
    return lines


def _unshown(state: dict[str, Any]) -> list[str]:
    lines = state.get("unshown")
    return [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []


def _read(paths: Paths, session: str) -> dict[str, Any]:
    try:
        state = loads(read_regular(session_file(paths, session, PART), _MAX_BYTES)[0].decode("ascii"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) and state.get("project") == paths.project_key else {}


def _remaining(state: dict[str, Any]) -> int:
    """Return how many saves a grant still covers; 0 if it is damaged or expired."""
    until, left = state.get("until"), state.get("left")
    is_valid = isinstance(until, float) and now() <= until <= now() + SECONDS
    return left if is_valid and isinstance(left, int) and 0 < left <= MAX_SAVES else 0


def _write(paths: Paths, session: str, state: dict[str, Any]) -> None:
    path = session_file(paths, session, PART)
    make_folder(os.path.dirname(path))
    replace_file(path, dumps(state).encode("ascii"), durable=False)
