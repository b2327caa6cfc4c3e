"""What Claude was already told in a session, so that it gets neither a memory nor a pointer twice."""

from __future__ import annotations

import os

from ..kernel.fastjson import digest
from ..kernel.state_file import read_state, session_file, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["RecallHistory", "forget_session"]

_MAX_BYTES = 4 << 20


def forget_session(places: Places, session: str) -> None:
    """Delete the history of a session, because its context was compacted or cleared.

    Raises OSError, but not for a session without a history.
    """
    try:
        os.unlink(session_file(places, session))
    except FileNotFoundError:
        return


class RecallHistory:
    """The history of one session: the memories injected and in which turn, the pointers, and whether the header was said.

    A turn is a prompt that was looked up since something was first injected. Keys and texts are saved as digests only. A session without an
    id has no history.
    """

    __slots__ = ("_injected", "_path", "_pointed", "header_said", "turn")

    def __init__(self, places: Places, session: str) -> None:
        self._path = session_file(places, session) if session else ""
        self._injected: dict[str, list[object]] = {}
        self._pointed: dict[str, str] = {}
        self.header_said = False
        self.turn = 1
        if self._path:
            self._load()

    def _load(self) -> None:
        data = read_state(self._path, _MAX_BYTES)
        if not isinstance(data.get("turn"), int):
            return
        self.turn = data["turn"] + 1
        self.header_said = data.get("header") is True
        injected, pointed = data.get("injected"), data.get("pointed")
        if isinstance(injected, dict):
            self._injected = {k: v for k, v in injected.items() if isinstance(v, list) and len(v) == 2}
        if isinstance(pointed, dict):
            self._pointed = {k: v for k, v in pointed.items() if isinstance(v, str)}

    def was_injected(self, key: str, text: str, repeat_after: int) -> bool:
        """Return whether this very text of a memory was injected fewer than `repeat_after` turns ago."""
        said = self._injected.get(_digest(key))
        if said is None or said[0] != _digest(text):
            return False
        return isinstance(said[1], int) and self.turn - said[1] < repeat_after

    def was_pointed(self, key: str, line: str) -> bool:
        """Return whether this very line was given as a pointer to a memory."""
        return self._pointed.get(_digest(key)) == _digest(line)

    def note_injected(self, key: str, text: str) -> None:
        """Note that a memory is injected in this turn."""
        self._injected[_digest(key)] = [_digest(text), self.turn]

    def note_pointed(self, key: str, line: str) -> None:
        """Note that a pointer to a memory is given."""
        self._pointed[_digest(key)] = _digest(line)

    def save(self) -> None:
        """Save the history, with this turn counted, for the next prompt. Raises OSError."""
        if self._path and (self._injected or self._pointed):
            state = {
                "turn": self.turn,
                "header": self.header_said,
                "injected": self._injected,
                "pointed": self._pointed,
            }
            write_state(self._path, state)


def _digest(text: str) -> str:
    return digest(text.encode("utf-8", "replace"), 8)
