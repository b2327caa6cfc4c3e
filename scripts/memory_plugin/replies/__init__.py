"""Replies: score every reply by rules, have the unsure ones judged, correct drift, and improve the rules from overrides.

Here is the state that hooks keep, in small files of the state folder. They are replaced atomically.

Per session: `count` (replies scored so far, and marks of the last ones), `drift` (the correction for the next prompt, or a mark that a
reply is being scored) and `nojudge` (a provider refused).
For all sessions: `tuning.json` (when `memory replies tune` was last run, and how many replies were judged since).
"""

from __future__ import annotations

import os
from time import sleep

from ..kernel.context import now
from ..kernel.fastjson import as_integer, as_number, as_text
from ..kernel.files import remove_file
from ..kernel.paths import Paths, StateChange, read_state, record_once, session_file, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Deadline
    from ..kernel.paths import State

_AWAITED = "awaited"
_TUNING = "tuning.json"
_WEEK = 7 * 86400
_SCORED_WITHIN = 10.0  # seconds after the end of a reply; an older mark is of a process that was killed
_WAIT, _PAUSE = 1.5, 0.01  # seconds that a prompt waits for the score of a reply that has only just ended
_MIN_JUDGED = 20


class ReplyState:
    """The state of one session's replies."""

    def __init__(self, paths: Paths, session: str) -> None:
        self._paths = paths
        self._session = session

    def _path(self, part: str) -> str:
        return session_file(self._paths, self._session, part)

    def replies(self) -> int:
        """Return how many replies of the session were scored."""
        return _replies_in(read_state(self._path("count")))

    def recent(self) -> str:
        """Return the marks of the last replies (see `gate.add_up`)."""
        return as_text(read_state(self._path("count")).get("recent"))

    def count_reply(self, recent: str = "") -> None:
        """Count one more reply, and keep the marks of the last ones. Raises OSError."""
        with StateChange(self._path("count")) as state:
            state.update(replies=_replies_in(state) + 1, recent=recent)

    def disable_judge(self, why: str) -> bool:
        """Ask no judge about later replies of this session; return False if that was so already. Raises OSError."""
        with StateChange(self._path("nojudge")) as state:
            is_new = not state
            state["why"] = why
        return is_new

    def is_judge_disabled(self) -> bool:
        """Return whether the judge was disabled for this session."""
        return os.path.lexists(self._path("nojudge"))

    def save_correction(self, drift_id: str, text: str, hours: float) -> None:
        """Save a correction for the next prompt within `hours`; it replaces an older one. Raises OSError."""
        correction = {"drift": drift_id, "text": text, "left": now(), "hours": hours}
        write_state(self._path("drift"), correction)

    def await_score(self) -> None:
        """Mark that a reply is being scored, so that a prompt waits for its correction; an older one came too late. Raises OSError."""
        write_state(self._path("drift"), {_AWAITED: now()})

    def discard_correction(self) -> None:
        """Delete a pending correction or the mark, because the last reply needs none. Raises OSError."""
        remove_file(self._path("drift"))

    def take_correction(self, deadline: Deadline) -> tuple[str, str]:
        """Remove the pending correction and return its drift's id and its text; both empty if there is none or it is too old."""
        correction = self._scored(deadline.within(_WAIT))
        try:
            os.unlink(self._path("drift"))
            is_current = 0 <= now() - correction["left"] < correction["hours"] * 3600
            return (as_text(correction["drift"]), as_text(correction["text"])) if is_current else ("", "")
        except (OSError, KeyError, TypeError):
            return "", ""  # a correction that cannot be removed would be repeated on every prompt

    def _scored(self, deadline: Deadline) -> State:
        """Return the pending correction, after a short wait if its reply is still being scored; empty if there is none."""
        correction = read_state(self._path("drift"))
        while (
            deadline.remaining() and 0 <= now() - (as_number(correction.get(_AWAITED)) or 0) < _SCORED_WITHIN
        ):
            sleep(_PAUSE)
            correction = read_state(self._path("drift"))
        return correction


def count_judged(paths: Paths) -> None:
    """Count one more judged reply. Raises OSError."""
    with StateChange(paths.state(_TUNING)) as state:
        counted = _tuning_state(state)
        state.update(counted, judged=counted["judged"] + 1)


def _replies_in(state: State) -> int:
    return as_integer(state.get("replies")) or 0


def _tuning_state(state: State) -> dict[str, float]:
    """Return when the count of judged replies began, whether the user was told of it, and the count."""
    start = {"since": now(), "said": 0, "judged": 0}
    return {name: as_number(state.get(name)) or value for name, value in start.items()}


def reset_tuning_reminder(paths: Paths) -> None:
    """Restart the count, because `memory replies tune` was run. Raises OSError."""
    with StateChange(paths.state(_TUNING)) as state:
        state.update(since=now(), said=0, judged=0)


def tuning_reminder(paths: Paths) -> str:
    """Return a line for the user after a week and twenty judged replies without `memory replies tune`, else "".

    The user sees it once: it is marked as shown before it is returned.
    """
    state = _tuning_state(read_state(paths.state(_TUNING)))
    judged = state["judged"]
    is_due = judged >= _MIN_JUDGED and now() - state["since"] >= _WEEK
    if not (is_due and record_once(paths.state(_TUNING), "said", 1)):
        return ""
    return "memory: the judge scored %d replies. To adjust the filler rules: /memory:score-replies" % judged
