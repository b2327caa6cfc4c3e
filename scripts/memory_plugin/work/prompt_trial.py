"""A prompt on trial: what a session has when it starts, and what would have answered if it were approved."""

from __future__ import annotations

from typing import Any

from ..kernel.context import Context
from ..kernel.sqlite import SqliteError
from ..memories.trust import PENDING
from ..recall.history import RecallHistory
from ..recall.index_file import IndexUnavailable
from ..recall.memory_search import search
from ..recall.ranking import Hit
from ..recall.session_catalog import current_index, is_catalog_on, session_catalog

_POOL = 5  # matches of a prompt among which pending ones are looked for


def started_history(context: Context) -> RecallHistory:
    """Return the history of a session that has just started with its catalog; it is never saved."""
    history = RecallHistory(context.paths, "")
    connection = current_index(context) if is_catalog_on(context) else None
    if connection is not None:
        try:
            session_catalog(connection, "startup", context, history)
        except SqliteError:  # recall itself says what is wrong with the index
            pass
        finally:
            connection.close()
    return history


def pending_answers(prompt: str, row: dict[str, Any], context: Context) -> list[Hit]:
    """Return the pending memories among the best matches of a prompt that would be shown in full or by title, best first."""
    try:
        hits = search(context.paths, context.settings, prompt, _POOL).hits
    except (IndexUnavailable, SqliteError, RuntimeError):
        return []
    needed = row.get("pointer_threshold") or context.settings.number("retrieval.pointer_threshold")
    return [hit for hit in hits if hit.trust == PENDING and hit.pointer_confidence >= needed]
