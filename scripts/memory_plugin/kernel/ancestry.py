"""Read the parent processes of this one: what started it, when, and in which environment.

A project's settings may put any variable into the environment of a command that Claude runs. They can change neither the processes
that the command descends from nor the environment in which the client itself was started. On Linux `/proc` shows both; elsewhere `ps`
shows only the processes.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Callable, Optional

    Finder = Callable[[int], Optional["Ancestor"]]

# Set by the client for each command (and by Claude Code for each hook); measured: a project's settings cannot override CLAUDECODE.
CLIENT_VARIABLES = ("CLAUDECODE", "CODEX_THREAD_ID")
_PROC = "/proc"
_MAX_ANCESTORS = 64
_MAX_BYTES = 2 << 20
_PS = ("/bin/ps", "-axo", "pid=,ppid=,tty=,lstart=,command=")
_PS_SECONDS = 2.0
_CLIENTS = frozenset(["claude", "claude.exe", "codex", "codex.exe"])
# MainThread is the process name that newer Node versions set on Linux.
_RUNTIMES = frozenset(["node", "bun", "deno", "MainThread"])
_PACKAGE = "/claude-code/"
_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "cmd.exe", "env"])
_INITS = frozenset(["init", "systemd", "launchd"])


class Ancestor:
    """One process. `start` distinguishes it from a later process with the same id."""

    __slots__ = ("_environment", "_words", "name", "parent", "pid", "start", "terminal")

    def __init__(
        self,
        pid: int,
        parent: int,
        start: str,
        name: str,
        *,
        terminal: bool,
        words: Sequence[str] | None = None,
    ) -> None:
        self.pid, self.parent, self.start, self.name = pid, parent, start, name
        self.terminal = terminal
        self._words = words
        self._environment: dict[str, str] | None = None

    @property
    def words(self) -> Sequence[str]:
        """Return the first two words of its command line, the program first; empty if they cannot be read."""
        if self._words is None:
            self._words = _read_proc(self.pid, "cmdline").split("\0")[:2]
        return self._words

    @property
    def is_client(self) -> bool:
        """Return whether it looks like Claude Code or Codex CLI, by its name or as a script of the npm package."""
        if self.name in _CLIENTS:
            return True
        first = os.path.basename(self.words[0]) if self.words else ""
        if first in _CLIENTS:
            return True
        runs_script = (self.name in _RUNTIMES or first in _RUNTIMES) and len(self.words) > 1
        return runs_script and (
            _PACKAGE in self.words[1]
            or os.path.basename(self.words[1]) in ("claude", "claude.js", "codex", "codex.js")
        )

    @property
    def is_shell(self) -> bool:
        """Return whether it is a shell, through which the client runs commands."""
        return self.name in _SHELLS

    @property
    def is_init(self) -> bool:
        """Return whether it adopts processes whose parent has ended."""
        return self.pid == 1 or self.name in _INITS

    @property
    def was_started_by_client(self) -> bool:
        """Return whether the client or one of its descendants started it; False if its environment cannot be read."""
        return not self.environment().keys().isdisjoint(CLIENT_VARIABLES)

    def environment(self) -> dict[str, str]:
        """Return the environment in which it was started; empty if it cannot be read."""
        if self._environment is None:
            pairs = (pair.partition("=") for pair in _read_proc(self.pid, "environ").split("\0"))
            self._environment = {name: value for name, mark, value in pairs if mark}
        return self._environment

    def is_younger_than(self, other: Ancestor) -> bool:
        """Return whether it was started after another process of this boot; False without `/proc`, where the times are not numbers."""
        return self.start.isdigit() and other.start.isdigit() and int(self.start) > int(other.start)

    def is_another_users(self) -> bool:
        """Return whether another user owns it, such as root owns the servers that open terminals; False if that cannot be read."""
        try:
            return os.stat("%s/%d" % (_PROC, self.pid)).st_uid != os.getuid()
        except (OSError, AttributeError):
            return False

    def control_group(self) -> str:
        """Return its control groups, which a detached process keeps (cgroups(7)); empty if they cannot be read."""
        return _read_proc(self.pid, "cgroup")

    def folder(self) -> str:
        """Return its working folder; empty if it cannot be read."""
        try:
            return os.readlink("%s/%d/cwd" % (_PROC, self.pid))
        except OSError:
            return ""


def has_proc() -> bool:
    """Return whether the processes can be read without starting another program."""
    return os.path.exists(_PROC + "/self/stat")


def walk() -> Iterator[Ancestor]:
    """Yield this process and its ancestors, nearest first, at most 64; none if neither `/proc` nor `ps` is available."""
    find = _finder()
    seen: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in seen and len(seen) < _MAX_ANCESTORS:
        seen.add(pid)
        ancestor = find(pid)
        if ancestor is None:
            return
        yield ancestor
        pid = ancestor.parent


def ancestors() -> list[Ancestor]:
    """Return what `walk` yields."""
    return list(walk())


def process(pid: int) -> Ancestor | None:
    """Return the process with this id; None if there is none."""
    return _finder()(pid)


def _finder() -> Finder:
    return _read_stat if has_proc() else _read_ps().get


def _read_stat(pid: int) -> Ancestor | None:
    """Read `/proc/PID/stat` (proc(5)). The name in parentheses may hold any character, so the fields are counted from its end."""
    before, mark, after = _read_proc(pid, "stat").rpartition(")")
    fields = after.split()
    if not mark or len(fields) < 20 or not fields[1].isdigit():
        return None
    name = before.partition("(")[2]
    # proc(5), counted after the name: 1 ppid, 4 tty_nr (0: no terminal), 19 starttime.
    return Ancestor(pid, int(fields[1]), fields[19], name, terminal=fields[4] != "0")


def _read_proc(pid: int, name: str) -> str:
    try:
        with open("%s/%d/%s" % (_PROC, pid, name), "rb") as file:
            return os.fsdecode(file.read(_MAX_BYTES))
    except OSError:
        return ""


def _read_ps() -> dict[int, Ancestor]:
    from subprocess import DEVNULL, PIPE, SubprocessError, run

    try:
        result = run(_PS, stdout=PIPE, stderr=DEVNULL, env={"LC_ALL": "C"}, timeout=_PS_SECONDS, check=False)
    except (OSError, SubprocessError):
        return {}
    return parse_ps(os.fsdecode(result.stdout))


def parse_ps(output: str) -> dict[int, Ancestor]:
    """Return the processes in the output of `ps` by id; lines of another form are skipped."""
    processes = {}
    for line in output.splitlines():
        fields = line.split(None, 8)
        if len(fields) == 9 and fields[0].isdigit() and fields[1].isdigit():
            words = fields[8].split()[:2]
            name = os.path.basename(words[0]).lstrip("-")
            ancestor = Ancestor(
                int(fields[0]),
                int(fields[1]),
                " ".join(fields[3:8]),
                name,
                terminal="?" not in fields[2],
                words=words,
            )
            processes[ancestor.pid] = ancestor
    return processes


def boot_id() -> str:
    """Return the random id of this boot of the machine, which no repository can know; empty if the system has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read(64).strip().decode("latin-1")
    except OSError:
        return _boot_id_of_darwin() if sys.platform == "darwin" else ""


def _boot_id_of_darwin() -> str:
    """Ask sysctl(3) for `kern.bootsessionuuid`."""
    try:
        from ctypes import CDLL, byref, c_size_t, create_string_buffer

        size = c_size_t(64)
        text = create_string_buffer(size.value)
        if CDLL(None).sysctlbyname(b"kern.bootsessionuuid", text, byref(size), None, c_size_t(0)):
            return ""
        return text.value.decode("ascii", "replace")
    except (ImportError, OSError, AttributeError):
        return ""
