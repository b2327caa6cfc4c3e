"""A judge asked about a reply after its hook has returned: what is handed over, and how."""

from __future__ import annotations

from ..kernel.native import dumps
from ..replies.state import SessionState
from .detached import MAX_INPUT, start
from .judge_variables import judge_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from ..replies.pipeline import Reply, Score
    from .environment import Taint

__all__ = ["may_ask", "start_grading"]

_MOST_CHARACTERS = 40_000
_MOST_MATCHES = 20


def may_ask(places: Places, settings: Settings, taint: Taint, session: str) -> bool:
    """Whether a judge may be asked about replies here: hybrid mode, switched on by the user, the project clean, not refused before."""
    if (
        settings.text("scoring.mode") != "hybrid"
        or not settings.judge_asked_for("scoring")
        or taint.judges_off
    ):
        return False
    return not SessionState(places, session).judge_is_off()


def start_grading(
    reply: Reply, score: Score, record: dict[str, Any], places: Places, settings: Settings
) -> bool:
    """Start `memory grade` with the reply on its standard input, so that no text lies in a file; whether it was started."""
    room = _MOST_CHARACTERS
    data = _order(reply, score, record, room)
    while len(data) > MAX_INPUT and room > 1000:  # a character may take twelve bytes as JSON
        room //= 2
        data = _order(reply, score, record, room)
    return start(["grade", "--root", places.project_root], data, judge_variables(settings))


def _order(reply: Reply, score: Score, record: dict[str, Any], room: int) -> bytes:
    text = reply.text
    whole = len(text) <= room
    tail_at = len(text) if whole else len(text) - room // 2
    order = {
        "id": score.id,
        "session": reply.session,
        "prompt_id": reply.prompt_id,
        "transcript": reply.transcript,
        "query_type": score.query_type,
        "threshold": score.threshold,
        "padding": score.signals.padding,
        "density": score.signals.density,
        "why": "audit" if record["audit"] else "escalated",
        "replies": record.get("turn", 0),
        "drifted": score.drift.categories if score.drift else [],
        "severity": score.drift.severity if score.drift else "",
        "matches": _within(record["matches"], len(text) if whole else room // 2, tail_at),
        "head": text if whole else text[: room // 2],
        "tail": text[tail_at:],
        "tail_at": tail_at,
    }
    return dumps(order).encode("ascii")


def _within(matches: list[list[Any]], head: int, tail_at: int) -> list[list[Any]]:
    """The matches that lie in what is handed over."""
    return [match for match in matches if match[1] <= head or match[0] >= tail_at][:_MOST_MATCHES]
