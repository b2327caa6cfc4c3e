"""What git did in a worktree since we last looked, read from its own log without running git."""

from __future__ import annotations

import os
import stat as modes
from typing import BinaryIO, NamedTuple

from ..kernel.clock import now
from ..kernel.fastjson import digest
from ..kernel.files import BINARY
from ..kernel.paths import git_folder

__all__ = ["Mark", "has_commits", "is_settled", "log_path", "mark", "moved_since"]

_TAIL = 512
_MAX_NEW = 4 << 20
_SETTLE_SECONDS = 2.0
_READ = (
    os.O_RDONLY
    | BINARY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_OWN = (b"commit:", b"commit (amend):", b"commit (initial):")


class Mark(NamedTuple):
    """A place in `.git/logs/HEAD`: its length in bytes, and a digest of the last bytes before it. Length 0: no log yet."""

    size: int
    tail: str


def log_path(repository: str) -> str | None:
    """Return the file in which git notes where HEAD went; None without git."""
    folder = git_folder(repository)
    return os.path.join(folder, "logs", "HEAD") if folder else None


def has_commits(repository: str) -> bool:
    """Return whether something was ever committed or fetched, so that a log would be there if git kept one."""
    folder = git_folder(repository) or ""
    refs = os.path.join(folder, "refs", "heads")
    return os.path.exists(os.path.join(folder, "packed-refs")) or any(names for _, _, names in os.walk(refs))


def mark(repository: str) -> Mark:
    """Return the present end of the log."""
    path = log_path(repository)
    try:
        with _opened(path) as handle:
            size = handle.seek(0, os.SEEK_END)
            return Mark(size, _tail_digest(handle, size))
    except OSError:
        return Mark(0, "")


def _opened(path: str | None) -> BinaryIO:
    """Return the log, opened without following links or waiting for a pipe. Raises OSError when it is no regular file."""
    handle = os.open(path or os.devnull, _READ)
    if path and not modes.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("%s: not a regular file" % path)
    return os.fdopen(handle, "rb")


def _tail_digest(handle: BinaryIO, size: int) -> str:
    handle.seek(max(0, size - _TAIL))
    return digest(handle.read(min(_TAIL, size))) if size else ""


def moved_since(repository: str, before: Mark) -> bool:
    """Return whether git brought other content here since `before`: anything in the log but the user's own commits.

    A log that was rewritten counts as moved, since what happened cannot be known; so does one that is gone.
    """
    path = log_path(repository)
    try:
        with _opened(path) as handle:
            size = handle.seek(0, os.SEEK_END)
            if (
                size < before.size
                or size - before.size > _MAX_NEW
                or _tail_digest(handle, before.size) != before.tail
            ):
                return True
            handle.seek(before.size)
            lines = handle.read(size - before.size).splitlines()
    except OSError:
        return before.size > 0
    return not all(map(_is_own, lines))


def _is_own(line: bytes) -> bool:
    """Return whether a line of the log tells of a commit that was made here; git can be told to call a pull one (GIT_REFLOG_ACTION)."""
    action = line.partition(b"\t")[2]
    return (
        action.startswith(_OWN)
        and not action.endswith(b": Fast-forward")
        and b": Merge made by " not in action
    )


def is_settled(repository: str) -> bool:
    """Return whether git is at rest: it changes files before it writes its log, and a change in between looks like an edit by hand."""
    folder = git_folder(repository)
    if folder is None:
        return True
    if os.path.lexists(os.path.join(folder, "index.lock")):
        return False
    try:
        age = now() - os.stat(os.path.join(folder, "index")).st_mtime
    except OSError:
        return True
    return not 0 <= age < _SETTLE_SECONDS
