"""Whether the clock may be believed when something is deleted for good because its time is over.

A clock that jumps ahead ends every waiting time at once.  A jump looks like a long time without any refresh, so after one, and after a
clock that went back, what is due waits for another day; by then a wrong clock has mostly been put right, which shows as one that went back.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..kernel.clock import now
from ..kernel.state_file import read_state, write_state

if TYPE_CHECKING:
    from ..kernel.paths import Paths

__all__ = ["is_clock_steady"]

_DAY = 86_400
_LONG = 7 * _DAY  # seconds without a refresh that look like a jump
_FILE = "clock.json"


def is_clock_steady(paths: Paths) -> bool:
    """Return whether no jump of the clock was seen for a day, and note the time. Raises OSError when that cannot be noted."""
    path, time = paths.state(_FILE), now()
    seen = read_state(path)
    last, jumped = _seconds(seen.get("last"), time), _seconds(seen.get("jumped"), 0.0)
    if not last <= time <= last + _LONG:
        jumped = time
    write_state(path, {"last": time, "jumped": jumped})
    return time - jumped >= _DAY


def _seconds(value: object, default: float) -> float:
    """Return a time from the file; the default where it holds none."""
    is_time = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_time else default  # type: ignore[arg-type]
