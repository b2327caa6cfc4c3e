"""Past sessions for hooks and commands: keep the index up to date, and answer what asks about them."""

from __future__ import annotations

import os
from time import time

from ..kernel.files import Busy, os_error_text
from ..kernel.sqlite import Connection, SqliteError
from ..recall.index_file import DAMAGED, failure_reason, index_version, may_rebuild
from ..sessions import past
from ..sessions.past_ask import ask_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, TypeVar

    from ..kernel.context import Context

    Read = TypeVar("Read")

WAIT = 2.0  # seconds that a command waits for a process that fills the index
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


def answer_ask(text: str, context: Context, problems: list[str]) -> past.ShownSessions | None:
    """Return what Claude is told on a prompt that asks about past sessions; None if no session matches."""
    now = time()
    ask = ask_of(text, now)
    return _for_claude(context, problems, lambda index: past.answer(index, ask, now, context.session))


def catalog_lines(context: Context, problems: list[str]) -> str:
    """Return the last sessions for Claude at a session's start; empty if that is switched off."""
    if not context.settings.flag("sessions.history.catalog"):
        return ""
    return _for_claude(context, problems, lambda index: past.recent_lines(index, context.session)) or ""


def _for_claude(context: Context, problems: list[str], read: Callable[[Connection], Read]) -> Read | None:
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


def find_exchanges(text: str, context: Context, days: int | None = None) -> list[past.Exchange]:
    """Return the exchanges of the last days that match, the best first. Raises SqliteError."""
    now = time()
    ask, since = ask_of(text, now), now - days * 86400.0 if days is not None else 0.0
    return _read(context, lambda index: past.find(index, ask, now, context.session, since)) or []


def session_exchanges(context: Context, name: str = "") -> list[past.Exchange]:
    """Return the exchanges of the sessions whose id begins so, in order. Raises SqliteError."""
    return _read(context, lambda index: past.exchanges(index, name)) or []


def forget_sessions(name: str, context: Context) -> int:
    """Delete one session, or all for an empty name, from the index for good; return their number.

    Bring the index up to date first: what is on disk but not indexed must be forgotten, too. Raises OSError and SqliteError.
    """
    from ..sessions.past_index import forget

    return forget(context.paths, name, index_version(), WAIT)
