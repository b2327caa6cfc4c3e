"""Asking the index: opened, healed where little changed, by-passed where it is locked, and never believed about a file that was edited."""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.files import Unreadable, make_folder, read_regular
from ..kernel.locks import Busy, FileLock
from ..kernel.native import digest
from ..kernel.sqlite import SqliteError
from .freshness import changed_paths
from .index.file import IndexError_, IndexLocked, IndexMissing, create_index, has_fts5, open_index
from .ranking import analyse, rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from ..kernel.sqlite import Connection
    from .ranking import Hit

__all__ = ["Lookup", "index_path"]

_MAX_FILE = 512 * 1024


def index_path(places: Places) -> str:
    """The index file of a project."""
    return places.state("index", places.project_key + ".sqlite3")


class Lookup:
    """One question to the index.

    `answered_by` is fts5, keyword or none; `healed` how many files were read anew; `trouble` names what kept the index from answering or
    from being up to date; `wants_healing` says that a detached process should see to it.
    """

    __slots__ = ("_connection", "_deadline", "_places", "_settings", "answered_by", "healed", "trouble", "wants_healing")

    def __init__(self, places: Places, settings: Settings, deadline: Deadline) -> None:
        self._places = places
        self._settings = settings
        self._deadline = deadline
        self._connection: Connection | None = None
        self.answered_by = "none"
        self.healed = 0
        self.trouble = ""
        self.wants_healing = False

    def close(self) -> None:
        """Let go of the index file."""
        if self._connection is not None:
            self._connection.close()

    def best(self, text: str, extra: str, pool: int) -> list[Hit]:
        """The best injectable memories for a text, best first; those whose file no longer is what was indexed are read anew or left out."""
        try:
            if not self._open():
                return []
            hits = self._ranked(text, extra, pool)
            edited = [hit.path for hit in hits[: self._settings.integer("retrieval.max_inject")] if not _is_as_indexed(hit)]
            if edited and self._heal(edited):
                hits = self._ranked(text, extra, pool)
            return [hit for hit in hits if hit.path not in edited or _is_as_indexed(hit)]
        except TimeoutError:
            self.trouble = "timeout"
        except SqliteError as error:
            self.trouble = "index_locked" if "locked" in str(error) else "index_damaged"
            self.wants_healing = True
        return []

    def _open(self) -> bool:
        path = index_path(self._places)
        try:
            self._connection = open_index(path)
        except IndexLocked:
            self.trouble = "index_locked"
            return False
        except IndexMissing:
            return self._make(path)
        except IndexError_:
            self.trouble = "index_damaged"
            return self._make(path)
        if changed_paths(self._connection) != set():
            self._heal()
        return True

    def _make(self, path: str) -> bool:
        """Make an index of a few files at once; of many, detached, and until then there is nothing to recall from."""
        try:
            make_folder(os.path.dirname(path))
            self._connection = create_index(path)
        except (IndexError_, OSError) as error:
            self.trouble = "no_index: %s" % (getattr(error, "strerror", None) or type(error).__name__)
            return False
        return self._heal()

    def _heal(self, edited: list[str] | None = None) -> bool:
        from .healing import INLINE_FILES, TooMuch, heal

        assert self._connection is not None
        try:
            with FileLock(index_path(self._places) + ".heal", 0.0):
                report = heal(self._connection, self._places, self._settings, most=INLINE_FILES, edited=edited or ())
        except TooMuch:
            self.trouble = "healing"
        except Busy:
            self.trouble = "healed_elsewhere"
            return False
        except SqliteError as error:
            self.trouble = "index_locked" if "locked" in str(error) else "index_damaged"
        except OSError as error:
            self.trouble = "not_healed: %s" % (error.strerror or type(error).__name__)
        else:
            self.healed += report.read + report.dropped + report.regraded
            return True
        self.wants_healing = True
        return False

    def _ranked(self, text: str, extra: str, pool: int) -> list[Hit]:
        assert self._connection is not None
        self.answered_by = "fts5" if has_fts5(self._connection) else "keyword"
        return rank(self._connection, analyse(text, extra), pool, True, now_iso(), self._deadline)


def _is_as_indexed(hit: Hit) -> bool:
    """Whether the file of a memory still holds what was indexed of it."""
    try:
        return digest(read_regular(hit.path, _MAX_FILE)[0]) == hit.digest
    except (FileNotFoundError, Unreadable):
        return False
