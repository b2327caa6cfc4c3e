"""Work that must not keep the user waiting: a process of its own, with a clean environment, that outlives the hook."""

from __future__ import annotations

import os
import sys
from time import time

from ..kernel.files import make_folder
from ..kernel.locks import FileLock
from ..recall.lookup import index_path
from .environment import OFF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["start_healing"]

_PASSED_ON = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "CLAUDE_CONFIG_DIR", "LANG", "LC_ALL", "LC_CTYPE")
_PAUSE_SECONDS = 10.0


def start_healing(places: Places) -> bool:
    """Start `memory heal` for a project, unless one runs or was started in the last seconds; whether it was started."""
    try:
        if not _is_due(index_path(places) + ".started"):
            return False
        with FileLock(index_path(places) + ".heal", 0.0):
            pass
    except OSError:  # Busy is one
        return False
    script = os.path.join(
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "memory.py"
    )
    return _spawn([sys.executable, "-I", "-S", script, "heal", "--root", places.project_root])


def _is_due(path: str) -> bool:
    """Whether the last start lies far enough back; asking counts as starting. Raises Busy while somebody else asks."""
    make_folder(os.path.dirname(path))
    with FileLock(path, 0.0):
        status = os.stat(path)
        if status.st_size and 0 <= time() - status.st_mtime < _PAUSE_SECONDS:
            return False
        with open(path, "wb") as handle:
            handle.write(b"started\n")
    return True


def _spawn(command: list[str]) -> bool:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment[OFF] = "1"
    try:
        return _spawn_posix(command, environment)
    except (AttributeError, NotImplementedError):  # no posix_spawn, or none that can leave the session
        from subprocess import DEVNULL, Popen

        Popen(
            command,
            env=environment,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            close_fds=True,
            start_new_session=True,
        )
        return True
    except OSError:
        return False


def _spawn_posix(command: list[str], environment: dict[str, str]) -> bool:
    """As `subprocess` does it, without the ten milliseconds that importing it takes."""
    _keep_files_from_children()
    quiet = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    quiet += [(os.POSIX_SPAWN_OPEN, handle, os.devnull, os.O_WRONLY, 0) for handle in (1, 2)]
    os.posix_spawn(command[0], command, environment, file_actions=quiet, setsid=True)
    return True


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
