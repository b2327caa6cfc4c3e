"""Locks between processes with a bounded wait: on a network home folder a lock may never be granted.

Some network file systems support no locks. There a `FileLock` is a file that only one process can create, and `lock_handle` does nothing;
its callers append with a single write, which these file systems keep in one piece.
"""

from __future__ import annotations

import errno
import os
from time import monotonic, sleep, time

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
        # Windows does not let others read a locked range, so the locked byte is far behind the data. Some of its C libraries, and Wine's,
        # lock at the low 32 bits of the position.
        os.lseek(handle, 0x7FFF0000, os.SEEK_SET)
        locking(handle, LK_NBLCK, 1)


_PAUSE = 0.002
# Errors of `flock` for a lock that another process holds (Wine sets no number), and for a file system without locks; any other error is
# raised.
_HELD = (0, errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK, errno.EINTR)
_NO_LOCKS = (
    errno.ENOLCK,
    errno.ENOSYS,
    getattr(errno, "EOPNOTSUPP", errno.ENOSYS),
    getattr(errno, "ENOTSUP", errno.ENOSYS),
)
_LOCK_FILE = ".held"
_STALE_SECONDS = 60  # longer than any holder takes; a killed one leaves its file


class Busy(OSError):
    """Raised when another process held the lock for the whole wait."""


def lock_handle(handle: int, wait: float) -> bool:
    """Lock an open file against other processes; closing it unlocks. Return False on a file system without locks.

    Raises Busy after `wait` seconds, and any other error at once.
    """
    end = monotonic() + wait
    while True:
        try:
            _try_lock(handle)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return False
            if error.errno not in _HELD:
                raise
            if monotonic() >= end:
                raise Busy("locked by another process: %s" % error.strerror) from None
        else:
            return True
        sleep(_PAUSE)


def _create_lock_file(path: str, wait: float) -> None:
    """Create the file that represents a lock, replacing that of a killed process. Raises Busy after `wait` seconds."""
    end = monotonic() + wait
    while True:
        try:
            return os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            if _is_stale(path):
                _remove(path)
            elif monotonic() >= end:
                raise Busy("locked by another process: %s exists" % os.path.basename(path)) from None
            else:
                sleep(_PAUSE)


def _is_stale(path: str) -> bool:
    try:
        return abs(time() - os.stat(path).st_mtime) > _STALE_SECONDS
    except OSError:
        return False


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


class FileLock:
    """A lock file, held inside a `with` block. Entering raises Busy after `wait` seconds, and OSError if no file can be created."""

    __slots__ = ("_created", "_handle", "_path", "_wait")

    def __init__(self, path: str, wait: float) -> None:
        self._path = path
        self._wait = wait
        self._handle = -1
        self._created = False

    def __enter__(self) -> FileLock:  # noqa: PYI034 - `Self` would cost the prompt path an import
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        self._handle = os.open(self._path, flags, 0o600)
        try:
            if not lock_handle(self._handle, self._wait):
                _create_lock_file(self._path + _LOCK_FILE, self._wait)
                self._created = True
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._handle)
        if self._created:
            self._created = False
            _remove(self._path + _LOCK_FILE)
