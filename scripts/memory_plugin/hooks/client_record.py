"""Records of client processes: the folders of their settings and their sessions, written by hooks and read by commands.

Hooks get the real values from the client. A command that Claude runs may not, because a project's settings can put another home, config
or project folder into its environment. So it looks up its own ancestors in these records, which are in the state folder. They identify the
client's process by number and start time, and the machine's boot by an id that no repository can know.
"""

from __future__ import annotations

import os
from time import time

from ..kernel.ancestry import boot_id, walk
from ..kernel.fastjson import dumps, loads
from ..kernel.files import make_folder, read_regular, replace_file
from ..kernel.paths import account_home, config_folder, home_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.ancestry import Ancestor
    from ..kernel.paths import Paths

_FOLDER = ("lcars", "memory", "clients")
_MAX_BYTES = 16_384
_MAX_SESSIONS = 8
_MAX_FILES = 64
_MARKS = ("lcars", "memory", "handed-over")
_MARK_SECONDS = 60.0  # a process that a hook started reads its mark at once


class ClientRecord:
    """The record of one client.

    `looks_like_client` means that the process looks like Claude Code, not just like any program that started a hook.
    """

    __slots__ = ("boot", "config", "looks_like_client", "pid", "project", "sessions", "start")

    def __init__(self, row: dict[str, Any]) -> None:
        """Parse a row of a record file. Raises KeyError, TypeError and ValueError for another form."""
        self.pid, self.start, self.boot = int(row["pid"]), str(row["start"]), str(row["boot"])
        self.config, self.project = str(row["config"]), str(row["project"])
        self.looks_like_client = row["named"] is True
        self.sessions = [str(name) for name in list(row["sessions"])[-_MAX_SESSIONS:]]

    def is_of(self, process: Ancestor) -> bool:
        """Return whether the record was written for exactly this process."""
        return (self.pid, self.start) == (process.pid, process.start) and self.boot == boot_id()

    def has_same_values(self, other: ClientRecord) -> bool:
        """Return whether both records would be written as the same row."""
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

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
        if starter is None and not process.is_shell and not process.is_init:
            starter = process
    return starter


def _record_folders(config: str) -> list[str]:
    """Return the config folder, and the account's own if the user moved only the config folder: a command can always find that one."""
    home = home_folder()
    if home is None or config == os.path.join(home, ".claude"):
        return [config]
    account = os.path.join(home, ".claude")
    return [config, account] if account == account_config() else [config]


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
    if old is not None and old.has_same_values(ClientRecord(row)):
        return
    path = _path(config, process.pid)
    make_folder(os.path.dirname(path))
    replace_file(path, dumps(row).encode("ascii"), durable=False)


def _path(config: str, pid: int) -> str:
    return os.path.join(config, *_FOLDER, "%d.json" % pid)


def read_record(config: str, process: Ancestor) -> ClientRecord | None:
    """Return the record of exactly this process in a config folder; None if there is none."""
    record = _read(_path(config, process.pid))
    return record if record is not None and record.is_of(process) else None


def _read(path: str) -> ClientRecord | None:
    try:
        row: Any = loads(read_regular(path, _MAX_BYTES)[0].decode("ascii"))
        return ClientRecord(row)
    except (OSError, KeyError, TypeError, ValueError):
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
