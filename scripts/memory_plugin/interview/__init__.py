"""Interviews. Here is what the prompt hook needs of them: the marker of a session's open interview.

The marker is a small file that exists only while the interview is open. Its fields are `interview` (id), `topic` and `say` (remind Claude).
"""

from __future__ import annotations

from ..kernel.fastjson import as_text
from ..kernel.paths import Paths, StateChange, session_file, write_state

_MAX_TOPIC = 120
_LINE = (
    'An interview on "%s" is open (memory interview, id %s). If this prompt answers its last question, pass the answer to'
    " `memory interview answer --session %s` and ask the question that it returns. If the prompt is about something else, do that first."
)


class Reminder:
    """The marker of one session. Each method raises OSError."""

    def __init__(self, paths: Paths, session: str) -> None:
        self._path = session_file(paths, session, "interview")

    def create(self, identity: str, topic: str) -> None:
        """Write the marker, so that the next prompt reminds Claude of the interview."""
        from ..kernel.text.clean import escape, plain  # kept off the prompt path

        shown = escape(plain(topic, _MAX_TOPIC))
        write_state(self._path, {"interview": identity, "topic": shown, "say": True})

    def set_active(self, *, active: bool) -> None:
        """Remind Claude on the next prompt, or not, if there is a marker."""
        with StateChange(self._path) as marker:
            if marker:
                marker["say"] = active

    def delete(self) -> None:
        """Delete the marker, if there is one."""
        with StateChange(self._path) as marker:
            marker.clear()

    def take_line(self) -> str:
        """Return the line for Claude about a prompt, empty if it was shown before."""
        with StateChange(self._path) as marker:
            topic, interview = as_text(marker.get("topic")), as_text(marker.get("interview"))
            if not (marker.get("say") and interview):
                return ""
            marker["say"] = False
        return _LINE % (topic, interview, interview)
