"""The processes that this one descends from, and the records that hooks keep of the clients among them.

A project's settings may put any variable into the environment of a command that Claude runs, even another home, config or project folder.
They can change neither the processes that the command descends from nor the environment in which the client itself was started. On Linux
`/proc` shows both; elsewhere `ps` shows only the processes.

Hooks get the real folders and the session from the client, and record them in the state folder, where commands look up their ancestors. A
record identifies the client's process by number and start time, and the machine's boot by an id that no repository can know.
"""

from __future__ import annotations

import os
from time import time

from ..kernel.files import make_folder
from ..kernel.paths import Paths, account_home, config_folder, home_folder, read_state, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Callable, Optional

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
_SCRIPTS = frozenset(["claude", "claude.js", "codex", "codex.js"])
# Through which the client runs commands.
_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "cmd.exe", "env"])
_INITS = frozenset(["init", "systemd", "launchd"])
_FOLDER = ("lcars", "memory", "clients")
_MAX_RECORD = 16_384
_MAX_SESSIONS = 8
_MAX_FILES = 64
_MARKS = ("lcars", "memory", "handed-over")
_MARK_SECONDS = 60.0  # a process that a hook started reads its mark at once


class Ancestor:
    """One process. `start` distinguishes it from a later process with the same id."""

    def __init__(
        self, pid: int, parent: int, start: str, name: str, *, terminal: bool, words: Sequence[str] = ()
    ) -> None:
        self.pid, self.parent, self.start, self.name = pid, parent, start, name
        self.terminal = terminal
        self._words = words
        self._environment: dict[str, str] | None = None

    @property
    def words(self) -> Sequence[str]:
        """Return the first two words of its command line, the program first; empty if they cannot be read."""
        if not self._words:
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
        return runs_script and (_PACKAGE in self.words[1] or os.path.basename(self.words[1]) in _SCRIPTS)

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
    return os.name == "posix" and os.path.exists(_PROC + "/self/stat")


def walk() -> Iterator[Ancestor]:
    """Yield this process and its ancestors, nearest first, at most 64; none if neither `/proc` nor `ps` is available."""
    find, pid = finder(), os.getpid()
    for _ in range(_MAX_ANCESTORS):
        ancestor = find(pid) if pid > 0 else None
        if ancestor is None:
            return
        yield ancestor
        pid = ancestor.parent


def finder() -> Finder:
    """Return what finds a process by its id; it returns None if there is none."""
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


def _read_proc(folder: int | str, name: str) -> str:
    try:
        with open("%s/%s/%s" % (_PROC, folder, name), "rb") as file:
            return os.fsdecode(file.read(_MAX_BYTES))
    except OSError:
        return ""


def _read_ps() -> dict[int, Ancestor]:
    if os.name != "posix":  # on Windows any user may put a program there
        return {}
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
            pid, parent, tty, *start, command = fields
            words = command.split()[:2]
            name = os.path.basename(words[0]).lstrip("-")
            row = Ancestor(int(pid), int(parent), " ".join(start), name, terminal="?" not in tty, words=words)
            processes[row.pid] = row
    return processes


def boot_id() -> str:
    """Return the random id of this boot of the machine, which no repository can know; empty on other systems than Linux.

    There `ps` tells when a process was started, to the second, which no repository can know either.
    """
    return _read_proc("sys/kernel/random", "boot_id").strip()


class ClientRecord:
    """The record of one client.

    `looks_like_client` means that the process looks like Claude Code, not just like any program that started a hook.
    """

    def __init__(self, row: dict[str, Any]) -> None:
        """Parse a row of a record file. Raises KeyError, TypeError and ValueError for another form."""
        self.pid, self.start, self.boot = int(row["pid"]), str(row["start"]), str(row["boot"])
        self.config, self.project = str(row["config"]), str(row["project"])
        self.looks_like_client = row["named"] is True
        self.sessions = [str(name) for name in list(row["sessions"])[-_MAX_SESSIONS:]]

    def is_of(self, process: Ancestor) -> bool:
        """Return whether the record was written for exactly this process."""
        return (self.pid, self.start) == (process.pid, process.start) and self.boot == boot_id()

    def session(self, claimed: str) -> str:
        """Return the session of a command: the claimed one if this client had it, else the client's last one."""
        if claimed in self.sessions:
            return claimed
        return self.sessions[-1] if self.sessions else ""


