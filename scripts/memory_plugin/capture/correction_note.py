"""With `capture.offer` set to `ask`: tell Claude once a session that the user may want a clear correction kept."""

from __future__ import annotations

from ..kernel.state_file import read_state, session_file, write_state
from .hints import may_hold_statement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context

__all__ = ["ask_about"]

_LEAST_STRENGTH = 0.8
_KINDS = ("correction", "rule")
_NOTE = (
    "<memory-capture>The user's message seems to hold a rule that is meant to last. Nothing was stored."
    " The user has switched on being asked, at most once a session, whether such a rule is to be kept as a memory."
    " It is stored only if they say so.</memory-capture>"
)


def ask_about(prompt: str, context: Context) -> str:
    """Return a note for Claude if a prompt holds a clear correction or rule, once a session; else an empty text. Raises OSError."""
    settings = context.settings
    if settings.text("capture.offer") != "ask" or not settings.flag("capture.enabled"):
        return ""
    if not context.session or not may_hold_statement(prompt):
        return ""
    path = session_file(context.paths, context.session, "asked")
    if read_state(path):
        return ""
    from .statements import find_statements  # it needs `re`, which a prompt mostly does without

    statements = find_statements(prompt)
    if not any(
        statement.kind in _KINDS and statement.strength >= _LEAST_STRENGTH for statement in statements
    ):
        return ""
    write_state(path, {"asked": True})
    return _NOTE
