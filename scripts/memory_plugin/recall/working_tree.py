"""Read the branch's name and the files changed in the worktree from git's own files, without starting git.

A tracked file counts as changed if its size or time differs from git's index (gitformat-index(5)), which is also git's first check. The
content may be hostile and is used only as words; a large index is not read, because the start of a session should not wait for it.
"""

from __future__ import annotations

import os
import stat as modes

from ..kernel.files import read_regular
from ..kernel.paths import git_folder, main_worktree

__all__ = ["branch_name", "changed_files"]

_MAX_HEAD = 4096
_MAX_INDEX = 192 << 10  # about 2,000 files, whose status takes some milliseconds
_MOST_CHANGED = 20
_HEAD_PREFIX = "ref: refs/heads/"
_SHARED = ("main", "master", "trunk", "develop", "dev")  # names that say nothing about the work
_VERSIONS = (2, 3)  # version 4 compresses its paths
_HEADER, _ENTRY = 12, 62  # bytes; of an entry without its path
_EXTENDED, _LENGTH = 0x4000, 0x0FFF
_REGULAR = 0o10


def branch_name(root: str) -> str:
    """Return the name of the current branch; empty if there is none or if it is a name that every repository has."""
    folder = _own_git_folder(root)
    head = _read(os.path.join(folder, "HEAD"), _MAX_HEAD).decode("utf-8", "replace").strip() if folder else ""
    name = head[len(_HEAD_PREFIX) :] if head.startswith(_HEAD_PREFIX) else ""
    return "" if name in _SHARED else name


def changed_files(root: str) -> list[str]:
    """Return the paths of tracked files that changed since they were staged or checked out, the last changed first, at most 20.

    Empty if git's index is missing, large or of another form, and where most files differ: a copied folder has other times.
    """
    folder = _own_git_folder(root)
    data = _read(os.path.join(folder, "index"), _MAX_INDEX) if folder else b""
    entries = _entries(data)
    changed = [
        (when, path) for path, size, mtime in entries if (when := _changed_at(root, path, size, mtime))
    ]
    if len(changed) > max(_MOST_CHANGED, len(entries) // 2):
        return []
    return [path for _, path in sorted(changed, reverse=True)[:_MOST_CHANGED]]


def _own_git_folder(root: str) -> str:
    """Return the git folder of a project; empty if its `.git` file names one that does not name it, since anyone can write such a file."""
    folder = git_folder(root)
    if folder is None or (folder != os.path.join(root, ".git") and main_worktree(root) is None):
        return ""
    return folder


def _read(path: str, limit: int) -> bytes:
    try:
        return read_regular(path, limit)[0]
    except OSError:
        return b""


def _entries(data: bytes) -> list[tuple[str, int, int]]:
    """Return path, size and time of change of each regular file in git's index; empty for one of another form."""
    if data[:4] != b"DIRC" or int.from_bytes(data[4:8], "big") not in _VERSIONS:
        return []
    found: list[tuple[str, int, int]] = []
    at = _HEADER
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = int.from_bytes(data[at + 60 : at + _ENTRY], "big")
        start = at + _ENTRY + (2 if flags & _EXTENDED else 0)
        end = data.find(b"\0", start)
        if end < 0 or (flags & _LENGTH) not in (end - start, _LENGTH):
            return []  # cut off, or with digests of another length
        if data[at + 26] >> 4 == _REGULAR:
            size, mtime = (int.from_bytes(data[at + n : at + n + 4], "big") for n in (36, 8))
            found.append((os.fsdecode(data[start:end]), size, mtime))
        at += (end - at + 8) // 8 * 8
    return found


def _changed_at(root: str, path: str, size: int, mtime: int) -> float:
    """Return when a file changed; 0.0 if it matches git's index, is missing, or is outside the root."""
    if path.startswith("/") or ".." in path.split("/"):
        return 0.0
    try:
        status = os.lstat(os.path.join(root, path))
    except (OSError, ValueError):
        return 0.0
    same = status.st_size & 0xFFFFFFFF == size and int(status.st_mtime) & 0xFFFFFFFF == mtime
    return 0.0 if same or not modes.S_ISREG(status.st_mode) else status.st_mtime