def account_config() -> str | None:
    """Return the config folder in the account's own home; None if the account has no home."""
    home = account_home()
    return os.path.join(home, ".claude") if home else None


def record_client(paths: Paths, session: str, starter: Ancestor) -> None:
    """Record the client that started this hook, unless the record is up to date. Raises OSError.

    A client inside another client's command is not recorded, because its prompts come from Claude, not from the user.
    """
    if paths.config_dir is None or starter.was_started_by_client:
        return
    for config in _record_folders(paths.config_dir):
        _write_record(config, starter, paths, session)


def hook_starter() -> Ancestor | None:
    """Return the client above this hook, or else the nearest ancestor that is not a shell."""
    starter = None
    chain = walk()
    next(chain, None)  # this process
    for process in chain:
        if process.is_client:
            return process
        if starter is None and process.name not in _SHELLS and not process.is_init:
            starter = process
    return starter


def _record_folders(config: str) -> list[str]:
    """Return the config folder, and the account's own if the user moved only the config folder: a command can always find that one."""
    account = os.path.join(home_folder() or os.devnull, ".claude")
    return [config, account] if account != config and account == account_config() else [config]


def _write_record(config: str, process: Ancestor, paths: Paths, session: str) -> None:
    old = read_record(config, process)
    sessions = [name for name in (old.sessions if old else []) if name != session]
    row = {
        "pid": process.pid,
        "start": process.start,
        "boot": boot_id(),
        "named": process.is_client,
        "config": paths.config_dir,
        "project": paths.launch_dir,
        "sessions": [*sessions, session][-_MAX_SESSIONS:],
    }
    if old is not None and vars(old) == vars(ClientRecord(row)):
        return
    write_state(_path(config, process.pid), row)


def _path(config: str, pid: int) -> str:
    return os.path.join(config, *_FOLDER, "%d.json" % pid)


def read_record(config: str, process: Ancestor) -> ClientRecord | None:
    """Return the record of exactly this process in a config folder; None if there is none."""
    record = _read(_path(config, process.pid))
    return record if record is not None and record.is_of(process) else None


def _read(path: str) -> ClientRecord | None:
    try:
        return ClientRecord(read_state(path, _MAX_RECORD))
    except (KeyError, TypeError, ValueError):
        return None


def recorded_clients(config: str) -> list[ClientRecord]:
    """Return the records in a config folder, at most 64; their processes may have ended."""
    try:
        names = sorted(os.listdir(os.path.join(config, *_FOLDER)))[:_MAX_FILES]
    except OSError:
        return []
    records = [_read(os.path.join(config, *_FOLDER, name)) for name in names]
    return [record for record in records if record is not None]


def outer_client(chain: list[Ancestor]) -> Ancestor | None:
    """Return the user's own client in a chain of processes (nearest first): the innermost that no other client started, or None."""
    client = None
    for process in reversed(chain):
        if process.was_started_by_client:
            break
        if process.is_client:
            client = process
    return client


def hand_over() -> str:
    """Write a one-time mark for a process that this hook starts, and return its name. Raises OSError."""
    folder, name = os.path.join(config_folder() or os.devnull, *_MARKS), os.urandom(16).hex()
    make_folder(folder)
    os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return name


def was_handed_over(name: str) -> bool:
    """Return whether a hook wrote this mark for the process; it is removed, so no other process can use it."""
    path = os.path.join(config_folder() or os.devnull, *_MARKS, name)
    if not name.isalnum():
        return False
    try:
        age = time() - os.lstat(path).st_mtime
        os.unlink(path)
    except OSError:
        return False
    return abs(age) < _MARK_SECONDS
