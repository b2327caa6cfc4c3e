"""Decide whether to trust the clock before something is deleted permanently because its time is over.

A clock that jumps ahead ends every grace period at once. A jump looks like a long time without any refresh. After one, and after a clock
that went back, deletions wait for another day. By then a wrong clock has usually been corrected, which shows as a clock that went back.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..kernel.clock import now
from ..kernel.state_file import read_state, write_state

if TYPE_CHECKING:
    from ..kernel.paths import Paths

_DAY = 86_400
_JUMP = 7 * _DAY  # seconds without a refresh that look like a jump of the clock
_FILE = "clock.json"


def is_clock_steady(paths: Paths) -> bool:
    """Return whether the clock has not jumped for a day, and record the time. Raises OSError if the time cannot be recorded."""
    path, time = paths.state(_FILE), now()
    state = read_state(path)
    last, jumped = _seconds(state.get("last"), time), _seconds(state.get("jumped"), 0.0)
    if not last <= time <= last + _JUMP:
        jumped = time
    write_state(path, {"last": time, "jumped": jumped})
    return time - jumped >= _DAY


def _seconds(value: object, default: float) -> float:
    """Return a time from the file, or the default if it is not one."""
    is_time = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_time else default  # type: ignore[arg-type]
