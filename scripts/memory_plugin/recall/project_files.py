"""Which memories name a file of the project, and which files changed in its worktree.

A prepared file says whether any memory could name a file, so that a tool call on most files does not open the index. It is derived from the
index and stored next to it, so a repository can neither provide nor change it. The first line has the patterns. Then follow the other
paths, sorted, one a line.

The branch's name and the changed files are read from git's own files, without starting git. A tracked file counts as changed if its size or
time differs from git's index (gitformat-index(5)), which is also git's first check. The names may be hostile and are used only as words to
search for. A large index is not read, so that the session's start does not wait for it.
"""

from __future__ import annotations

import os
import stat as modes

from ..kernel.fastjson import as_object, dumps, loads
from ..kernel.files import read_regular, replace_if_changed
from ..kernel.paths import git_folder, main_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.paths import Paths
    from ..kernel.sqlite import Connection
    from .ranking import Hit

SCHEMA = 2
# The ways in which a memory names a file, the most certain first: its path, a pattern, a folder above it, in the title or body, and the
# path of a similar file.
FILE, PATTERN, FOLDER, TEXT, KIN = "file", "pattern", "folder", "text", "kin"
WAYS = (FILE, PATTERN, FOLDER, TEXT, KIN)
_MAX_PATHS, _MAX_PATTERNS = 50_000, 500
_MAX_BYTES = 16 << 20
# If more memories name files in a folder, none of them is specific to a new file in it.
_MAX_KIN = 2
_MAX_LINES = 2000
_SHARED_FOLDERS = 2
_CREATES = "Write"
_MAX_HEAD = 4096
_MAX_INDEX = 192 << 10  # about 2,000 files, whose status takes some milliseconds
_MAX_CHANGED = 20
_HEAD_PREFIX = "ref: refs/heads/"
_COMMON_NAMES = ("main", "master", "trunk", "develop", "dev")  # names that say nothing about the work
_VERSIONS = (2, 3)  # version 4 compresses its paths
_HEADER_BYTES, _ENTRY_BYTES = 12, 62  # _ENTRY_BYTES: the fixed part, before the path
_EXTENDED_FLAG, _PATH_LENGTH_MASK = 0x4000, 0x0FFF
_REGULAR = 0o10


class NamedFiles:
    """The prepared paths of a project; empty if the file is missing, damaged, or of another project or version."""

    __slots__ = ("_lines", "_patterns")

    def __init__(self, paths: Paths) -> None:
        self._lines = b""
        self._patterns: list[str] = []
        try:
            head, _, lines = read_regular(named_files_path(paths), _MAX_BYTES)[0].partition(b"\n")
            data = loads(head.decode("ascii"))
            if isinstance(data, dict) and data["schema"] == SCHEMA and data["root"] == paths.project_root:
                self._patterns = list(map(str, data["patterns"]))
                self._lines = b"\n" + lines
        except (OSError, ValueError, KeyError, TypeError):
            self._lines = b""

    def of_call(self, payload: dict[str, object], root: str) -> dict[str, bool]:
        """Return path -> whether it is new, for the paths of a tool call's file that a memory may name; empty for most calls."""
        fields, folder = as_object(payload.get("tool_input")), payload.get("cwd")
        path = fields.get("file_path", fields.get("notebook_path"))
        if not self._lines or not isinstance(path, str) or not path or not path.isprintable():
            return {}  # other characters are not safe to pass to the system
        from ..memories.guard_file import paths_below

        creates = payload.get("tool_name") == _CREATES
        files = {
            path: creates and not os.path.lexists(os.path.join(root, path))
            for path in paths_below(root, path, folder if isinstance(folder, str) else "")
        }
        return {path: is_new for path, is_new in files.items() if self.may_name(path, is_new=is_new)}

    def may_name(self, path: str, *, is_new: bool) -> bool:
        """Return whether a memory could name a file: a cheap check, wrong only when it returns True."""
        path = folded(path)
        starts = ["\n%s\n" % named for named in (path, *_folders_above(path))]
        if is_new:
            starts.append("\n%s/" % "/".join(path.split("/")[:-1][:_SHARED_FOLDERS]))
        in_lines = any(start.encode("utf-8", "replace") in self._lines for start in starts)
        return in_lines or any(_matches(pattern, path) for pattern in self._patterns)


def naming(connection: Connection, files: dict[str, bool]) -> dict[str, str]:
    """Return memory key -> the most certain way for the memories that name a file, given as path -> whether it is new.

    Paths are relative to the root and have slashes. KIN applies only to a new file that nothing names: files beside it with the same
    ending count, or files of the same name in a neighboring folder. Raises SqliteError.
    """
    found: list[tuple[str, str]] = []
    for path, is_new in files.items():
        ways = _ways(connection, folded(path))
        if not ways and is_new:
            ways = [(key, KIN) for key in _kin(connection, folded(path))]
        found += ways
    # The last way of a memory stays.
    return dict(sorted(found, key=lambda named: WAYS.index(named[1]), reverse=True))


