"""What the user allowed Claude: grants and tickets.

After the user asked for it in a prompt, Claude may save a few memories that need no review: a grant.

A page that Claude reads can ask it to remember something. Therefore a memory that Claude stores unasked is pending. Only a prompt that the
user typed issues a grant, for at most three saves and until the next prompt, and each save is shown to the user. Who wrote the prompt is
looked up in the transcript when the grant is used: prompts of schedules, agents and programs look the same to a hook. This is a safeguard,
not a guarantee, because Claude runs with the user's permissions.

A ticket is for one command, word for word, that the user approved in the client's dialog. A hook writes it for exactly these words,
appends its number to the command, and has the client ask. Only a command that the user lets run gets to know the number, so a parallel
call or a later one cannot use the ticket. It ends when it is used, at the next prompt, when the turn ends, and after ten minutes.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ..kernel.clock import now
from ..kernel.data import read_state, session_file, write_state
from ..kernel.fastjson import as_texts, digest, dumps
from ..kernel.files import make_folder
from ..kernel.locks import FileLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from ..kernel.paths import Paths

SECONDS = 600.0  # for which a grant or a ticket is valid
MAX_SAVES = 3
PART = "grant"
_LOCK_WAIT = 1.0
FOLDER = "tickets"
OPTION = "--ticket"


def grant(paths: Paths, session: str, prompt: str, transcript: str) -> None:
    """Issue a grant for a session and its project, for a prompt with this id. Raises OSError."""
    until = now() + SECONDS
    state = {"project": paths.project_key, "until": until, "left": MAX_SAVES}
    write_state(session_file(paths, session, PART), {**state, "prompt": prompt, "transcript": transcript})


def revoke(paths: Paths, session: str) -> None:
    """Revoke the grant of a session, if there is one. Raises OSError."""
    path = session_file(paths, session, PART)
    if os.path.lexists(path):
        os.unlink(path)


def use_saves(paths: Paths, session: str, number: int) -> bool:
    """Use the grant for a number of saves, all or none; return whether it covers them. Raises OSError."""
    from ..kernel.transcript.rows import was_typed

    path = session_file(paths, session, PART)
    if not os.path.lexists(path):
        return False
    with FileLock(path + ".lock", _LOCK_WAIT):
        state = _read(paths, session)
        remaining = _remaining(state)
        if remaining < number or not was_typed(str(state.get("transcript")), str(state.get("prompt"))):
            return False
        write_state(path, {**state, "left": remaining - number})
    return True


def record_saves(paths: Paths, session: str, lines: list[str]) -> None:
    """Store lines about what Claude saved until `take_unshown_saves` returns them, also without a grant. Raises OSError."""
    path = session_file(paths, session, PART)
    make_folder(os.path.dirname(path))
    with FileLock(path + ".lock", _LOCK_WAIT):
        state = _read(paths, session) or {"project": paths.project_key}
        write_state(path, {**state, "unshown": [*as_texts(state.get("unshown")), *lines]})


def take_unshown_saves(paths: Paths, session: str) -> list[str]:
    """Return the lines about saves that were not shown yet, and mark them as shown. Raises OSError."""
    state = _read(paths, session)
    lines = as_texts(state.get("unshown"))
    if lines:
        write_state(session_file(paths, session, PART), {**state, "unshown": []})
    return lines


def _read(paths: Paths, session: str) -> dict[str, Any]:
    state = read_state(session_file(paths, session, PART))
    return state if state.get("project") == paths.project_key else {}


def _remaining(state: dict[str, Any]) -> int:
    """Return how many saves a grant still covers; 0 if it is damaged or expired."""
    until, left = state.get("until"), state.get("left")
    is_valid = isinstance(until, float) and now() <= until <= now() + SECONDS
    return left if is_valid and isinstance(left, int) and 0 < left <= MAX_SAVES else 0


def issue_ticket(
    paths: Paths, session: str, words: Sequence[str], project: str, texts: Collection[str]
) -> str:
    """Write a ticket for a command in a session and return its number.

    `project` is the key of the project that the command acts on; `texts` are the digests of the texts that the user is asked about.
    Raises OSError.
    """
    number = os.urandom(8).hex()
    ticket = {"words": _digest(words), "project": project, "texts": sorted(texts), "until": now() + SECONDS}
    write_state(_path(paths, session, number), ticket)
    return number


def take_ticket(paths: Paths, session: str, number: str, words: Sequence[str]) -> frozenset[str] | None:
    """Use a ticket; return the digests of the texts that it covers, or None if it is not valid for this command.

    The process that removes the file has used the ticket, so it works once even if two try.
    """
    path = _path(paths, session, number)
    ticket = read_state(path)
    try:
        os.unlink(path)
    except OSError:
        return None
    until, texts = ticket.get("until"), ticket.get("texts")
    expected = {"words": _digest(words), "project": paths.project_key}
    is_valid = (
        isinstance(until, float) and 0 <= until - now() <= SECONDS and expected.items() <= ticket.items()
    )
    return frozenset(texts) if is_valid and isinstance(texts, list) else None


def end_tickets(paths: Paths, session: str) -> None:
    """Make all tickets of a session invalid. Raises OSError."""
    folder = paths.state(FOLDER)
    if not os.path.isdir(folder):
        return
    for name in os.listdir(folder):
        if name.startswith(_stem(session)):
            os.unlink(os.path.join(folder, name))
    with suppress(OSError):  # another session has a ticket
        os.rmdir(folder)


def _path(paths: Paths, session: str, number: str) -> str:
    """Return a ticket's path, which does not reveal its number."""
    return paths.state(FOLDER, _stem(session) + digest(number.encode("utf-8", "replace"), 16) + ".json")


def _stem(session: str) -> str:
    return digest(session.encode("utf-8", "replace"), 8) + "."


def _digest(words: Sequence[str]) -> str:
    return digest(dumps(list(words)).encode("ascii"), 16)
