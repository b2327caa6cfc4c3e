"""What is wrong with an index that failed: it is locked, cannot be written, or is damaged; each asks for another answer."""

from __future__ import annotations

from ...kernel.sqlite import SqliteError
from .file import IndexError_, IndexLocked

__all__ = ["DAMAGED", "INDEX_FAULTS", "LOCKED", "is_locked", "trouble"]

# What a damaged index raises: SQLite's own errors, and those of rows that are missing or hold something else than they should.
INDEX_FAULTS = (SqliteError, IndexError_, ValueError, TypeError, LookupError)
DAMAGED, LOCKED, UNWRITABLE = "index_damaged", "index_locked", "index_unwritable"
# From SQLite's messages for READONLY, FULL, IOERR and CANTOPEN (sqlite3ErrStr); Python hands on no error code before 3.11.
_UNWRITABLE_SIGNS = ("readonly", "full", "disk i/o", "unable to open")


def is_locked(error: Exception) -> bool:
    """Whether an index failed because another process writes it, so that it must be left as it is."""
    return trouble(error) == LOCKED


def trouble(error: Exception) -> str:
    """What is wrong with an index that failed so: locked, not to be written, or damaged."""
    what = _messages(error)
    if isinstance(error, IndexLocked) or "locked" in what:
        return LOCKED
    if any(sign in what for sign in _UNWRITABLE_SIGNS):
        return UNWRITABLE
    return (
        DAMAGED
        if isinstance(error, (SqliteError, IndexError_))
        else "%s: %s" % (DAMAGED, type(error).__name__)
    )


def _messages(error: BaseException | None) -> str:
    """What SQLite said, also where something else failed because of it: undoing what a full disk undid already, for one."""
    said = ""
    while error is not None:
        if isinstance(error, SqliteError):
            said += str(error).lower() + "\n"
        error = error.__context__
    return said
