"""The marker of a session's open interview, for the next prompt: a small file that exists only while the interview is open.

It says which interview is open, whether Claude has to be told, and when the user last typed something in the session. When the user's own
`/memory:interview` started it, prompts typed while it is open approve what `finish` writes.
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
    'An interview on "%s" is open (memory interview, id %s). If this prompt answers its last question, hand the answer to'
    " `memory interview answer --session %s` and ask what it says next; if it is about something else, do that first."
)


class Reminder:
    """The marker of one session. Its fields are `interview`, `topic`, `word` (approved), `say` and `typed`."""

    __slots__ = ("_path",)

    def __init__(self, paths: Paths, session: str) -> None:
        self._path = session_file(paths, session, "interview")

    def waits(self) -> bool:
        """Return whether an interview is open in the session, by one look at its marker."""
        return os.path.lexists(self._path)

    def create(self, identity: str, topic: str, *, approved: bool) -> None:
        """Write the marker, so that the next prompt tells Claude about the interview. Raises OSError."""
        from ..kernel.text.clean import escape, plain  # kept off the prompt path

        marker = {
            "interview": identity,
            "topic": escape(plain(topic, _MAX_TOPIC)),
            "word": approved,
            "say": True,
            "typed": now() if approved else 0.0,
        }
        write_state(self._path, marker)

    def again(self) -> None:
        """Let the next prompt tell Claude again, after the context was compacted. Raises OSError."""
        found = self._read()
        if found:
            write_state(self._path, dict(found, say=True))

    def silence(self) -> None:
        """Stop reminding Claude, because no question is pending, only the summary. Raises OSError."""
        found = self._read()
        if found:
            write_state(self._path, dict(found, say=False))

    def delete(self) -> None:
        """Delete the marker: the interview is over. Raises OSError."""
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            return

    def prompted(self) -> str:
        """Record that the user typed a prompt; return the line for Claude, empty when it was told already. Raises OSError."""
        found = self._read()
        topic, identity = found.get("topic"), found.get("interview")
        if not isinstance(topic, str) or not isinstance(identity, str):
            return ""
        write_state(self._path, dict(found, say=False, typed=now()))
        return _LINE % (topic, identity, identity) if found.get("say") is True else ""

    def is_approved(self, identity: str) -> bool:
        """Return whether the user started this interview in this session and typed something in the last ten minutes."""
        found = self._read()
        typed = found.get("typed")
        return (
            found.get("interview") == identity
            and found.get("word") is True
            and isinstance(typed, float)
            and 0 <= now() - typed <= _APPROVAL_SECONDS
        )

    def _read(self) -> dict[str, object]:
        return read_state(self._path, _MAX_BYTES)
