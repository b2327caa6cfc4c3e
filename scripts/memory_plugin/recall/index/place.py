"""Where the index of a project lies, and how those who hold its lock come by it."""

from __future__ import annotations

from .file import IndexError_, create_index, open_index
from .trouble import is_locked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...kernel.paths import Places
    from ...kernel.sqlite import Connection

__all__ = ["index_path", "opened_or_made"]


def index_path(places: Places) -> str:
    """The index file of a project."""
    return places.state("index", places.project_key + ".sqlite3")


def opened_or_made(path: str, timeout: float = 0.05) -> Connection:
    """The index at `path`, made when there is none or it is damaged; for those who hold its lock. Raises IndexError_."""
    try:
        return open_index(path, timeout)
    except IndexError_ as error:
        if is_locked(error):
            raise
        return create_index(path)
