"""Recall after a failed command, from top to bottom: failure, lookup, confidence, choice, block, record."""

from __future__ import annotations

from .at_tool import fill_in
from .decision import apply_feedback
from .failure_confidence import FailedCommand, grade
from .history import FAILURE, RecallHistory, remaining_for_tools
from .lookup import Lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from .at_tool import ToolAnswer

_POOL = 15
_SECONDS = 2.0
# Errors that the client reports although nothing failed: the user or a hook stopped the command.
_REFUSED = (
    "The user doesn't want",
    "The user does not want",
    "[Request interrupted",
    "Permission to use",
    "Permission for this",
    "The project's memory holds this call back",
)


def failed_command(payload: dict[str, object]) -> FailedCommand | None:
    """Return the command that failed and its error; None if it was interrupted or refused, or the tool runs no command."""
    tool_input = payload.get("tool_input")
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    error = payload.get("error")
    if payload.get("is_interrupt") is True or not isinstance(command, str) or not isinstance(error, str):
        return None
    if not error.strip() or error.lstrip().startswith(_REFUSED):
        return None
    return FailedCommand(command, error)


def recall_at_failure(answer: ToolAnswer, failed: FailedCommand, agent: str, context: Context) -> bool:
    """Fill in the answer to a failed command; return whether the index needs a refresh in the background."""
    paths, settings = context.paths, context.settings
    if not remaining_for_tools(RecallHistory(paths, context.session, FAILURE, agent), settings):
        answer.withhold("disabled")
        return False
    lookup = Lookup(context.within(_SECONDS))
    try:
        hits = grade(failed, lookup.best(failed.text, "", _POOL))
        apply_feedback(hits, context)
        answer.record.update(
            answered_by=lookup.answered_by,
            found=len(hits),
            inject_threshold=settings.number("retrieval.inject_threshold"),
            pointer_threshold=settings.number("retrieval.pointer_threshold"),
        )
        if hits:
            fill_in(answer, hits, {}, agent, context)
        else:
            answer.withhold(lookup.problem or "no_match")
        return lookup.needs_refresh
    finally:
        lookup.close()
