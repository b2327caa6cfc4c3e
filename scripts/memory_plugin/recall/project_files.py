"""Which memories name a file of the project.

A prepared file says whether any memory could name a file, so that a tool call on most files does not open the index. It is derived from the
index and stored next to it, so a repository can neither provide nor change it. The first line has the patterns. Then follow the other
paths, sorted, one a line.
"""

from __future__ import annotations

import os

from ..kernel.fastjson import as_object, as_text, dumps, loads
from ..kernel.files import read_regular, replace_if_changed
from ..memories.guard_file import IGNORES_CASE, covers, paths_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Paths
    from ..kernel.sqlite import Connection

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


class NamedFiles:
    """The prepared paths of a project; empty if the file is missing, damaged, or of another project or version."""

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
        fields = as_object(payload.get("tool_input"))
        path = fields.get("file_path", fields.get("notebook_path"))
        if not self._lines or not isinstance(path, str) or not path or not path.isprintable():
            return {}  # other characters are not safe to pass to the system
        creates = payload.get("tool_name") == _CREATES
        paths = paths_below(root, path, as_text(payload.get("cwd")))
        files = {path: creates and not os.path.lexists(os.path.join(root, path)) for path in paths}
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
    folder, _, name = path.rpartition("/")
    beside = [(rest, key) for rest, key in _below(connection, folder) if "/" not in rest]
    kin = {key for rest, key in beside if rest.partition(".")[2] == name.partition(".")[2]}
    if kin and len({key for _, key in beside}) <= _MAX_KIN:
        return kin
    shared = folder.split("/")[:_SHARED_FOLDERS]
    below = _below(connection, "/".join(shared)) if len(shared) == _SHARED_FOLDERS else []
    namesakes = {key for rest, key in below if rest.rpartition("/")[2] == name}
    return namesakes if len(namesakes) <= _MAX_KIN else set()


def _below(connection: Connection, folder: str) -> list[tuple[str, str]]:
    """Return the rest of each named path below a folder, with the memory's key, up to a limit."""
    start, end = folder + "/", folder + chr(ord("/") + 1)
    select = "SELECT path, key FROM paths WHERE injectable = 1 AND way = ? AND path > ? AND path < ? ORDER BY path LIMIT ?"
    rows = connection.execute(select, (FILE, start, end, _MAX_LINES))
    return [(path[len(start) :], key) for path, key in rows]


def _folders_above(path: str) -> list[str]:
    """Return the folders above a path, each without and with a slash at its end."""
    parts = path.split("/")
    folders = ["/".join(parts[:end]) for end in range(1, len(parts))]
    return [named for folder in folders for named in (folder, folder + "/")]


def _matches(pattern: str, path: str) -> bool:
    """Return whether a pattern covers a path; brackets are a set or, as in the file names of routes, part of a name."""
    return covers(pattern, path) or ("[" in pattern and covers(pattern.replace("[", "\\["), path))


def folded(path: str) -> str:
    """Return a path in lower case where file names ignore case."""
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
