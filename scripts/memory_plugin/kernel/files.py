"""File access that is safe for untrusted folders, and locks between processes.

A file in a repository may be a link, a pipe or a terabyte large; opening it must neither block nor lead elsewhere: regular files only, no
links followed, bounded sizes, atomic replacement. On a network home folder a lock may never be granted, so each wait is bounded. Some
network file systems support no locks. There everything works without them: files are replaced and lines appended in one piece, but of two
changes at the same moment one may be lost.
"""

from __future__ import annotations

import errno
import os
import stat as modes
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

# Without it Windows writes CR before each LF, and reads no further than 0x1A.
BINARY = getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | BINARY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY | getattr(os, "O_CLOEXEC", 0) | _NO_LINKS
READ_WRITE = os.O_RDWR | os.O_CREAT | BINARY | getattr(os, "O_CLOEXEC", 0) | _NO_LINKS
APPEND = READ_WRITE | os.O_APPEND

# Errors of `open` that last until the file or its permissions change. None: a path that cannot exist raises ValueError, without a number.
_LASTING = (
    None, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENXIO, errno.EISDIR, errno.ENODEV, errno.ENAMETOOLONG, errno.EINVAL,
)  # fmt: skip

_DRAFT_BYTES = 4
_DRAFT_END = ".tmp"


class Unreadable(OSError):
    """Raised for a file that exists but is not read: a link, a pipe, a folder, too large, or not permitted."""


class ReadFailed(Unreadable):
    """Raised for a file that temporarily could not be read: a failing disk, too many open files, a lock of a file server."""

    def __init__(self, path: str, cause: str) -> None:
        super().__init__("%s: %s" % (path, cause))
        self.strerror = cause


def error_text(error: Exception) -> str:
    """Return the text of an error; for an OSError `PATH: CAUSE`, without Python's error number."""
    if not isinstance(error, OSError):
        return str(error)
    cause = "not there" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
    return cause if error.filename is None else "%s: %s" % (os.fsdecode(error.filename), cause)


def os_error_text(error: Exception) -> str:
    """Return the OS error text without its path, for ledgers; for any other error the name of its class."""
    return getattr(error, "strerror", None) or type(error).__name__


def bug_text(error: BaseException) -> str:
    """Return the class of an error, and the file and line that raised it, without its text, which may quote the user."""
    trace, place = error.__traceback__, "unknown"
    while trace is not None:
        place = "%s:%d" % (os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno)
        trace = trace.tb_next
    return "%s at %s" % (type(error).__name__, place)


def stamp(status: os.stat_result) -> str:
    """Return a string that changes whenever the file does: its modification time in ns, size and inode."""
    return "%d:%d:%d" % (status.st_mtime_ns, status.st_size, status.st_ino)


def read_regular(path: str, limit: int, follow: bool = False) -> tuple[bytes, os.stat_result]:
    """Return the content of a regular file of at most `limit` bytes, with its status.

    Raises FileNotFoundError when nothing is there and Unreadable, naming the cause, for everything else.
    """
    if not _NO_LINKS and not follow and os.path.islink(path):  # Windows opens what the link names
        raise Unreadable("%s: a symbolic link" % path)
    try:
        handle = os.open(path, _READ if follow else _READ | _NO_LINKS)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(errno.ENOENT, "not there", path) from None
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        reason = getattr(error, "strerror", None) or str(error)
        if number not in _LASTING:
            raise ReadFailed(path, reason) from None
        raise Unreadable("%s: %s" % (path, "a symbolic link" if number == errno.ELOOP else reason)) from None
    try:
        status = os.fstat(handle)
        if not modes.S_ISREG(status.st_mode):
            raise Unreadable("%s: not a regular file" % path)
        if status.st_size > limit:
            raise Unreadable("%s: expected at most %d bytes, got %d" % (path, limit, status.st_size))
        return _read_all(handle, limit, path), status
    finally:
        os.close(handle)


