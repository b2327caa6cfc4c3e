"""Recall at a tool call on a file, from top to bottom: the memories that name the path, the session's history, choice, block, record.

The prepared file of `named_files` says which memories name the path; their texts come from the index.
"""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.fastjson import digest
from ..kernel.files import read_regular
from ..kernel.locks import Busy
from .decision import Limits, choose, render_answer
from .history import TOOL, RecallHistory, remaining_for_tools
from .index_file import INDEX_ERRORS, failure_reason, index_path, open_index
from .named_files import FILE, FOLDER, PATTERN, WAYS
from .ranking import CATEGORIES, HIT_COLUMNS, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context

__all__ = ["ToolAnswer", "apply_feedback", "fill_in", "recall_at_file"]

_MOST_TEXTS, _MOST_POINTERS = 1, 2
_MAX_CHARACTERS = 9000
_MAX_FILE = 512 * 1024
_LOCK_TRIES = 3
_BOTH, _ONE = "both", "one"  # as judges approve: the full text, or a pointer
_ORDER = ("CONSTRAINT", *(category for category in CATEGORIES if category != "CONSTRAINT"))


class ToolAnswer:
    """The answer at a tool call: the text for Claude (may be empty), the line for the user, and the record, saved only with a text."""

    __slots__ = ("context", "receipt", "record")

    def __init__(self, place: str, tool: str, call: str) -> None:
        self.context = ""
        self.receipt = ""
        self.record: dict[str, Any] = {
            "place": place,
            "outcome": "failed",
            "reason": "fault",
            "answered_by": "rules",
            "candidates": [],
            "injected": [],
            "pointed": [],
            "tool": tool,
            "tool_use_id": call,
        }

    def silent(self, reason: str) -> ToolAnswer:
        """Return this answer, recorded as silent for a reason."""
        self.record.update(outcome="silent", reason=reason)
        return self


def recall_at_file(answer: ToolAnswer, named: dict[str, str], agent: str, context: Context) -> ToolAnswer:
    """Fill in and return the answer to a call on a file; `named` maps each memory that names the file to the way in which it does."""
    if not remaining_for_tools(RecallHistory(context.paths, context.session, TOOL, agent), context.settings):
        return answer.silent("disabled")
    try:
        hits = _documents(named, context)
    except INDEX_ERRORS as error:
        return answer.silent(failure_reason(error))
    if not hits:
        return answer.silent("no_match")
    approvals = {hit.key: _BOTH if _is_sure(named[hit.key]) and hit.shift <= 0 else _ONE for hit in hits}
    return fill_in(answer, hits, approvals, agent, context)


def _is_sure(way: str) -> bool:
    return way in (FILE, PATTERN, FOLDER)


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
    found = [(Hit(row[:-1], 0.0, 1.0, {"way": named[row[0]]}), row[-1]) for row in rows]
    found.sort(key=lambda pair: pair[1], reverse=True)
    hits = [hit for hit, _ in found if not hit.expires_at or hit.expires_at > now]
    hits.sort(key=lambda hit: (WAYS.index(named[hit.key]), _rank(hit.category)))
    apply_feedback(hits, context)
    return hits


def _rank(category: str) -> int:
    return _ORDER.index(category) if category in _ORDER else len(_ORDER)


def apply_feedback(hits: list[Hit], context: Context) -> None:
    """Set each hit's threshold shift from feedback: a memory that users called wrong gets only a pointer here."""
    if not os.path.exists(context.paths.state("feedback.json")):
        return
    from .feedback import Feedback

    feedback = Feedback(context.paths)
    for hit in hits:
        hit.shift = feedback.shift(hit.key)


def fill_in(
    answer: ToolAnswer, hits: list[Hit], approvals: dict[str, str], agent: str, context: Context
) -> ToolAnswer:
    """Choose under the lock of the session's history, so that parallel calls do not repeat a memory, and fill in the answer."""
    place = str(answer.record["place"])
    for attempt in range(_LOCK_TRIES):
        try:
            with RecallHistory(context.paths, context.session, place, agent) as history:
                return _choose(answer, hits, approvals, history, context)
        except Busy:
            if attempt == _LOCK_TRIES - 1 or not context.deadline.remaining():
                break
        except OSError:
            break
    return answer.silent("index_locked")


def _choose(
    answer: ToolAnswer, hits: list[Hit], approvals: dict[str, str], history: RecallHistory, context: Context
) -> ToolAnswer:
    settings = context.settings
    left = remaining_for_tools(history, settings)
    limits = Limits(settings, _MAX_CHARACTERS)
    limits.max_inject = min(limits.max_inject, _MOST_TEXTS, left)
    limits.max_pointers = min(limits.max_pointers, _MOST_POINTERS, left)
    choice = choose(hits, approvals, limits, history, is_current)
    del choice.pointers[max(0, left - len(choice.full)) :]
    if not choice.full and not choice.pointers:
        return answer.silent(choice.reason or "over_limit")
    render_answer(answer, choice, history, settings.text("retrieval.receipt"))
    answer.record["candidates"] = [_candidate(hit) for hit in choice.full + choice.pointers]
    return answer


def _candidate(hit: Hit) -> dict[str, Any]:
    if "way" in hit.parts:
        return {"key": hit.key, "way": hit.parts["way"]}
    sure = {"confidence": round(hit.confidence, 4), "pointer_confidence": round(hit.pointer_confidence, 4)}
    return {"key": hit.key, **sure, "score": round(hit.score, 3)}


def is_current(hit: Hit) -> bool:
    """Return whether the file of a memory is unchanged since it was indexed."""
    try:
        return digest(read_regular(hit.path, _MAX_FILE)[0]) == hit.digest
    except OSError:
        return False
