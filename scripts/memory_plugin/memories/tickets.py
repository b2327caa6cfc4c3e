"""Tickets: the user approved one command, word for word, in the client's permission dialog.

Before Claude runs a command that needs approval, a hook writes a ticket for exactly these words, appends its number to the command, and has
the client ask the user. Only a command that the user lets run gets to know the number, so a parallel call or a later one cannot use the
ticket. A ticket ends when it is used, at the next prompt, when the turn ends, and after ten minutes.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ..kernel.clock import now
from ..kernel.fastjson import digest, dumps
from ..kernel.state_file import read_state, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..kernel.paths import Paths

FOLDER = "tickets"
SECONDS = 600.0
OPTION = "--ticket"


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