def open_to_read(path: str, flags: int) -> int:
    """Open a regular file that is no link, as the `opener` of `open`. Raises OSError for any other."""
    return open_regular(path, flags | _NO_LINKS)


def open_regular(path: str, flags: int) -> int:
    """Open a regular file, or the one that a link names, as the `opener` of `open`. Raises OSError for a pipe or a device."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    try:
        require_regular(handle)
    except OSError:
        os.close(handle)
        raise
    return handle


def seek_tail(file: IO[bytes], size: int) -> None:
    """Go to the first whole line within the last `size` bytes of a file."""
    if file.seek(0, os.SEEK_END) <= size:
        file.seek(0)
    else:
        file.seek(-size, os.SEEK_END)
        file.readline()


def require_regular(handle: int) -> None:
    """Raise OSError for a pipe or a device, where writes are lost and reads can block forever."""
    if not modes.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def append_lines(path: str, data: bytes, *, wait: float | None = None, durable: bool = False) -> int:
    """Append whole lines in one write, all or none, to a regular file, and return its size; a line that was cut off is ended.

    A missing file is created. With `wait`, the file is locked meanwhile, and that many seconds are waited for its lock. Waits for the disk
    if `durable`. Raises OSError, including Busy; then the write is undone if possible.
    """
    handle = os.open(path, APPEND, 0o600)
    try:
        require_regular(handle)
        if wait is not None:
            lock_handle(handle, wait)
        return _append(handle, data, durable)
    finally:
        os.close(handle)


def _append(handle: int, data: bytes, durable: bool) -> int:
    size = os.fstat(handle).st_size
    if size:
        os.lseek(handle, -1, os.SEEK_END)
        if os.read(handle, 1) != b"\n":
            data = b"\n" + data
    try:
        _write_once(handle, data)
        if durable:
            os.fsync(handle)
    except OSError:
        os.ftruncate(handle, size)
        raise
    return size + len(data)


def _write_once(handle: int, data: bytes) -> None:
    if os.write(handle, data) != len(data):
        raise OSError(errno.ENOSPC, "disk full")


def _read_all(handle: int, limit: int, path: str) -> bytes:
    parts: list[bytes] = []
    remaining = limit + 1
    try:
        while remaining > 0 and (part := os.read(handle, remaining)):
            parts.append(part)
            remaining -= len(part)
    except OSError as error:
        raise ReadFailed(path, error.strerror or "not read") from None
    if remaining <= 0:
        raise Unreadable("%s: grew beyond %d bytes" % (path, limit))
    return b"".join(parts)


def make_folder(path: str, mode: int = 0o700) -> None:
    """Make a folder and its parents, readable by their owner alone; existing ones keep their mode. Raises OSError."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent and parent != path:
        make_folder(parent, mode)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", path) from None


def replace_file(path: str, data: bytes, mode: int = 0o600, durable: bool = True) -> None:
    """Write a file atomically: a reader sees the old content or the new one. Raises OSError.

    `durable` False: do not wait for the disk, for data that may be lost in a power failure.
    """
    draft = "%s.%d.%s%s" % (path, os.getpid(), os.urandom(_DRAFT_BYTES).hex(), _DRAFT_END)
    try:
        handle = os.open(draft, _CREATE, mode)
        try:
            _write_all(handle, data)
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)
        _rename(draft, path)
    except BaseException as error:
        if os.path.lexists(draft):
            os.unlink(draft)
        if isinstance(error, OSError):
            error.filename = path  # a write through a descriptor names no file
        raise


def _rename(draft: str, path: str) -> None:
    """Rename a file over another; on Windows, wait for up to a quarter of a second while a reader has the other open."""
    for _ in range(25 if os.name == "nt" else 0):
        try:
            return os.replace(draft, path)
        except PermissionError:
            sleep(0.01)
    return os.replace(draft, path)


