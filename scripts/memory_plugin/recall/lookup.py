"""Look up a prompt in the index, and bring the index up to date first if that takes little time.

Recall does not wait for a locked index, rebuilds a damaged one once, and never uses the old text of an edited file.
"""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.files import error_text, make_folder, os_error_text
from ..kernel.locks import Busy
from ..kernel.sqlite import SqliteError
from ..kernel.text.tokens import tokenize
from .index_file import (
    INDEX_ERRORS,
    IndexMissing,
    IndexUnavailable,
    changed_paths,
    failure_reason,
    index_path,
    is_locked,
    must_rebuild,
    open_index,
    open_or_create,
    refresh_lock,
)
from .ranking import analyze, candidate_backend, rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from ..kernel.sqlite import Connection
    from .due_files import ReadBudget
    from .ranking import Hit

__all__ = ["Lookup"]

_CREATE_WAIT = 1.0  # seconds
_REFRESH_WAIT = 0.1
_RANK_AGAIN = 2  # times, if files near the top were edited
_MIN_WANTED = 4  # letters; shorter words are in most prompts and ids


class Lookup:
    """One query to the index, within the deadline of its context.

    `answered_by` is fts5, keyword or none; `refreshed` is the number of files that were read again; `problem` says, for the ledger, why
    the index could not answer or is not up to date; `needs_refresh` asks for a background process that brings it up to date.
    """

    __slots__ = (
        "_budget",
        "_connection",
        "_context",
        "_wanted",
        "answered_by",
        "needs_refresh",
        "problem",
        "refreshed",
    )

    def __init__(self, context: Context) -> None:
        self._context = context
        self._budget: ReadBudget | None = None
        self._wanted: frozenset[str] = frozenset()
        self._connection: Connection | None = None
        self.answered_by = "none"
        self.refreshed = 0
        self.problem = ""
        self.needs_refresh = False

    def close(self) -> None:
        """Close the index file."""
        if self._connection is not None:
            self._connection.close()

    def best(self, text: str, previous_turn: str, pool: int) -> list[Hit]:
        """Return at most `pool` injectable memories for a text, best first; a damaged index is rebuilt once.

        `previous_turn` has less weight.
        """
        self._wanted = frozenset(word for word in tokenize(text) if len(word) >= _MIN_WANTED)
        for _attempt in range(2):
            try:
                if self._connection is None and not self._open():
                    return []
                return self._rank_current(text, previous_turn, pool)
            except TimeoutError:
                self.problem = "timeout"
                return []
            except INDEX_ERRORS as error:
                self.problem = failure_reason(error)
                self.needs_refresh = True
                if not must_rebuild(error) or not self._discard():
                    return []
        return []

    def refresh(self) -> None:
        """Bring the index up to date if that takes little time, and close it; a failure is in `problem`."""
        try:
            self._open()
        except INDEX_ERRORS as error:
            self.problem = failure_reason(error)
        finally:
            self.close()

    def _rank_current(self, text: str, previous_turn: str, pool: int) -> list[Hit]:
        """Rank, and rank again if files near the top were edited in place; the caller checks the others."""
        hits = self._rank(text, previous_turn, pool)
        for _round in range(_RANK_AGAIN):
            top = hits[: self._context.settings.integer("retrieval.max_inject")]
            edited = [hit.path for hit in top if not hit.is_current()]
            if not edited or not self._refresh(edited):
                break
            hits = self._rank(text, previous_turn, pool)
        return hits

    def _rank(self, text: str, previous_turn: str, pool: int) -> list[Hit]:
        assert self._connection is not None
        strategy = self._context.settings.text("retrieval.match_strategy")
        self.answered_by = backend = candidate_backend(self._connection, strategy)
        deadline = self._context.deadline
        return rank(
            self._connection,
            analyze(text, previous_turn),
            pool,
            only_injectable=True,
            expires_after=now_iso(),
            deadline=deadline,
            backend=backend,
        )

    def _open(self) -> bool:
        """Open the index and bring it up to date; return False if there is none to ask."""
        try:
            self._connection = open_index(index_path(self._context.paths))
        except IndexMissing:
            return self._create()
        except IndexUnavailable as error:
            self.problem = failure_reason(error)
            return not is_locked(error) and self._create()
        if changed_paths(self._connection) != set():
            self._refresh()
        return True

    def _create(self) -> bool:
        """Create an index of the first few files; a background process reads the others.

        If several hooks find no index, one creates it while the others wait up to a second.
        """
        path = index_path(self._context.paths)
        try:
            make_folder(os.path.dirname(path))
            with refresh_lock(path, min(_CREATE_WAIT, self._context.deadline.remaining())):
                self._connection = open_or_create(path)
                if changed_paths(self._connection) != set():
                    self._read_some()
                return True
        except Busy:
            self.problem = "refreshed_elsewhere"
            return self._open_unfinished(path)
        except (IndexUnavailable, OSError) as error:
            self.problem = "no_index: %s" % error_text(error)
        return False

    def _open_unfinished(self, path: str) -> bool:
        """Open the index that another process is filling; recall uses what is committed already."""
        try:
            self._connection = open_index(path)
        except IndexUnavailable:
            return False
        return True

    def _discard(self) -> bool:
        """Remove a damaged index; return whether it is gone."""
        self.close()
        self._connection = None
        path = index_path(self._context.paths)
        try:
            with refresh_lock(path, 0.0):
                os.unlink(path)
        except OSError:
            return False
        return True

    def _refresh(self, edited: list[str] | None = None) -> bool:
        """Bring the index up to date; if another process does so, wait briefly, because it usually reads only a few files."""
        try:
            with refresh_lock(index_path(self._context.paths), _REFRESH_WAIT):
                return self._read_some(edited)
        except Busy:
            self.problem = "refreshed_elsewhere"
        except OSError as error:
            self.problem = "not_refreshed: %s" % os_error_text(error)
            self.needs_refresh = True
        return False

    def _read_some(self, edited: list[str] | None = None) -> bool:
        """Read a few changed files; return whether any was read, or none is left. Raises OSError."""
        from .due_files import prompt_read_budget
        from .index_refresh import refresh

        assert self._connection is not None
        self._budget = self._budget or prompt_read_budget(
            self._wanted
        )  # one budget for all refreshes of this prompt
        paths, settings = self._context.paths, self._context.settings
        try:
            report = refresh(self._connection, paths, settings, budget=self._budget, edited=edited or ())
        except SqliteError as error:
            self.problem = failure_reason(error)
            if must_rebuild(error):
                raise
            self.needs_refresh = True
            return False
        updated = report.read + report.dropped + report.reflagged
        self.refreshed += updated
        if report.remaining:
            self.problem = "refreshing"
            self.needs_refresh = True
        if report.problem:
            self.problem = "not_read: %s" % report.problem
        return bool(updated or not report.remaining)
