"""The open interview of a session, as the next prompt sees it: one small file, there only while the interview is open.

It says which interview is open, whether Claude has to be told, and when the user last typed something in the session: the user's own
`/memory:interview` opened it, so what they type while it is open is their word for what `finish` writes.
"""

from __future__ import annotations

import os

from ..kernel.clock import now
from ..kernel.files import Unreadable, make_folder, read_regular, replace_file
from ..kernel.native import digest, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["Reminder"]

_FOLDER = "sessions"
_MAX_BYTES = 65536
_FRESH_SECONDS = 600.0
_TOPIC = 120
_LINE = (
    'An interview on "%s" is open (memory interview, id %s). If this prompt answers its last question, hand the answer to'
    " `memory interview answer --session %s` and ask what it says next; if it is about something else, do that first."
)


class Reminder:
    """The marker of one session of the client."""

    __slots__ = ("_path",)

    def __init__(self, places: Places, session: str) -> None:
        name = digest(session.encode("utf-8", "replace"), 8) + ".interview.json"
        self._path = places.state(_FOLDER, name)

    def waits(self) -> bool:
        """Whether an interview is open in the session; costs one look at the folder."""
        return os.path.lexists(self._path)

    def leave(self, identity: str, topic: str, *, word: bool) -> None:
        """Let the next prompt say that an interview is open. Raises OSError."""
        from ..kernel.text.clean import escape, plain  # not for the prompt's path

        make_folder(os.path.dirname(self._path))
        self._write(
            {
                "interview": identity,
                "topic": escape(plain(topic, _TOPIC)),
                "word": word,
                "say": True,
                "typed": now() if word else 0.0,
            }
        )

    def again(self) -> None:
        """Let the next prompt say it once more, after the context was compacted. Raises OSError."""
        found = self._read()
        if found:
            self._write(dict(found, say=True))

    def quiet(self) -> None:
        """Say nothing more: no question waits, only the summary. Raises OSError."""
        found = self._read()
        if found:
            self._write(dict(found, say=False))

    def drop(self) -> None:
        """Forget it: the interview is over. Raises OSError."""
        try:
            os.unlink(self._path)
        except FileNotFoundError:
            return

    def prompted(self) -> str:
        """The line for a prompt that the user typed, empty when it was said already; the prompt is noted. Raises OSError."""
        found = self._read()
        topic, identity = found.get("topic"), found.get("interview")
        if not isinstance(topic, str) or not isinstance(identity, str):
            return ""
        self._write(dict(found, say=False, typed=now()))
        return _LINE % (topic, identity, identity) if found.get("say") is True else ""

    def has_word(self, identity: str) -> bool:
        """Whether the user opened this interview in this session and typed something in the last minutes."""
        found = self._read()
        typed = found.get("typed")
        return (
            found.get("interview") == identity
            and found.get("word") is True
            and isinstance(typed, float)
            and 0 <= now() - typed <= _FRESH_SECONDS
        )

    def _read(self) -> dict[str, object]:
        try:
            value = loads(read_regular(self._path, _MAX_BYTES)[0].decode("ascii"))
        except (FileNotFoundError, Unreadable, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def _write(self, value: dict[str, object]) -> None:
        replace_file(self._path, dumps(value).encode("ascii"), durable=False)