def replace_if_changed(path: str, content: bytes, limit: int) -> bool:
    """Write a file if its content changed, or delete it for empty content; return whether it changed. Raises OSError.

    An existing file of more than `limit` bytes is replaced without being compared.
    """
    try:
        current = read_regular(path, limit)[0]
    except OSError:
        current = b""
    if content == current:
        return False
    if content:
        make_folder(os.path.dirname(path))
        replace_file(path, content, durable=False)
    else:
        remove_file(path)
    return True


def write_problem(folder: str) -> str:
    """Return why no file can be written in a folder; empty if one can be."""
    path = os.path.join(folder, ".probe")
    try:
        replace_file(path, b"probe", durable=False)
        os.unlink(path)
    except OSError as error:
        return os_error_text(error)
    return ""


def remove_file(path: str) -> bool:
    """Delete a file; return False if there is none, or another process was first. Raises OSError for any other failure."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def is_draft(name: str) -> bool:
    """Return whether this is the name of a temporary file of `replace_file`, as a killed writer leaves it behind."""
    parts = name.removesuffix(_DRAFT_END).rsplit(".", 2)
    has_form = len(parts) == 3 and parts[1].isdigit() and len(parts[2]) == 2 * _DRAFT_BYTES
    return has_form and name.endswith(_DRAFT_END)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


try:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock, lockf

    def _try_lock(handle: int) -> None:
        flock(handle, LOCK_EX | LOCK_NB)

    def _try_range_lock(handle: int) -> None:
        lockf(handle, LOCK_SH | LOCK_NB, 1)
except ImportError:  # Windows
    from msvcrt import LK_NBLCK, locking  # type: ignore[attr-defined,unused-ignore]

    def _try_lock(handle: int) -> None:
        # Windows does not let others read a locked range, so the locked byte is far behind the data. Some of its C libraries, and Wine's,
        # lock at the low 32 bits of the position.
        os.lseek(handle, 0x7FFF0000, os.SEEK_SET)
        locking(handle, LK_NBLCK, 1)

    _try_range_lock = _try_lock


_PAUSE = 0.002
# Errors of `flock` for a lock that another process holds (Wine sets no number), and for a file system without locks; any other error is
# raised.
_HELD = (0, errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK, errno.EINTR)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL)


_folders_with_locks = {""}  # that of a database in memory


def has_locks(path: str) -> bool:
    """Return whether parts of a file can be locked, as SQLite does, which waits in vain for locks that its file system does not have.

    A folder is tried once, because closing a file unlocks it for the whole process.
    """
    if (folder := os.path.dirname(path)) not in _folders_with_locks:
        try:
            with os.fdopen(os.open(path, READ_WRITE, 0o600), "rb", 0) as file:
                _try_range_lock(file.fileno())
        except OSError as error:
            return error.errno not in _NO_LOCKS
        _folders_with_locks.add(folder)
    return True


class Busy(OSError):
    """Raised when another process held the lock for the whole wait."""


def lock_handle(handle: int, wait: float) -> None:
    """Lock an open file against other processes; closing it unlocks. On a file system without locks this does nothing.

    Raises Busy after `wait` seconds, and any other error at once.
    """
    end = monotonic() + wait
    while True:
        try:
            return _try_lock(handle)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return None
            if error.errno not in _HELD:
                raise
            if monotonic() >= end:
                raise Busy("locked by another process") from None
        sleep(_PAUSE)


class FileLock:
    """A lock file, held inside a `with` block. Entering raises Busy after `wait` seconds, and OSError if no file can be created."""

    def __init__(self, path: str, wait: float) -> None:
        self._path = path
        self._wait = wait
        self._handle = -1

    def __enter__(self) -> FileLock:  # noqa: PYI034 - `Self` would cost the prompt path an import
        self._handle = os.open(self._path, READ_WRITE, 0o600)
        try:
            lock_handle(self._handle, self._wait)
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)
