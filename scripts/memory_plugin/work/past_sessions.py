"""Past sessions for hooks and commands: keep the index up to date, and answer what asks about them."""

from __future__ import annotations

import os
from time import time

from ..kernel.files import Busy, os_error_text
from ..kernel.sqlite import SqliteError
from ..recall.index_file import DAMAGED, failure_reason, index_version, may_rebuild
from ..sessions import past
from ..sessions.past_ask import ask_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, TypeVar

    from ..kernel.context import Context
    from ..kernel.sqlite import Connection

    Read = TypeVar("Read")

_WAIT = 2.0  # seconds that a command waits for a process that fills the index
IN_BACKGROUND = 60.0  # and that what follows a reply waits, because nobody else indexes that reply


def is_on(context: Context) -> bool:
    """Return whether the settings keep an index of past sessions."""
    return context.paths.state_dir is not None and context.settings.flag("sessions.history.enabled")


def update_index(context: Context, wait: float = 0.0) -> list[str]:
    """Index what is new in the project's transcripts; return a line for each problem. `wait` is in seconds, for another process."""
    if not is_on(context):
        return []
    from ..sessions.past_index import refresh

    try:
        days = context.settings.integer("sessions.history.days")
        return refresh(context.paths, days, index_version(), wait)
    except Busy:
        return ["sessions are being indexed by another process, so some may be missing"] if wait else []
    except (OSError, SqliteError) as error:
        path = past.index_path(context.paths)
        if isinstance(error, SqliteError) and failure_reason(error) == DAMAGED and may_rebuild(path):
            os.unlink(path)
            return update_index(context, wait)
        return ["the index of past sessions is not up to date: %s" % os_error_text(error)]


def answer_ask(text: str, context: Context, problems: list[str]) -> past.ShownSessions:
    """Return what Claude is told on a prompt that asks about past sessions; nothing if no session matches."""
    now = time()

    def read(index: Connection) -> past.ShownSessions:
        return past.answer(index, ask_of(text, now), now, context.session)

    return _read_for_claude(context, problems, read) or past.ShownSessions()


def catalog_lines(context: Context, problems: list[str]) -> str:
    """Return the last sessions for Claude at a session's start; empty if that is switched off."""
    if not context.settings.flag("sessions.history.catalog"):
        return ""
    return _read_for_claude(context, problems, lambda index: past.recent_lines(index, context.session)) or ""


def _read_for_claude(
    context: Context, problems: list[str], read: Callable[[Connection], Read]
) -> Read | None:
    """Return what is read for Claude; None if that fails, which is a problem."""
    try:
        return _read(context, read)
    except (OSError, SqliteError) as error:
        problems.append("past sessions could not be read: %s" % os_error_text(error))
        return None


def _read(context: Context, read: Callable[[Connection], Read]) -> Read | None:
    """Return what a function reads from the index; None without one, or if it is switched off. Raises SqliteError."""
    path = past.index_path(context.paths) if is_on(context) else ""
    return past.read_index(path, index_version(), read)


def find_exchanges(
    text: str, days: int | None, context: Context, report: Callable[[str], None]
) -> list[past.Exchange]:
    """Return the exchanges that match, the best first, after indexing what is new. Raises SqliteError."""
    _update(context, report)
    return _found(text, context, time() - days * 86400.0 if days is not None else 0.0)


def matching_sessions(text: str, context: Context) -> int:
    """Return how many indexed sessions match well what a user looks for. Raises SqliteError."""
    return len({each.session for each in _found(text, context) if each.share >= past.WEAK})


def _found(text: str, context: Context, since: float = 0.0) -> list[past.Exchange]:
    now = time()
    return (
        _read(context, lambda index: past.find(index, ask_of(text, now), now, context.session, since)) or []
    )


def session_exchanges(name: str, context: Context, report: Callable[[str], None]) -> list[past.Exchange]:
    """Return the exchanges of the sessions whose id begins so, in order. Raises SqliteError."""
    _update(context, report)
    return _read(context, lambda index: past.exchanges(index, name)) or []


def _update(context: Context, report: Callable[[str], None]) -> None:
    for problem in update_index(context, _WAIT):
        report(problem)


def forget_sessions(name: str, context: Context) -> int:
    """Delete one session, or all for an empty name, from the index for good; return their number. Raises OSError and SqliteError."""
    from ..sessions.past_index import forget

    update_index(context, _WAIT)  # what is on disk but not indexed must be forgotten, too
    return forget(context.paths, name, index_version(), _WAIT)


def known_sessions(context: Context) -> list[str]:
    """Return the path of each indexed session's transcript, which may be gone. Raises SqliteError."""
    return list({each.session: each.path for each in _read(context, past.exchanges) or []}.values())
