"""Look up a prompt in the index as it is.

Recall never waits for a refresh: if the stores changed, it uses what is indexed, and a background process brings the index up to date. Only
an index that is missing or damaged is created at once, from a few files. A change of trust takes effect at once.
"""

from __future__ import annotations

import os

from ..kernel.context import Context, now_iso
from ..kernel.files import Busy, error_text, os_error_text
from ..kernel.sqlite import Connection
from .index_file import (
    DAMAGED,
    INDEX_ERRORS,
    LOCKED,
    OUTDATED,
    IndexMissing,
    IndexUnavailable,
    changed_paths,
    failure_reason,
    index_path,
    may_rebuild,
    new_decisions,
    open_index,
    refresh_lock,
    unread_files,
)
from .query import Query, analyze
from .ranking import Hit, candidate_backend, rank, unranked

# The endings of watched files that decide what is trusted.
_TRUST = ("trusted.jsonl", "rejected.jsonl", "settings.json")


class Lookup:
    """One query to the index, within the deadline of its context.

    `answered_by` is fts5, keyword or none; `problem` says, for the ledger, why the index could not answer or is not up to date; `unread` is
    how many files a refresh has yet to read; `needs_refresh` asks for a background process that brings the index up to date.
    """

    __slots__ = ("_context", "answered_by", "needs_refresh", "problem", "unread")

    def __init__(self, context: Context) -> None:
        self._context = context
        self.answered_by = "none"
        self.problem = ""
        self.unread = 0
        self.needs_refresh = False

    def best(self, text: str, previous_turn: str, pool: int, whole_store: int = 0) -> list[Hit]:
        """Return at most `pool` injectable memories for a text, best first; a damaged index is rebuilt, once a day.

        The others of a store of at most `whole_store` follow. `previous_turn` has less weight.
        """
        path = index_path(self._context.paths)
        for _attempt in range(2):
            connection = None
            try:
                connection = self._open(path)
                return (
                    self._ranked(connection, analyze(text, previous_turn), pool, whole_store)
                    if connection
                    else []
                )
            except TimeoutError:
                self.problem = "timeout"
                return []
            except INDEX_ERRORS as error:
                self.problem = failure_reason(error)
                self.needs_refresh = True
            finally:
                if connection is not None:
                    connection.close()
            if not self._may_replace(path) or not _remove(path):
                break
        return []

    def _may_replace(self, path: str) -> bool:
        """Return whether to rebuild the index; until a day after the last rebuild, a damaged one stays, in the background too."""
        if self.problem == DAMAGED:
            self.needs_refresh = may_rebuild(path)
            return self.needs_refresh
        return self.problem == OUTDATED

    def _open(self, path: str) -> Connection | None:
        """Open the index, or create it from a few files; if another process does so, use what it has committed."""
        try:
            return open_index(path)
        except IndexUnavailable as error:
            self.needs_refresh = True
            if not isinstance(error, IndexMissing):  # it may have been removed because it was damaged
                self.problem = failure_reason(error)
                if self.problem == LOCKED or (self.problem == DAMAGED and not self._may_replace(path)):
                    return None
        self.problem = refresh_some(self._context) or self.problem
        try:
            return open_index(path)
        except IndexUnavailable:
            return None

    def _ranked(self, connection: Connection, query: Query, pool: int, whole_store: int) -> list[Hit]:
        connection.execute("BEGIN")  # else each statement locks the file, with eight system calls
        changed = changed_paths(connection)
        if changed != set():
            self.problem = self.problem or "refreshing"
            self.unread = unread_files(connection)
            self.needs_refresh = True
        strategy, deadline = self._context.settings.text("retrieval.match_strategy"), self._context.deadline
        self.answered_by = backend = candidate_backend(connection, strategy)
        hits = rank(
            connection,
            query,
            pool,
            only_injectable=True,
            expires_after=now_iso(),
            deadline=deadline,
            backend=backend,
        )
        if whole_store:
            hits += unranked(connection, hits, now_iso(), whole_store)
        if hits and (changed is None or any(path.endswith(_TRUST) for path in changed)):
            return self._without_doubt(connection, hits)
        return hits

    def _without_doubt(self, connection: Connection, hits: list[Hit]) -> list[Hit]:
        """Return the hits without those about which the user decided since they were indexed."""
        from ..memories.trust_file import DecisionFile, decision_paths

        trusted, rejected = map(DecisionFile, decision_paths(self._context.paths))
        accept_from = self._context.settings.texts("trust.accept_from")
        try:
            trusted.load()
            rejected.load()
            decided, _ = new_decisions(connection, trusted, rejected, accept_from)
        except OSError as error:
            self.problem = "not_refreshed: %s" % os_error_text(error)
            return hits
        if decided is None:
            return []
        query = "SELECT full_digest, text_digest, new_phrases FROM documents WHERE key = ?"
        return [
            hit for hit in hits if decided.isdisjoint(connection.execute(query, (hit.key,)).fetchone() or ())
        ]


def _remove(path: str) -> bool:
    """Remove a damaged index; return whether it is gone."""
    try:
        with refresh_lock(path, 0.0):
            os.unlink(path)
    except OSError:
        return False
    return True


def refresh_some(context: Context, wait: float = 0.0) -> str:
    """Bring the index up to date with a few files, unless another process does so for `wait` seconds; return what went wrong, or ""."""
    from .index_refresh import refresh_index
    from .store_refresh import hook_read_budget

    try:
        refresh_index(context.paths, context.settings, 1, full=False, budget=hook_read_budget(), wait=wait)
    except Busy:
        return "refreshed_elsewhere"
    except (*INDEX_ERRORS, OSError) as error:
        return "no_index: %s" % error_text(error)
    return ""
