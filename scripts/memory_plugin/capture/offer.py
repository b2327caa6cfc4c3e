"""The line at the start of a session that offers new candidates for review."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.fastjson import digest
from ..kernel.state_file import read_state, write_state
from .candidate_file import CandidateFile

if TYPE_CHECKING:
    from ..kernel.context import Context


def due_offer(context: Context) -> str:
    """Return a line for the user, once for each set of open candidates; otherwise ""."""
    settings = context.settings
    if not settings.flag("capture.enabled") or settings.text("capture.offer") == "off":
        return ""
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
