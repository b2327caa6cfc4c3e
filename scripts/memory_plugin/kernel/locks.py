"""Locks between processes with a bounded wait: on a network home folder a lock may never be granted."""

from __future__ import annotations

import os
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

try:
    from fcntl import LOCK_EX, LOCK_NB, flock

    def _try_lock(handle: int) -> None:
        flock(handle, LOCK_EX | LOCK_NB)
except ImportError:  # Windows
    from msvcrt import LK_NBLCK, locking  # type: ignore[attr-defined,unused-ignore]

    def _try_lock(handle: int) -> None:
        # The locked byte lies far behind the data, because Windows locks forbid reading what they cover.
        os.lseek(handle, 1 << 40, os.SEEK_SET)
        locking(handle, LK_NBLCK, 1)


__all__ = ["Busy", "FileLock", "lock_handle"]

_PAUSE = 0.002


class Busy(OSError):
    """Another process held the lock for the whole wait."""


def lock_handle(handle: int, wait: float) -> None:
    """Lock an open file against other processes; closing it unlocks. Raises Busy after `wait` seconds."""
    end = monotonic() + wait
    while True:
        try:
            return _try_lock(handle)
        except OSError as error:
            if monotonic() >= end:
                raise Busy("locked by another process: %s" % error.strerror) from None
        sleep(_PAUSE)


class FileLock:
    """A lock file, held inside a `with` block. Entering raises Busy after `wait` seconds, OSError where no file can be made."""

    __slots__ = ("_handle", "_path", "_wait")

    def __init__(self, path: str, wait: float) -> None:
        self._path = path
        self._wait = wait
        self._handle = -1

    def __enter__(self) -> FileLock:  # noqa: PYI034 - `Self` would cost the prompt path an import
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        self._handle = os.open(self._path, flags, 0o600)
        try:
            lock_handle(self._handle, self._wait)
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)
