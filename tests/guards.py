"""Keep tests from writing into the real home folder and from talking to another machine.

An audit hook (PEP 578) refuses both. It sees every file and socket that this process opens, even from C code.
Each refusal is also recorded and fails the test, because the tested code may catch the error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

REAL_HOME = os.path.realpath(os.path.expanduser("~"))  # read before a test changes HOME
LOOPBACK = ("127.", "::1", "localhost", "::ffff:127.")
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


class Guard:
    """An audit hook that lists what it refused."""

    def __init__(self, home: str, allowed: Sequence[str]) -> None:
        self.home = os.path.realpath(home)
        real = [os.path.realpath(folder) + os.sep for folder in allowed]
        self.allowed = tuple(folder for folder in real if not self.home.startswith(folder))
        self.refused: list[str] = []
        self.checks: dict[str, Callable[[tuple[object, ...]], str]] = {
            "open": self.check_open,
            "sqlite3.connect": self.check_change,
            "socket.connect": lambda args: self.check_address(args[1]),
            "socket.sendto": lambda args: self.check_address(args[1]),
            "socket.getaddrinfo": lambda args: self.check_address((args[0],)),
            "subprocess.Popen": self.check_process,
            **dict.fromkeys(
                ("os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod"), self.check_change
            ),
            "os.rename": lambda args: self.check_change(args[:1]) or self.check_change(args[1:2]),
            **dict.fromkeys(("os.link", "os.symlink"), lambda args: self.check_change(args[1:2])),
        }

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        """Check an audit event. Raises PermissionError if it is refused."""
        check = self.checks.get(event)
        if check is None:
            return
        reason = check(args)
        if reason:
            self.refused.append(reason)
            raise PermissionError(reason)

    def is_protected(self, path: object) -> bool:
        """Return whether a path is in the real home folder but not in a folder that tests may write to."""
        if not isinstance(path, (str, bytes)) or self.home == os.sep:
            return False
        full = os.path.realpath(os.fsdecode(path))
        inside = full == self.home or full.startswith(self.home + os.sep)
        return inside and "__pycache__" not in full and not full.startswith(self.allowed)

    def check_open(self, args: tuple[object, ...]) -> str:
        """Return the reason to refuse `open`, or ""; `args` are path, mode and flags."""
        flags = args[2] if isinstance(args[2], int) else 0
        writes = bool(flags & WRITE_FLAGS) or (isinstance(args[1], str) and any(c in args[1] for c in "wax+"))
        return self.check_change(args) if writes else ""

    def check_change(self, args: tuple[object, ...]) -> str:
        """Return the reason to refuse a change at the first argument, or ""."""
        return "a test wrote into the real home: %r" % (args[0],) if self.is_protected(args[0]) else ""

    @staticmethod
    def check_address(address: object) -> str:
        """Return the reason to refuse an address, or "". UNIX sockets and loopback are allowed."""
        host = address[0] if isinstance(address, tuple) else None
        if not isinstance(host, str) or host == "" or host.startswith(LOOPBACK):
            return ""
        return "a test reached beyond loopback: %r" % (address,)

    def check_process(self, args: tuple[object, ...]) -> str:
        """Return the reason to refuse a process, or "". No process may have the real home as HOME."""
        environment = args[3]
        home = environment.get("HOME") if isinstance(environment, dict) else os.environ.get("HOME")
        is_real_home = isinstance(home, str) and os.path.realpath(home) == self.home
        return "a test started a process with the real home: %r" % (args[0],) if is_real_home else ""


def install_guard(allowed: Sequence[str]) -> Guard:
    """Install a guard, which stays until this process ends, and return it."""
    guard = Guard(REAL_HOME, allowed)
    sys.addaudithook(guard)
    return guard
