"""What a session remembers between its hooks: how many replies were scored, which correction waits, whether a judge may be asked.

Small files, each replaced as a whole, so that no hook waits for a lock: `count` is written when a reply ends, `drift` by whoever finds
drift, and is taken away by the next prompt; `nojudge` says that a judge refused.  Parallel sessions share none of them.
"""

from __future__ import annotations

import os

from ..kernel.clock import now
from ..kernel.files import Unreadable, make_folder, read_regular, replace_file
from ..kernel.native import digest, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["SessionState"]

_FOLDER = "sessions"
_MAX_BYTES = 65536


class SessionState:
    """The state of one session's replies."""

    __slots__ = ("_stem",)

    def __init__(self, places: Places, session: str) -> None:
        self._stem = places.state(_FOLDER, digest(session.encode("utf-8", "replace"), 8))

    def replies(self) -> int:
        """How many replies of the session were scored."""
        number = self._read("count").get("replies")
        return number if isinstance(number, int) and not isinstance(number, bool) else 0

    def count_reply(self) -> int:
        """The number of this reply in the session, from 1. Raises OSError."""
        number = self.replies() + 1
        self._write("count", {"replies": number})
        return number

    def switch_judge_off(self, why: str) -> None:
        """Ask no judge about a reply of this session any more. Raises OSError."""
        self._write("nojudge", {"why": why})

    def judge_is_off(self) -> bool:
        """Whether the judge was switched off for this session."""
        return os.path.lexists(self._path("nojudge"))

    def leave_correction(self, drift_id: str, text: str, hours: float) -> None:
        """Leave a correction for the next prompt, to be said within some hours; a newer one replaces it. Raises OSError."""
        self._write("drift", {"drift": drift_id, "text": text, "left": now(), "hours": hours})

    def drop_correction(self) -> None:
        """Forget a correction that was never taken: a newer reply was scored since. Raises OSError."""
        try:
            os.unlink(self._path("drift"))
        except FileNotFoundError:
            return

    def waits(self) -> bool:
        """Whether a correction waits; costs one look at the folder."""
        return os.path.lexists(self._path("drift"))

    def take_correction(self) -> tuple[str, str]:
        """The id of the drift and the correction that waits, taken away so that it is said once; empty when none waits or it is too old."""
        found = self._read("drift")
        if not found:
            return "", ""
        try:
            os.unlink(self._path("drift"))
        except OSError:
            return "", ""  # said again on every prompt would be worse than not said
        text, drift_id, left, hours = (found.get(name) for name in ("text", "drift", "left", "hours"))
        if (
            not isinstance(text, str)
            or not isinstance(drift_id, str)
            or not isinstance(left, float)
            or not isinstance(hours, (int, float))
        ):
            return "", ""
        return (drift_id, text) if 0 <= now() - left < hours * 3600 else ("", "")

    def _path(self, part: str) -> str:
        return "%s.%s.json" % (self._stem, part)

    def _read(self, part: str) -> dict[str, object]:
        try:
            value = loads(read_regular(self._path(part), _MAX_BYTES)[0].decode("ascii"))
        except (FileNotFoundError, Unreadable, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    def _write(self, part: str, value: dict[str, object]) -> None:
        make_folder(os.path.dirname(self._stem))
        replace_file(self._path(part), dumps(value).encode("ascii"), durable=False)
