"""SQLite without its Python wrapper, for the reason given in `fastjson`.

This is a module of its own because a skipped prompt must not load SQLite. The C module imports `functools` for one name, `lru_cache`, and
with it `collections` and `operator`, which take three quarters of the import time. During the import a stand-in holds this one name, made
from the C half of `functools`.
"""

from __future__ import annotations

import sys

from .files import has_locks


class _FunctoolsStandIn:
    """Take the place of `functools` inside a `with` block, unless the real one is loaded already."""

    def __enter__(self) -> None:
        self._is_in_place = "functools" not in sys.modules
        if self._is_in_place:
            sys.modules["functools"] = self  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        if self._is_in_place:
            del sys.modules["functools"]

    @staticmethod
    def lru_cache(maxsize: int = 128, typed: bool = False) -> object:
        """Do what `functools.lru_cache` does, except for `cache_info`, which SQLite does not call."""
        from _functools import _lru_cache_wrapper  # type: ignore[import-not-found]

        return lambda function: _lru_cache_wrapper(function, maxsize, typed, None)


try:
    with _FunctoolsStandIn():
        from _sqlite3 import Connection, connect
        from _sqlite3 import Error as SqliteError
except (ImportError, AttributeError):
    try:
        from sqlite3 import Connection, connect
        from sqlite3 import Error as SqliteError
    except ImportError:  # an interpreter built without SQLite
        Connection, SqliteError = None, OSError  # type: ignore[assignment,misc]

        def connect(*_: object, **__: object) -> Connection:  # type: ignore[no-redef]
            """Raise SqliteError."""
            raise SqliteError("this Python has no SQLite")


_IN_URI = {ord("%"): "%25", ord("?"): "%3f", ord("#"): "%23"}


def open_database(path: str, timeout: float = 0.0) -> Connection:
    """Return a connection that commits each statement and waits `timeout` seconds for a lock. Raises SqliteError."""
    place = path if has_locks(path) else "file:%s?nolock=1" % path.translate(_IN_URI)
    return connect(place, timeout=timeout, isolation_level=None, uri=place != path)


# What other modules import from here.
__all__ = ["Connection", "SqliteError", "connect", "open_database"]
