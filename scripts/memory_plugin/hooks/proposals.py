"""Start the search for memory candidates in a process that outlives the hook."""

from __future__ import annotations

from ..kernel.fastjson import dumps
from .background import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context

__all__ = ["start_proposals"]


def start_proposals(event: str, transcript: str, context: Context) -> bool:
    """Start `memory propose` for the turn or session that an event ended; return False if the process could not be started."""
    request = dumps({"event": event, "session": context.session, "transcript": transcript}).encode("ascii")
    return start(["propose", "--root", context.places.project_root], request)