def _ways(connection: Connection, path: str) -> list[tuple[str, str]]:
    """Return the key and the way of each mention of a file."""
    found: list[tuple[str, str]] = []
    asked = [path, *_folders_above(path)]
    select = "SELECT path, key, way FROM paths WHERE injectable = 1 AND "
    query = select + "path IN (%s) UNION ALL " % ",".join("?" * len(asked)) + select + "way = 'pattern'"
    for named, key, way in connection.execute(query, asked):
        if way == PATTERN:
            found += [(key, PATTERN)] if _matches(named, path) else []
        elif named == path:
            found.append((key, way))
        elif way == FILE or named.endswith("/"):
            found.append((key, FOLDER if way == FILE else TEXT))
    return found


def _kin(connection: Connection, path: str) -> set[str]:
    """Return the memories that name files similar to a new file, if they are few."""
    *folders, name = path.split("/")
    beside = [
        (rest, key) for rest, key in _below(connection, folders) if folders and rest and "/" not in rest
    ]
    kin = {key for rest, key in beside if rest.partition(".")[2] == name.partition(".")[2]}
    if kin and len({key for _, key in beside}) <= _MAX_KIN:
        return kin
    shared = folders[:_SHARED_FOLDERS] if len(folders) >= _SHARED_FOLDERS else ["/"]
    namesakes = {key for rest, key in _below(connection, shared) if rest.rpartition("/")[2] == name}
    return namesakes if len(namesakes) <= _MAX_KIN else set()


def _below(connection: Connection, folders: list[str]) -> list[tuple[str, str]]:
    """Return the rest of each named path below a folder, with the memory's key, up to a limit."""
    start = "/".join(folders) + "/"
    select = "SELECT path, key FROM paths WHERE injectable = 1 AND way = ? AND path >= ? AND path < ? ORDER BY path LIMIT ?"
    rows = connection.execute(select, (FILE, start, start[:-1] + chr(ord("/") + 1), _MAX_LINES))
    return [(path[len(start) :], key) for path, key in rows]


def _folders_above(path: str) -> list[str]:
    """Return the folders above a path, each without and with a slash at its end."""
    parts = path.split("/")
    folders = ["/".join(parts[:end]) for end in range(1, len(parts))]
    return [named for folder in folders for named in (folder, folder + "/")]


def _matches(pattern: str, path: str) -> bool:
    """Return whether a pattern covers a path; brackets are a set or, as in the file names of routes, part of a name."""
    from ..memories.guard_file import covers

    return covers(pattern, path) or ("[" in pattern and covers(pattern.replace("[", "\\["), path))


def folded(path: str) -> str:
    """Return a path in lower case where file names ignore case."""
    from ..memories.guard_file import IGNORES_CASE

    return path.casefold() if IGNORES_CASE else path


def named_files_path(paths: Paths) -> str:
    """Return the path of the project's file. Raises RuntimeError without a state folder."""
    return paths.state("index", paths.project_key + ".files")


def write_named_files(paths: Paths, connection: Connection) -> bool:
    """Write the file from the index, delete it if no file is named, and return whether it changed. Raises OSError and SqliteError."""
    select = (
        "SELECT DISTINCT path FROM paths WHERE injectable = 1 AND (way = 'pattern') = ? ORDER BY path LIMIT ?"
    )
    patterns = [path for (path,) in connection.execute(select, (1, _MAX_PATTERNS))]
    lines = [path for (path,) in connection.execute(select, (0, _MAX_PATHS))]
    head = dumps({"schema": SCHEMA, "root": paths.project_root, "patterns": patterns})
    content = "\n".join([head, *lines, ""]).encode("utf-8") if patterns or lines else b""
    return replace_if_changed(named_files_path(paths), content, _MAX_BYTES)


def with_gone_files(block: str, hits: Iterable[Hit], root: str) -> str:
    """Return what Claude is shown with a mark behind those files of a project's memories that are gone; patterns are not looked at.

    The memories' own texts stay as they are: their digest says what Claude has seen.
    """
    for hit in hits:
        head, mark, rest = hit.injection_text.rpartition("\nFiles: ")
        if mark and hit.scope == "project":
            files, end, tail = rest.partition("\n")
            names = [name + " (gone)" if _is_gone(name, root) else name for name in files.split(", ")]
            block = block.replace(hit.injection_text, "".join((head, mark, ", ".join(names), end, tail)))
    return block


def _is_gone(name: str, root: str) -> bool:
    path = name.partition(":")[0].replace("\\", "/")
    is_elsewhere = path[:1] in ("", "/", "~", "!") or path.startswith("../")
    is_pattern = any(sign in path for sign in "*?[{&<>\u2026")
    return not (is_elsewhere or is_pattern or os.path.lexists(os.path.join(root, path)))


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
