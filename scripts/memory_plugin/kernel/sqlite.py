"""SQLite without its Python wrapper, for the reason given in `fastjson`.

A module of its own, since a skipped prompt must not load SQLite.
"""

from __future__ import annotations

try:
    from _sqlite3 import Connection, connect
    from _sqlite3 import Error as SqliteError
    from _sqlite3 import OperationalError as SqliteOperationalError
except ImportError:
    try:
        from sqlite3 import Connection, connect
        from sqlite3 import Error as SqliteError
        from sqlite3 import OperationalError as SqliteOperationalError
    except ImportError:  # an interpreter built without SQLite: `connect` is None there
        Connection = connect = None  # type: ignore[assignment,misc]
        SqliteError = SqliteOperationalError = OSError  # type: ignore[assignment,misc]

__all__ = ["Connection", "SqliteError", "SqliteOperationalError", "connect"]
