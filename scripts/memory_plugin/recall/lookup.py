"""Look up a prompt in the index as it is.

Recall never waits for a refresh: if the stores changed, it uses what is indexed, and a background process brings the index up to date. Only
an index that is missing or damaged is created at once, from a few files.
"""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.files import error_text
from ..kernel.locks import Busy
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
    refresh_lock,
    unread_files,
)
from .ranking import analyze, candidate_backend, rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from ..kernel.sqlite import Connection
    from .ranking import Hit

__all__ = ["Lookup", "create_first"]


class Lookup:
    """One query to the index, within the deadline of its context.

    `answered_by` is fts5, keyword or none; `problem` says, for the ledger, why the index could not answer or is not up to date; `unread` is
    how many files a refresh has yet to read; `needs_refresh` asks for a background process that brings the index up to date.
    """

    __slots__ = ("_connection", "_context", "answered_by", "needs_refresh", "problem", "unread")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._connection: Connection | None = None
        self.answered_by = "none"
        self.problem = ""
        self.unread = 0
        self.needs_refresh = False

    def close(self) -> None:
        """Close the index file."""
        if self._connection is not None:
            self._connection.close()

    def best(self, text: str, previous_turn: str, pool: int) -> list[Hit]:
        """Return at most `pool` injectable memories for a text, best first; a damaged index is rebuilt once.

        `previous_turn` has less weight.
        """
        for _attempt in range(2):
            try:
                if self._connection is None and not self._open():
                    return []
                return self._rank(text, previous_turn, pool)
            except TimeoutError:
                self.problem = "timeout"
                return []
            except INDEX_ERRORS as error:
                self.problem = failure_reason(error)
                self.needs_refresh = True
                if not must_rebuild(error) or not self._discard():
                    return []
        return []

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
        """Open the index, or create it from a few files; return False if there is none to ask."""
        path = index_path(self._context.paths)
        try:
            self._connection = open_index(path)
        except IndexUnavailable as error:
            self.problem = "" if isinstance(error, IndexMissing) else failure_reason(error)
            self.needs_refresh = True
            if is_locked(error) or not self._create(path):
                return False
        assert self._connection is not None
        if changed_paths(self._connection) != set():
            self.problem = self.problem or "refreshing"
            self.unread = unread_files(self._connection)
            self.needs_refresh = True
        return True

    def _create(self, path: str) -> bool:
        """Create an index of the first few files. If another process does so, use what it has committed."""
        problem = create_first(self._context)
        self.problem = problem or self.problem
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


def create_first(context: Context) -> str:
    """Create an index of the first few files, unless another process is at it; return what went wrong, or ""."""
    from .due_files import first_read_budget
    from .index_refresh import refresh_index

    try:
        refresh_index(context.paths, context.settings, 1, budget=first_read_budget(), wait=0.0)
    except Busy:
        return "refreshed_elsewhere"
    except (*INDEX_ERRORS, OSError) as error:
        return "no_index: %s" % error_text(error)
    return ""
