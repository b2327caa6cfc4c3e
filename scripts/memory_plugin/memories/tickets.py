"""Commands that the user allowed in Claude Code's dialog: tickets, and deferred commands, which are carried out later.

A ticket is for one command, word for word, about which the client's dialog asks. A hook writes it, appends its number to the command, and
has the client ask. Only a command that is let run gets to know the number, so a parallel call or a later one cannot use the ticket. It
ends when it is used, at the next prompt, when the turn ends, and after ten minutes.

Who answered the dialog, the user or a hook of theirs or of a project, is only in the transcript, and there only after the command has
ended (measured with 2.1.197, 2.1.330 and 2.1.332). So the command that uses a ticket changes nothing yet, but is deferred. It is carried
out by the next command, when the turn ends, or at the next prompt, as soon as the transcript says that the user allowed this call.
"""

from __future__ import annotations

import os
from time import sleep

from ..kernel.context import Deadline, now
from ..kernel.fastjson import as_text, as_texts, digest
from ..kernel.files import remove_file
from ..kernel.paths import Paths, read_state, write_state

SECONDS = 600.0  # for which a ticket is valid
FOLDER = "tickets"
OPTION = "--ticket"
_DEFERRED = "deferred."
_PAUSE = 0.05
_NOT_DONE = "memory: not done: `memory %s`. %s To do it yourself, run it in a terminal."
_WHY = {
    "program": "A hook or another program answered Claude Code's dialog, not you.",
    "": "Claude Code's transcript does not show that you answered the dialog.",
}


def issue_ticket(paths: Paths, session: str, asked: dict[str, object]) -> str:
    """Write a ticket for a command in a session and return its number.

    `asked` holds the command's `words`, the key of the `project` that it acts on, the digests of the `texts` that the user is asked about,
    and the id of the tool `call` in the session's `transcript`. Raises OSError.
    """
    number = os.urandom(8).hex()
    write_state(_path(paths, session, number), {**asked, "until": now() + SECONDS})
    return number


def take_ticket(paths: Paths, session: str, number: str, words: list[str]) -> bool:
    """Defer the command of a ticket; return whether it is valid for this command.

    The process that removes the file has used the ticket, so it works once even if two try. Raises OSError.
    """
    path = _path(paths, session, number)
    ticket = read_state(path)
    if not remove_file(path):
        return False
    until = ticket.get("until")
    is_valid = isinstance(until, float) and 0 <= until - now() <= SECONDS
    if not is_valid or (ticket.get("words"), ticket.get("project")) != (list(words), paths.project_key):
        return False
    name = _stem(session) + _DEFERRED + os.path.basename(path).removeprefix(_stem(session))
    write_state(paths.state(FOLDER, name), {**ticket, "folder": os.getcwd()})
    return True


def settle(
    paths: Paths, session: str, *, wait: float = 0.0, is_last: bool = False
) -> tuple[list[dict[str, object]], list[str]]:
    """Return the deferred commands of a session that the user allowed, and lines that say why others are never carried out.

    Waits up to `wait` seconds for the transcript. One whose answer cannot be seen yet is kept, unless this `is_last`. Raises OSError,
    but not after the first of them was removed: nobody else would carry it out.
    """
    from ..kernel.transcript import PERSON, who_allowed

    allowed: list[dict[str, object]] = []
    lines: list[str] = []
    deadline = Deadline(wait)
    for path in _files(paths, _stem(session) + _DEFERRED):
        command = read_state(path)
        source = as_text(command.get("transcript")), as_text(command.get("call"))
        while not (who := who_allowed(*source)) and deadline.remaining():
            sleep(_PAUSE)
        try:
            if not (who or is_last) or not remove_file(path):  # another process carries it out
                continue
        except OSError:
            if allowed or lines:
                break
            raise
        if who == PERSON:
            allowed.append(command)
        else:
            lines.append(_NOT_DONE % (shown(command), _WHY[who]))
    _remove_folder(paths)
    return allowed, lines


def shown(command: dict[str, object]) -> str:
    """Return an allowed command on one line, to be shown."""
    from shlex import join

    from .hygiene import shown_line

    return shown_line(join(as_texts(command.get("words"))), 200)


def end_tickets(paths: Paths, session: str) -> None:
    """Make all unused tickets of a session invalid; deferred commands stay. Raises OSError."""
    for path in _files(paths, _stem(session)):
        if not os.path.basename(path).startswith(_stem(session) + _DEFERRED):
            remove_file(path)  # a command may use it now
    _remove_folder(paths)


def _remove_folder(paths: Paths) -> None:
    try:
        os.rmdir(paths.state(FOLDER))
    except OSError:  # missing, or another session has a ticket
        return


def _files(paths: Paths, start: str) -> list[str]:
    folder = paths.state(FOLDER)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if name.startswith(start)]


def _path(paths: Paths, session: str, number: str) -> str:
    """Return a ticket's path, which does not reveal its number."""
    return paths.state(FOLDER, _stem(session) + digest(number.encode("utf-8", "replace"), 16) + ".json")


def _stem(session: str) -> str:
    return digest(session.encode("utf-8", "replace"), 8) + "."
