"""Fault injection: calls of the plugin fail on purpose. The stack gives a call's site: file, function and name of the call."""

from __future__ import annotations

import builtins
import errno
import os
import signal
import sqlite3
import sys
from types import FrameType
from typing import Any, Callable

# The calls that can fail, and their errors: errno names, SQLite messages, MemoryError, and `short` for half a write.
CALLS = {
    "open": ("EIO", "EMFILE", "EACCES", "ENOSPC", "ESTALE", "MemoryError"),
    "read": ("EIO", "ESTALE"),
    "write": ("ENOSPC", "EIO", "EDQUOT", "short"),
    "fsync": ("EIO", "ENOSPC"),
    "replace": ("EACCES", "ENOSPC", "EXDEV"),
    "unlink": ("EACCES", "EIO"),
    "mkdir": ("ENOSPC", "EROFS", "EACCES"),
    "ftruncate": ("EIO",),
    "scandir": ("EIO", "EMFILE", "EACCES"),
    "listdir": ("EIO", "EACCES"),
    "stat": ("EIO", "EACCES", "ESTALE"),
    "lstat": ("EIO", "EACCES"),
    "fstat": ("EIO",),
    "lseek": ("EIO",),
    "utime": ("EPERM",),
    "chmod": ("EPERM",),
    "pipe": ("EMFILE",),
    "urandom": ("ENOSYS",),
    "posix_spawn": ("EAGAIN", "ENOMEM", "ENOENT"),
    "flock": ("EWOULDBLOCK", "ENOLCK", "EOPNOTSUPP"),
    "io.open": ("EIO", "EMFILE", "EACCES", "MemoryError"),
    "connect": ("sql:unable to open database file", "sql:database is locked"),
    "execute": (
        "sql:disk I/O error",
        "sql:database or disk is full",
        "sql:database is locked",
        "damage:database disk image is malformed",
        "MemoryError",
    ),
    "executemany": ("sql:database or disk is full", "sql:disk I/O error"),
    "commit": ("sql:disk I/O error", "sql:database or disk is full"),
}
_PACKAGE = os.sep + "memory_plugin" + os.sep
_real_write, _real_kill = os.write, os.kill


def site() -> str:
    """Return the file and function of the plugin that made the current call, or "" if Python made it itself."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if _PACKAGE in name:
            return "%s:%s" % (name.rpartition(_PACKAGE)[2], frame.f_code.co_name)
        if "importlib" in name or "linecache" in name or "traceback" in name:
            return ""
        frame = frame.f_back
    return ""


class Injector:
    """Fails the n-th call at the site `target`, and with `lasting` each later call of the same name.

    Without a target it logs the site of each call instead. The error `kill` kills the process before its n-th call at any site.
    """

    def __init__(
        self, log: int, target: str = "", nth: int = 1, error: str = "", *, lasting: bool = False
    ) -> None:
        self.log, self.target, self.nth, self.error, self.lasting = log, target, nth, error, lasting
        self.seen = self.calls = 0
        self.is_failing = False

    def install(self) -> None:
        """Replace the calls in this process, which is a fork."""
        for name in CALLS:
            if name in ("flock", "io.open", "connect", "execute", "executemany", "commit"):
                continue
            if hasattr(os, name):
                setattr(os, name, self._counted(name, getattr(os, name)))
        builtins.open = self._counted("io.open", builtins.open)
        from memory_plugin.kernel import files

        setattr(files, "flock", self._counted("flock", vars(files)["flock"]))  # noqa: B010
        self._install_sqlite()

    def _install_sqlite(self) -> None:
        from memory_plugin.kernel import sqlite

        original = sqlite.connect

        class FaultyConnection(sqlite.Connection):
            """A connection whose calls are counted."""

        for name in ("execute", "executemany", "commit"):
            setattr(FaultyConnection, name, self._counted_method(name, getattr(sqlite.Connection, name)))
        faulty_connect = self._counted(
            "connect", lambda *args, **more: original(*args, factory=FaultyConnection, **more)
        )
        for module in list(sys.modules.values()):
            if getattr(module, "connect", None) is original and module.__name__.startswith("memory_plugin"):
                module.connect = faulty_connect  # type: ignore[attr-defined]

    def _counted_method(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        counted = self._counted(name, original)

        def method(connection: object, *args: object) -> Any:  # noqa: ANN401
            return counted(connection, *args)

        return method

    def _counted(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:  # noqa: ANN401
            where = site()
            if not where and not (name == "write" and args[0] == 1):
                return original(*args, **more)
            if self._fails("%s:%s" % (where, name)):
                return fail(self.error, args, original)
            # No background refresh is started, because it would outlive the run.
            return 1 if name == "posix_spawn" else original(*args, **more)

        return call

    def _fails(self, key: str) -> bool:
        """Count a call and return whether it has to fail."""
        self.calls += 1
        if self.error == "kill":
            if self.calls == self.nth:
                _real_kill(os.getpid(), signal.SIGKILL)
            return False
        if not self.target:
            _real_write(self.log, key.encode() + b"\n")
            return False
        self.seen += key == self.target
        if key == self.target and self.seen == self.nth:
            self.is_failing = True
            _real_write(self.log, b"!\n")
            return True
        if self.is_failing and self.error == "short":  # the disk stays full
            self.error, self.lasting = "ENOSPC", True
        return self.is_failing and self.lasting and key.rpartition(":")[2] == self.target.rpartition(":")[2]


def prevent_refresh() -> None:
    """Keep this process, which is a fork, from starting a background refresh; no call fails."""
    Injector(-1, nth=0, error="kill").install()


def fail(error: str, args: tuple[Any, ...], original: Callable[..., Any]) -> int:
    """Raise the error of a call. `short` writes only half, as on a full disk, and returns the length."""
    kind, _, text = error.partition(":")
    if error == "MemoryError":
        raise MemoryError
    if kind in ("sql", "damage"):
        raise (sqlite3.OperationalError if kind == "sql" else sqlite3.DatabaseError)(text)
    if error == "short":
        return int(original(args[0], bytes(args[1])[: len(args[1]) // 2]))
    number = getattr(errno, error)
    raise OSError(number, os.strerror(number))
