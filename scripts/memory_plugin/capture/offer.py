"""How candidates reach the user: a line at the start of a session, and a note for Claude if `capture.mode` is `ask`."""

from __future__ import annotations

from ..kernel.data import read_state, session_file, write_state
from ..kernel.fastjson import digest
from .statement_model import may_hold_statement

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


def due_offer(context: Context) -> str:
    """Return a line for the user, once for each set of open candidates; otherwise ""."""
    if context.settings.text("capture.mode") in ("off", "quiet"):
        return ""
    from .candidate_file import CandidateFile  # a prompt imports this module, too

    candidates = CandidateFile(context.paths).load().open
    if not candidates or not _is_due(context, sorted(candidate.id for candidate in candidates)):
        return ""
    subject = "1 thing" if len(candidates) == 1 else "%d things" % len(candidates)
    return "memory: %s from your last sessions may be worth keeping: /memory:review" % subject


def _is_due(context: Context, ids: list[str]) -> bool:
    """Return whether this set of candidates was not offered before, and record the offer."""
    path = context.paths.state("capture", context.paths.project_key + ".told.json")
    offered = digest("\n".join(ids).encode("ascii", "replace"))
    if read_state(path).get("open") == offered:
        return False
    try:
        write_state(path, {"open": offered})
    except OSError:
        return False
    return True


def ask_about(prompt: str, context: Context) -> str:
    """Return the note for Claude if a prompt contains a clear correction or rule, once per session; otherwise "".

    Raises:
        OSError: The session's state cannot be written.
    """
    if context.settings.text("capture.mode") != "ask":
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
