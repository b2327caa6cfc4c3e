"""Keep the marker of a session's open interview, a small file that the prompt hook reads. It exists only while the interview is open.

It records which interview is open, whether to remind Claude, and when the user last typed something in the session. If the user started
the interview with `/memory:interview`, prompts typed while it is open approve the memories that `finish` writes.
"""

from __future__ import annotations

import os

from ..kernel.clock import now
from ..kernel.state_file import read_state, session_file, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Paths

__all__ = ["Reminder"]

_MAX_BYTES = 65536
_APPROVAL_SECONDS = 600.0
_MAX_TOPIC = 120
_LINE = (
    'An interview on "%s" is open (memory interview, id %s). If this prompt answers its last question, pass the answer to'
    " `memory interview answer --session %s` and ask the question that it returns. If the prompt is about something else, do that first."
)


class Reminder:
    """The marker of one session.

    Fields of the file: `interview` (id), `topic`, `word` (approved), `say` (remind Claude) and `typed` (seconds since the epoch).
    """

    __slots__ = ("_path",)

    def __init__(self, paths: Paths, session: str) -> None:
        self._path = session_file(paths, session, "interview")

    def create(self, identity: str, topic: str, *, approved: bool) -> None:
        """Write the marker, so that the next prompt reminds Claude of the interview. Raises OSError."""
        from ..kernel.text.clean import escape, plain  # kept off the prompt path

        marker = {
            "interview": identity,
            "topic": escape(plain(topic, _MAX_TOPIC)),
            "word": approved,
            "say": True,
            "typed": now() if approved else 0.0,
        }
        write_state(self._path, marker)

    def set_active(self, *, active: bool) -> None:
        """Remind Claude on the next prompt, or not, if there is a marker. Raises OSError."""
        marker = self._read()
        if marker:
            write_state(self._path, dict(marker, say=active))

    def delete(self) -> None:
        """Delete the marker, if there is one. Raises OSError."""
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            return

    def record_prompt(self) -> str:
        """Record that the user typed a prompt; return the line for Claude, empty if it was shown before. Raises OSError."""
        marker = self._read()
        topic, identity = marker.get("topic"), marker.get("interview")
        if not isinstance(topic, str) or not isinstance(identity, str):
            return ""
        write_state(self._path, dict(marker, say=False, typed=now()))
        return _LINE % (topic, identity, identity) if marker.get("say") is True else ""

    def is_approved(self, identity: str) -> bool:
        """Return whether the user started this interview in this session and typed something in the last ten minutes."""
        marker = self._read()
        typed = marker.get("typed")
        return (
            marker.get("interview") == identity
            and marker.get("word") is True
            and isinstance(typed, float)
            and 0 <= now() - typed <= _APPROVAL_SECONDS
        )

    def _read(self) -> dict[str, object]:
        return read_state(self._path, _MAX_BYTES)
