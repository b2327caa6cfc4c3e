"""Carry out, in the background, the commands that the user allowed in the client's dialog, once the transcript says that they did."""

from __future__ import annotations

from ..host.background import MAX_INPUT, judge_variables, start
from ..kernel.fastjson import dumps
from ..memories.tickets import end_tickets, settle, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context

_STARTED = "memory: carried out, because you allowed it: `memory %s`"
_FAILED = "memory: not done, because no process could be started: `memory %s`"


def settle_wishes(context: Context, *, wait: float = 0.0, is_last: bool = False) -> list[str]:
    """Start what the user allowed; return lines about it, and about what is not done. `is_last` gives up what is still open.

    Raises OSError.
    """
    allowed, lines = settle(context.paths, context.session, wait=wait, is_last=is_last)
    end_tickets(context.paths, context.session)
    if not allowed:
        return lines
    data = dumps(allowed).encode("ascii")
    root = ["--root", context.paths.project_root]
    is_started = len(data) <= MAX_INPUT and start(["settle", *root], data, judge_variables(context.settings))
    return [*lines, *((_STARTED if is_started else _FAILED) % shown(wish) for wish in allowed)]
