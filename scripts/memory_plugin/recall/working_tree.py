"""Read the branch's name and the files changed in the worktree from git's own files, without starting git.

A tracked file counts as changed if its size or time differs from git's index (gitformat-index(5)), which is also git's first check. The
names may be hostile and are used only as words to search for. A large index is not read, so that the session's start does not wait for it.
"""

from __future__ import annotations

import os
import stat as modes

from ..kernel.files import read_regular
from ..kernel.paths import git_folder, main_worktree

_MAX_HEAD = 4096
_MAX_INDEX = 192 << 10  # about 2,000 files, whose status takes some milliseconds
_MAX_CHANGED = 20
_HEAD_PREFIX = "ref: refs/heads/"
_COMMON_NAMES = ("main", "master", "trunk", "develop", "dev")  # names that say nothing about the work
_VERSIONS = (2, 3)  # version 4 compresses its paths
_HEADER_BYTES, _ENTRY_BYTES = 12, 62  # _ENTRY_BYTES: the fixed part, before the path
_EXTENDED_FLAG, _PATH_LENGTH_MASK = 0x4000, 0x0FFF
_REGULAR = 0o10


def branch_name(root: str) -> str:
    """Return the name of the current branch; empty if there is none, or for a common name such as `main`."""
    head = _read(root, "HEAD", _MAX_HEAD).decode("utf-8", "replace").strip()
    name = head[len(_HEAD_PREFIX) :] if head.startswith(_HEAD_PREFIX) else ""
    return "" if name in _COMMON_NAMES else name


def changed_files(root: str) -> list[str]:
    """Return the paths of tracked files that changed since they were staged or checked out, the last changed first, at most 20.

    Empty if git's index is missing, large or of another format, or if most files differ, as in a copied folder.
    """
    entries = _entries(_read(root, "index", _MAX_INDEX))
    changed = [
        (time, path) for path, size, mtime in entries if (time := _changed_at(root, path, size, mtime))
    ]
    if len(changed) > max(_MAX_CHANGED, len(entries) // 2):
        return []
    return [path for _, path in sorted(changed, reverse=True)[:_MAX_CHANGED]]


def _read(root: str, name: str, limit: int) -> bytes:
    """Return a file of a project's git folder; empty if it cannot be read.

    Also empty if the project's `.git` file points to a folder that does not point back: anyone can write such a file.
    """
    folder = git_folder(root)
    if folder is None or (folder != os.path.join(root, ".git") and main_worktree(root) is None):
        return b""
    try:
        return read_regular(os.path.join(folder, name), limit)[0]
    except OSError:
        return b""


def _entries(data: bytes) -> list[tuple[str, int, int]]:
    """Return (path, size, time of change) of each regular file in git's index; empty for another format."""
    if data[:4] != b"DIRC" or int.from_bytes(data[4:8], "big") not in _VERSIONS:
        return []
    entries: list[tuple[str, int, int]] = []
    # Offsets in an entry: mtime 8, mode 24 (big-endian; its type is the upper half of byte 26), size 36, SHA-1 40, flags 60. Entries are
    # padded with 1 to 8 NULs to a multiple of 8.
    at = _HEADER_BYTES
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = int.from_bytes(data[at + 60 : at + _ENTRY_BYTES], "big")
        start = at + _ENTRY_BYTES + (2 if flags & _EXTENDED_FLAG else 0)
        end = data.find(b"\0", start)
        if end < 0 or (flags & _PATH_LENGTH_MASK) not in (end - start, _PATH_LENGTH_MASK):
            return []  # cut off, or with another digest length
        if data[at + 26] >> 4 == _REGULAR:
            size, mtime = (int.from_bytes(data[at + n : at + n + 4], "big") for n in (36, 8))
            entries.append((os.fsdecode(data[start:end]), size, mtime))
        at += (end - at + 8) // 8 * 8
    return entries


def _changed_at(root: str, path: str, size: int, mtime: int) -> float:
    """Return when a file changed; 0.0 if it matches git's index, is missing, or is outside the root."""
    if path.startswith("/") or ".." in path.split("/"):
        return 0.0
    try:
        status = os.lstat(os.path.join(root, path))
    except (OSError, ValueError):
        return 0.0
    is_same = status.st_size & 0xFFFFFFFF == size and int(status.st_mtime) & 0xFFFFFFFF == mtime
    return 0.0 if is_same or not modes.S_ISREG(status.st_mode) else status.st_mtime
