"""Time: one format for all records, and a deadline shared by all waits of a hook."""

from __future__ import annotations

from time import gmtime, monotonic, strftime, time


def now() -> float:
    """Return the seconds since 1970, UTC."""
    return time()


def iso(seconds: float) -> str:
    """Return a time in UTC with whole seconds (RFC 3339), such as `2026-03-01T08:00:00Z`; these texts sort by time."""
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(seconds))


def now_iso() -> str:
    """Return the current time as `iso` formats it."""
    return iso(time())


class Deadline:
    """A point in time, passed to every call that may wait."""

    __slots__ = ("_end", "_start")

    def __init__(self, seconds: float) -> None:
        self._start = monotonic()
        self._end = self._start + seconds

    def remaining(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self._end - monotonic())

    def elapsed_ms(self) -> float:
        """Return the milliseconds since the deadline was set, rounded to a tenth."""
        return round((monotonic() - self._start) * 1000, 1)

    def within(self, seconds: float) -> Deadline:
        """Return a deadline at most that many seconds from now, and never later than this one."""
        return Deadline(min(seconds, self.remaining()))


def days_ago(days: int) -> str:
    """Return the time that many days ago, in the format of ledgers."""
    return iso(now() - days * 86400)
