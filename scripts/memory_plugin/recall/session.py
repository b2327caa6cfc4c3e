"""What a session was told already, so that the same memory is not put before Claude twice."""

from __future__ import annotations

import os

from ..kernel.files import Unreadable, make_folder, read_regular, replace_file
from ..kernel.native import digest, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["Told", "forget_session"]

_MAX_BYTES = 4 << 20


def _path(places: Places, session: str) -> str:
    return places.state("sessions", digest(session.encode("utf-8", "replace"), 8) + ".json")


def forget_session(places: Places, session: str) -> None:
    """Forget what a session was told, for its context was compacted or cleared. Raises OSError, not for a session that was told nothing."""
    try:
        os.unlink(_path(places, session))
    except FileNotFoundError:
        return


class Told:
    """What one session was told: for each memory the digest of the text and the turn in which it was injected.

    A turn is a prompt that was looked up since the session was first told something.  A session without an id is told anew each time.
    """

    __slots__ = ("_given", "_path", "turn")

    def __init__(self, places: Places, session: str) -> None:
        self._path = _path(places, session) if session else ""
        self._given: dict[str, list[object]] = {}
        self.turn = 1
        if self._path:
            self._load()

    def _load(self) -> None:
        try:
            data = loads(read_regular(self._path, _MAX_BYTES)[0].decode("ascii"))
        except (FileNotFoundError, Unreadable, ValueError):
            return
        if (
            isinstance(data, dict)
            and isinstance(data.get("given"), dict)
            and isinstance(data.get("turn"), int)
        ):
            self._given = {k: v for k, v in data["given"].items() if isinstance(v, list) and len(v) == 2}
            self.turn = data["turn"] + 1

    def knows(self, key: str, text: str, repeat_after: int) -> bool:
        """Whether this very text of a memory was injected fewer than `repeat_after` turns ago."""
        given = self._given.get(key)
        if given is None or given[0] != _digest(text):
            return False
        return isinstance(given[1], int) and self.turn - given[1] < repeat_after

    def note(self, key: str, text: str) -> None:
        """Note that a memory is injected in this turn."""
        self._given[key] = [_digest(text), self.turn]

    def save(self) -> None:
        """Keep it, and that a turn has passed, for the next prompt. Raises OSError."""
        if self._path and self._given:
            make_folder(os.path.dirname(self._path))
            replace_file(
                self._path, dumps({"turn": self.turn, "given": self._given}).encode("ascii"), durable=False
            )


def _digest(text: str) -> str:
    return digest(text.encode("utf-8", "replace"), 8)
