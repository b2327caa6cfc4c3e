"""What no test may do: write into the real home folder, or talk to another machine.

Both are refused by an audit hook (PEP 578), which sees every file and socket that this process opens, those
of C code included.  A refusal is also recorded and fails the test, since tested code may catch the error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

REAL_HOME = os.path.realpath(os.path.expanduser("~"))  # before a test has one of its own
LOOPBACK = ("127.", "::1", "localhost", "::ffff:127.")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


class Guard:
    """An audit hook with the list of what it refused."""

    def __init__(self, home: str, allowed: Sequence[str]) -> None:
        self.home = os.path.realpath(home)
        real = [os.path.realpath(folder) + os.sep for folder in allowed]
        self.allowed = tuple(folder for folder in real if not self.home.startswith(folder))
        self.refused: list[str] = []
        self.checks: dict[str, Callable[[tuple[object, ...]], str]] = {
            "open": self.opened,
            "sqlite3.connect": self.changed,
            "socket.connect": lambda args: self.reached(args[1]),
            "socket.sendto": lambda args: self.reached(args[1]),
            "socket.getaddrinfo": lambda args: self.reached((args[0],)),
            "subprocess.Popen": self.started,
            **dict.fromkeys(("os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod"), self.changed),
            "os.rename": lambda args: self.changed(args[:1]) or self.changed(args[1:2]),
            **dict.fromkeys(("os.link", "os.symlink"), lambda args: self.changed(args[1:2])),
        }

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        """Raise PermissionError for what is refused."""
        check = self.checks.get(event)
        if check is None:
            return
        reason = check(args)
        if reason:
            self.refused.append(reason)
            raise PermissionError(reason)

    def protected(self, path: object) -> bool:
        """Return whether a path is in the real home folder, and not in a folder that tests may write to."""
        if not isinstance(path, (str, bytes)) or self.home == os.sep:
            return False
        full = os.path.realpath(os.fsdecode(path))
        inside = full == self.home or full.startswith(self.home + os.sep)
        return inside and "__pycache__" not in full and not full.startswith(self.allowed)

    def opened(self, args: tuple[object, ...]) -> str:
        """Return the reason to refuse `open`, or "": (path, mode, flags)."""
        flags = args[2] if isinstance(args[2], int) else 0
        writes = bool(flags & WRITING) or (isinstance(args[1], str) and any(c in args[1] for c in "wax+"))
        return self.changed(args) if writes else ""

    def changed(self, args: tuple[object, ...]) -> str:
        """Return the reason to refuse a change at the first argument, or ""."""
        return "a test wrote into the real home: %r" % (args[0],) if self.protected(args[0]) else ""

    @staticmethod
    def reached(address: object) -> str:
        """Return the reason to refuse an address, or "": UNIX sockets and loopback are free."""
        host = address[0] if isinstance(address, tuple) else None
        if not isinstance(host, str) or host == "" or host.startswith(LOOPBACK):
            return ""
        return "a test reached beyond loopback: %r" % (address,)

    def started(self, args: tuple[object, ...]) -> str:
        """Return the reason to refuse a process, or "": none may see the real home."""
        environment = args[3]
        home = environment.get("HOME") if isinstance(environment, dict) else os.environ.get("HOME")
        same = isinstance(home, str) and os.path.realpath(home) == self.home
        return "a test started a process with the real home: %r" % (args[0],) if same else ""


def installed(allowed: Sequence[str]) -> Guard:
    """Return the guard of this process, from now on and until it ends."""
    guard = Guard(REAL_HOME, allowed)
    sys.addaudithook(guard)
    return guard
