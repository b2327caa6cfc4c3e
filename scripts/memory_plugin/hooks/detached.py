"""Work that must not keep the user waiting: a process of its own, with a clean environment, that outlives the hook."""

from __future__ import annotations

import os
import sys

from ..kernel.ancestry import boot_id
from .environment import HANDED_OVER, OFF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MAX_INPUT", "start"]

MAX_INPUT = 60_000  # bytes: a pipe holds 64 KiB before its reader has begun to read (pipe(7))
_PASSED_ON = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "CLAUDE_CONFIG_DIR", "LANG", "LC_ALL", "LC_CTYPE")


def start(arguments: Sequence[str], data: bytes = b"", passed_on: Sequence[str] = ()) -> bool:
    """Start `memory` with some arguments and with `data` (at most MAX_INPUT bytes) as its standard input; whether it was started.

    `passed_on` names further variables that it may see. Raises ValueError for more data than a pipe holds.
    """
    if len(data) > MAX_INPUT:
        raise ValueError("at most %d bytes can be handed over, got %d" % (MAX_INPUT, len(data)))
    script = os.path.join(
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "memory.py"
    )
    command = [sys.executable, "-I", "-S", script, *arguments]
    environment = {name: os.environ[name] for name in (*_PASSED_ON, *passed_on) if name in os.environ}
    environment[OFF] = "1"
    environment[HANDED_OVER] = boot_id()
    try:
        return _spawn_posix(command, environment, data)
    except (AttributeError, NotImplementedError):  # no posix_spawn, or none that can leave the session
        return _spawn_elsewhere(command, environment, data)
    except OSError:
        return False


def _spawn_elsewhere(command: list[str], environment: dict[str, str], data: bytes) -> bool:
    from subprocess import DEVNULL, PIPE, Popen

    process = Popen(
        command,
        env=environment,
        stdin=PIPE,
        stdout=DEVNULL,
        stderr=DEVNULL,
        close_fds=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(data)
        process.stdin.close()
    except OSError:  # it has ended already
        return False
    return True


def _spawn_posix(command: list[str], environment: dict[str, str], data: bytes) -> bool:
    """As `subprocess` does it, without the ten milliseconds that importing it takes."""
    _keep_files_from_children()
    reading, writing = os.pipe()
    try:
        # What is handed over fits into the pipe, so that it is written whether or not the child ever reads.
        _fill(writing, data)
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [(os.POSIX_SPAWN_DUP2, reading, 0)]
        actions += [(os.POSIX_SPAWN_OPEN, handle, os.devnull, os.O_WRONLY, 0) for handle in (1, 2)]
        os.posix_spawn(command[0], command, environment, file_actions=actions, setsid=True)
    finally:
        os.close(reading)
    return True


def _fill(handle: int, data: bytes) -> None:
    """Write all of it and close. Raises BlockingIOError where the pipe is smaller than on the systems we know."""
    try:
        os.set_blocking(handle, False)
        while data:
            data = data[os.write(handle, data) :]
    finally:
        os.close(handle)


def _keep_files_from_children() -> None:
    """Mark what the host left open for us, so that a process that outlives us holds none of it."""
    try:
        handles = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return
    for handle in handles:
        try:
            os.set_inheritable(handle, False)
        except OSError:  # the one that listed the others
            continue
