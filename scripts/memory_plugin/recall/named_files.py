"""The prepared file that maps paths to the memories that name them, so that a tool call on any other file does not open the index.

It is derived from the index and stored next to it, so a repository can neither provide nor change it. The first line has the data that
every call needs. Then follows one line for each path, sorted, so that a call parses only the few lines that it needs.
"""

from __future__ import annotations

import os

from ..kernel.fastjson import dumps, loads
from ..kernel.files import read_regular, replace_if_changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..kernel.paths import Paths
    from ..kernel.sqlite import Connection

SCHEMA = 1
# The ways in which a memory names a file, the most certain first: its path, a pattern, a folder above it, in the title or body, and the
# path of a similar file.
FILE, PATTERN, FOLDER, TEXT, KIN = "file", "pattern", "folder", "text", "kin"
WAYS = (FILE, PATTERN, FOLDER, TEXT, KIN)
MAX_PATHS = 50_000
_MAX_BYTES = 16 << 20
_MAX_PATTERNS = 500
# If more memories name files in a folder, none of them is specific to a new file in it.
_MAX_KIN = 2
_MAX_LINES = 2000
_SHARED_FOLDERS = 2
_CREATES = "Write"


class NamedFiles:
    """The prepared paths of a project; empty if the file is missing, damaged, or of another project or version."""

    __slots__ = ("_lines", "_patterns")

    def __init__(self, paths: Paths) -> None:
        self._lines = b""
        self._patterns: list[tuple[str, str]] = []
        try:
            head, _, lines = read_regular(named_files_path(paths), _MAX_BYTES)[0].partition(b"\n")
            data = loads(head.decode("ascii"))
            if isinstance(data, dict) and data["schema"] == SCHEMA and data["root"] == paths.project_root:
                self._patterns = [(str(pattern), str(key)) for pattern, key in data["patterns"]]
                self._lines = b"\n" + lines
        except (OSError, ValueError, KeyError, TypeError):
            self._lines = b""

    def any(self) -> bool:
        """Return whether any memory names a file."""
        return bool(self._lines)

    def named_by(self, payload: dict[str, object], root: str) -> dict[str, str]:
        """Return memory key -> the most certain way for the memories that name the file of a tool call."""
        from ..memories.guard_file import paths_below

        path, folder = _call_path(payload), payload.get("cwd")
        paths = paths_below(root, path, folder if isinstance(folder, str) else "") if path else []
        ways: dict[str, str] = {}
        for path in paths:
            is_new = payload.get("tool_name") == _CREATES and not os.path.lexists(os.path.join(root, path))
            for key, way in self.naming(path, is_new=is_new).items():
                _add(ways, key, way)
        return ways

    def naming(self, path: str, *, is_new: bool) -> dict[str, str]:
        """Return memory key -> the most certain way for the memories that name a file.

        `path` is relative to the root and has slashes. KIN applies only to a new file that nothing names: files beside it with the same
        ending count, or files of the same name in a neighboring folder.
        """
        path = folded(path)
        ways: dict[str, str] = {}
        for key, way in self._entry(path):
            _add(ways, key, way)
        for pattern, key in self._patterns:
            if _matches(pattern, path):
                _add(ways, key, PATTERN)
        for folder in _folders_above(path):
            for key, way in self._entry(folder):
                if way == FILE:
                    _add(ways, key, FOLDER)
            for key, way in self._entry(folder + "/"):
                _add(ways, key, FOLDER if way == FILE else TEXT)
        if not ways and is_new:
            ways.update(dict.fromkeys(self._kin(path), KIN))
        return ways

    def _entry(self, path: str) -> list[tuple[str, str]]:
        at = self._lines.find(b"\n%s\t" % encoded(path).encode("ascii"))
        return self._marks(at + 1) if at >= 0 else []

    def _marks(self, start: int) -> list[tuple[str, str]]:
        """Return the keys and ways of the line at an offset; none if it is damaged."""
        end = self._lines.find(b"\n", start)
        line = self._lines[start : end if end >= 0 else None]
        try:
            marks: Any = loads(line.partition(b"\t")[2].decode("ascii"))
            return [(str(key), str(way)) for key, way in marks if way in WAYS]
        except (ValueError, TypeError):
            return []

    def _kin(self, path: str) -> set[str]:
        """Return the memories that name files similar to a new file, if they are few."""
        folder, _, name = path.rpartition("/")
        if not folder:
            return set()
        in_folder: set[str] = set()
        same_ending: set[str] = set()
        for rest, start in self._below(folder):
            if "/" not in rest and rest:
                keys = {key for key, way in self._marks(start) if way == FILE}
                in_folder |= keys
                if _ending(rest) == _ending(name):
                    same_ending |= keys
        kin = same_ending if len(in_folder) <= _MAX_KIN else set()
        return kin or self._namesakes(folder, name)

    def _namesakes(self, folder: str, name: str) -> set[str]:
        """Return the memories that name a file of the same name below the same first two folders, if they are few."""
        segments = folder.split("/")
        if len(segments) < _SHARED_FOLDERS:
            return set()
        memories: set[str] = set()
        for rest, start in self._below("/".join(segments[:_SHARED_FOLDERS])):
            if rest.rpartition("/")[2] == name:
                memories |= {key for key, way in self._marks(start) if way == FILE}
        return memories if len(memories) <= _MAX_KIN else set()

    def _below(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield the rest of each path below a folder and the offset of its line, up to a limit."""
        prefix = b"\n%s/" % encoded(folder).encode("ascii")
        at = self._lines.find(prefix)
        for _ in range(_MAX_LINES):
            if at < 0 or not self._lines.startswith(prefix, at):
                return
            start = at + len(prefix)
            yield _decoded(self._lines[start : self._lines.find(b"\t", start)]), at + 1
            at = self._lines.find(b"\n", start)


def _call_path(payload: dict[str, object]) -> str:
    """Return the path of a tool call; empty if it is not safe to pass to the system."""
    tool_input = payload.get("tool_input")
    fields = tool_input if isinstance(tool_input, dict) else {}
    path = fields.get("file_path", fields.get("notebook_path"))
    return path if isinstance(path, str) and path.isprintable() else ""


def _add(ways: dict[str, str], key: str, way: str) -> None:
    """Set the way of a memory, unless it has a more certain one already."""
    if key not in ways or WAYS.index(way) < WAYS.index(ways[key]):
        ways[key] = way


def _folders_above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _matches(pattern: str, path: str) -> bool:
    """Return whether a pattern covers a path; brackets are a set or, as in the file names of routes, part of a name."""
    from ..memories.guard_file import covers

    return covers(pattern, path) or ("[" in pattern and covers(pattern.replace("[", "\\["), path))


def _ending(name: str) -> str:
    return name.partition(".")[2]


def folded(path: str) -> str:
    """Return a path in lower case where file names ignore case."""
    from ..memories.guard_file import IGNORES_CASE

    return path.casefold() if IGNORES_CASE else path


def encoded(path: str) -> str:
    """Return a path as a line of the file holds it."""
    return dumps(path)[1:-1]


def _decoded(path: bytes) -> str:
    return str(loads('"%s"' % path.decode("ascii")))


def named_files_path(paths: Paths) -> str:
    """Return the path of the project's file. Raises RuntimeError without a state folder."""
    return paths.state("index", paths.project_key + ".files")


def write_named_files(paths: Paths, connection: Connection) -> bool:
    """Write the file from the index, delete it if no file is named, and return whether it changed. Raises OSError and SqliteError."""
    select = "SELECT path, key FROM paths WHERE way = ? ORDER BY path, key LIMIT ?"
    patterns = connection.execute(select, (PATTERN, _MAX_PATTERNS)).fetchall()
    # A key needs no escapes in JSON. SQLite joins the lines of 20,000 paths in a few milliseconds.
    lines = connection.execute(
        """SELECT path || char(9) || '[' || group_concat('["' || key || '","' || way || '"]') || ']' FROM
        (SELECT path, key, way FROM paths WHERE way != ? ORDER BY path, key) GROUP BY path ORDER BY path LIMIT ?""",
        (PATTERN, MAX_PATHS),
    ).fetchall()
    content = b""
    if patterns or lines:
        decoded = [(_decoded(pattern.encode("ascii")), key) for pattern, key in patterns]
        head = dumps({"schema": SCHEMA, "root": paths.project_root, "patterns": decoded})
        content = "\n".join([head, *(line for (line,) in lines), ""]).encode("ascii")
    return replace_if_changed(named_files_path(paths), content, _MAX_BYTES)
