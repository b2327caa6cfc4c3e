"""Asking the index: opened, healed where little changed, by-passed where it is locked, and never believed about a file that was edited."""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.fastjson import digest
from ..kernel.files import Unreadable, cause, make_folder, read_regular
from ..kernel.locks import Busy, FileLock
from ..kernel.sqlite import SqliteError
from ..kernel.text.tokens import words
from .freshness import changed_paths
from .index.file import IndexError_, IndexMissing, open_index
from .index.place import index_path, opened_or_made
from .index.trouble import DAMAGED, INDEX_FAULTS, LOCKED, trouble
from .ranking import analyse, rank, way_to_candidates
from .share import prompt_share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from ..kernel.sqlite import Connection
    from .ranking import Hit

__all__ = ["Lookup"]

_MAX_FILE = 512 * 1024
_MAKE_WAIT = 1.0
_HEAL_WAIT = 0.1
_ROUNDS = 2
_TELLING = 4  # letters; shorter words are in most prompts and ids


class Lookup:
    """One question to the index.

    `answered_by` is fts5, keyword or none; `healed` how many files were read anew; `trouble` names what kept the index from answering or
    from being up to date; `wants_healing` says that a detached process should see to it.
    """

    __slots__ = (
        "_connection",
        "_deadline",
        "_places",
        "_settings",
        "_share",
        "answered_by",
        "healed",
        "trouble",
        "wants_healing",
    )

    def __init__(self, places: Places, settings: Settings, deadline: Deadline) -> None:
        self._places = places
        self._settings = settings
        self._deadline = deadline
        self._share = prompt_share()  # one for all refreshes of this prompt
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
        """The best injectable memories for a text, best first. An index that turns out to be damaged is made anew, once."""
        self._share.wanted = frozenset(word for word in words(text) if len(word) >= _TELLING)
        for _attempt in range(2):
            try:
                return (
                    self._verified(text, extra, pool) if self._connection is not None or self._open() else []
                )
            except TimeoutError:
                self.trouble = "timeout"
                return []
            except INDEX_FAULTS as error:
                self.trouble = trouble(error)
                self.wants_healing = True
                if not self.trouble.startswith(DAMAGED) or not self._discard():
                    return []
        return []

    def refresh(self) -> None:
        """Bring the index up to date where that takes little, and let go of it; `trouble` says what kept it from that."""
        try:
            self._open()
        except INDEX_FAULTS as error:
            self.trouble = trouble(error)
        finally:
            self.close()

    def first_as_indexed(self, hits: list[Hit], most: int) -> list[Hit]:
        """The first `most` of some hits whose files still hold what was indexed of them."""
        kept: list[Hit] = []
        for hit in hits:
            if len(kept) < most and _is_as_indexed(hit):
                kept.append(hit)
        return kept

    def _verified(self, text: str, extra: str, pool: int) -> list[Hit]:
        """The ranking, made again while files near its top turn out to be edited in place; `first_as_indexed` leaves out what is left."""
        hits = self._ranked(text, extra, pool)
        for _round in range(_ROUNDS):
            edited = [
                hit.path
                for hit in hits[: self._settings.integer("retrieval.max_inject")]
                if not _is_as_indexed(hit)
            ]
            if not edited or not self._heal(edited):
                break
            hits = self._ranked(text, extra, pool)
        return hits

    def _open(self) -> bool:
        try:
            self._connection = open_index(index_path(self._places))
        except IndexMissing:
            return self._make()
        except IndexError_ as error:
            self.trouble = trouble(error)
            return self.trouble != LOCKED and self._make()
        if changed_paths(self._connection) != set():
            self._heal()
        return True

    def _make(self) -> bool:
        """Make an index of the first few files; the others are read detached.

        Of several hooks that find none, one makes it while the others wait a moment.
        """
        path = index_path(self._places)
        try:
            make_folder(os.path.dirname(path))
            with self._lock(min(_MAKE_WAIT, self._deadline.remaining())):
                self._connection = opened_or_made(path)
                if changed_paths(self._connection) != set():
                    self._bring_up()
                return True
        except Busy:
            self.trouble = "healed_elsewhere"
            return self._open_begun(path)
        except (IndexError_, OSError) as error:
            self.trouble = "no_index: %s" % cause(error)
        return False

    def _open_begun(self, path: str) -> bool:
        """Open the index that another process is still filling; what it has committed can be recalled."""
        try:
            self._connection = open_index(path)
        except IndexError_:
            return False
        return True

    def _discard(self) -> bool:
        """Remove a damaged index; whether it is gone."""
        self.close()
        self._connection = None
        try:
            with self._lock(0.0):
                os.unlink(index_path(self._places))
        except OSError:
            return False
        return True

    def _lock(self, wait: float) -> FileLock:
        return FileLock(index_path(self._places) + ".heal", wait)

    def _heal(self, edited: list[str] | None = None) -> bool:
        """Bring the index up to date, after a moment where another process is at it: mostly it reads a few files, too."""
        try:
            with self._lock(_HEAL_WAIT):
                return self._bring_up(edited)
        except Busy:
            self.trouble = "healed_elsewhere"
        except OSError as error:
            self.trouble = "not_healed: %s" % cause(error)
            self.wants_healing = True
        return False

    def _bring_up(self, edited: list[str] | None = None) -> bool:
        """Read a few changed files; whether anything was done, or nothing is left to do. Raises OSError."""
        from .healing import heal

        assert self._connection is not None
        try:
            report = heal(
                self._connection,
                self._places,
                self._settings,
                share=self._share,
                edited=edited or (),
            )
        except SqliteError as error:
            self.trouble = trouble(error)
            if self.trouble.startswith(DAMAGED):
                raise
        else:
            done = report.read + report.dropped + report.regraded
            self.healed += done
            if report.left:
                self.trouble = "healing"
                self.wants_healing = True
            return bool(done or not report.left)
        self.wants_healing = True
        return False

    def _ranked(self, text: str, extra: str, pool: int) -> list[Hit]:
        assert self._connection is not None
        strategy = self._settings.text("retrieval.match_strategy")
        self.answered_by = way = way_to_candidates(self._connection, strategy)
        return rank(self._connection, analyse(text, extra), pool, True, now_iso(), self._deadline, way)


def _is_as_indexed(hit: Hit) -> bool:
    """Whether the file of a memory still holds what was indexed of it."""
    try:
        return digest(read_regular(hit.path, _MAX_FILE)[0]) == hit.digest
    except (FileNotFoundError, Unreadable):
        return False
