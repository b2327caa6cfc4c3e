"""If `capture.offer` is `ask`, tell Claude once per session that the user may want to keep a clear correction."""

from __future__ import annotations

from ..kernel.state_file import read_state, session_file, write_state
from .hints import may_hold_statement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context

_MIN_STRENGTH = 0.8
_KINDS = ("correction", "rule")
_NOTE = (
    "<memory-capture>The user's message seems to contain a lasting rule. Nothing was stored."
    " The user wants to be asked, at most once per session, whether to keep such a rule as a memory."
    " Store it only if they agree.</memory-capture>"
)


def ask_about(prompt: str, context: Context) -> str:
    """Return the note for Claude if a prompt contains a clear correction or rule, once per session; otherwise "".

    Raises:
        OSError: The session's state cannot be written.
    """
    settings = context.settings
    if settings.text("capture.offer") != "ask" or not settings.flag("capture.enabled"):
        return ""
    if not context.session or not may_hold_statement(prompt):
        return ""
    path = session_file(context.paths, context.session, "asked")
    if read_state(path):
        return ""
    from .statements import find_statements  # imports `re`, which most prompts do not need

    statements = find_statements(prompt)
    if not any(statement.kind in _KINDS and statement.strength >= _MIN_STRENGTH for statement in statements):
        return ""
    write_state(path, {"asked": True})
    return _NOTE
