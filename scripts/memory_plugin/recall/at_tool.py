"""Recall at a tool call on a file, from top to bottom: the memories that name the path, the session's history, choice, block, record.

The prepared file of `named_files` says which memories name the path; their texts come from the index.
"""

from __future__ import annotations

from ..kernel.clock import now_iso
from ..kernel.locks import Busy
from .decision import Limits, apply_feedback, choose, render_answer
from .history import TOOL, RecallHistory, remaining_for_tools
from .index_file import INDEX_ERRORS, index_path, open_index
from .named_files import FILE, FOLDER, PATTERN, WAYS
from .ranking import CATEGORIES, HIT_COLUMNS, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context
    from .answer import Answer

_MAX_TEXTS, _MAX_POINTERS = 1, 2
_MAX_CHARACTERS = 9000
_LOCK_TRIES = 3
_BOTH, _ONE = "both", "one"  # as from the judges: approved for the full text, or for a pointer
_ORDER = ("CONSTRAINT", *(category for category in CATEGORIES if category != "CONSTRAINT"))


def recall_at_file(answer: Answer, named: dict[str, str], agent: str, context: Context) -> None:
    """Fill in the answer to a call on a file; `named` maps the key of each memory that names the file to the way."""
    if not remaining_for_tools(RecallHistory(context.paths, context.session, TOOL, agent), context.settings):
        return
    try:
        hits = _documents(named, context)
    except INDEX_ERRORS:
        return
    approvals = {hit.key: _approval(hit, named[hit.key]) for hit in hits}
    fill_in(answer, hits, approvals, agent, context)


def _approval(hit: Hit, way: str) -> str:
    """Return what a memory gets: only a pointer if it names the file in an uncertain way, or if users called it wrong."""
    return _BOTH if way in (FILE, PATTERN, FOLDER) and hit.shift <= 0 else _ONE


def _documents(named: dict[str, str], context: Context) -> list[Hit]:
    """Return the memories that may be injected, the most certain first, with the shift of their thresholds. Raises INDEX_ERRORS."""
    connection = open_index(index_path(context.paths))
    try:
        rows = connection.execute(
            "SELECT %s, updated_at FROM documents WHERE injectable = 1 AND key IN (%s)"
            % (HIT_COLUMNS, ",".join("?" * len(named))),
            list(named),
        ).fetchall()
    finally:
        connection.close()
    now = now_iso()
    rows.sort(
        key=lambda row: row[-1], reverse=True
    )  # the last changed first, within equal ways and categories
    hits = [Hit(row[:-1], 0.0, 1.0, {"way": named[row[0]]}) for row in rows]
    hits = [hit for hit in hits if not hit.expires_at or hit.expires_at > now]
    hits.sort(key=lambda hit: (WAYS.index(named[hit.key]), _category_order(hit.category)))
    apply_feedback(hits, context)
    return hits


def _category_order(category: str) -> int:
    return _ORDER.index(category) if category in _ORDER else len(_ORDER)


def fill_in(answer: Answer, hits: list[Hit], approvals: dict[str, str], agent: str, context: Context) -> None:
    """Choose under the lock of the session's history, so that parallel calls do not repeat a memory, and fill in the answer."""
    place = str(answer.record["place"])
    for attempt in range(_LOCK_TRIES):
        try:
            with RecallHistory(context.paths, context.session, place, agent) as history:
                _choose(answer, hits, approvals, history, context)
                return
        except Busy:
            if attempt == _LOCK_TRIES - 1 or not context.deadline.remaining():
                return
        except OSError:
            return


def _choose(
    answer: Answer, hits: list[Hit], approvals: dict[str, str], history: RecallHistory, context: Context
) -> None:
    settings = context.settings
    left = remaining_for_tools(history, settings)
    limits = Limits(settings, _MAX_CHARACTERS)
    limits.max_inject = min(limits.max_inject, _MAX_TEXTS, left)
    limits.max_pointers = min(limits.max_pointers, _MAX_POINTERS, left)
    choice = choose(hits, approvals, limits, history, Hit.is_current)
    del choice.pointers[max(0, left - len(choice.full)) :]
    if choice.full or choice.pointers:
        render_answer(answer, choice, history, settings.text("retrieval.receipt"))
        answer.record["candidates"] = [_candidate(hit) for hit in choice.full + choice.pointers]


def _candidate(hit: Hit) -> dict[str, Any]:
    if "way" in hit.parts:
        return {"key": hit.key, "way": hit.parts["way"]}
    return {
        "key": hit.key,
        "confidence": round(hit.confidence, 4),
        "pointer_confidence": round(hit.pointer_confidence, 4),
        "score": round(hit.score, 3),
    }
