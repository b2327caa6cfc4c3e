"""The guards in force in a project, prepared in one small file, so that a tool call without a guard costs almost nothing.

Like the index, the file is derived from the stores and the trust records. It is in the state folder, where a repository can neither
provide nor change it. The first line holds the data that a tool call is compared with, the second the memories' texts, which are parsed
only at a match.
"""

from __future__ import annotations

from ..kernel.fastjson import dumps, loads
from ..kernel.files import read_regular, replace_if_changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..kernel.paths import Paths

SCHEMA = 1
MAX_GUARDS = 500
_MAX_BYTES = 8 << 20
_FIELDS = ("key", "action", "until", "commands", "files")
# Characters that a shell removes from a word: quotes, escapes, and the line ends after them.
_REMOVED = str.maketrans("", "", "\\'\"\n\r$")


class GuardInForce:
    """One guard: the memory's key, the action, when it expires (empty for never), its commands as word lists, its file patterns."""

    __slots__ = ("action", "commands", "files", "key", "until")

    def __init__(self, row: dict[str, Any]) -> None:
        """Read a row of the file. Raises KeyError and TypeError for an invalid row."""
        self.key, self.action, self.until = str(row["key"]), str(row["action"]), str(row["until"])
        self.commands: list[list[str]] = [[str(word) for word in words] for words in row["commands"] if words]
        self.files: list[str] = [str(pattern) for pattern in row["files"]]


class GuardFile:
    """The prepared guards of a project, none if the file is missing, damaged, or of another project or version."""

    __slots__ = ("_texts", "guards", "has_files")

    def __init__(self, paths: Paths) -> None:
        self.guards: list[GuardInForce] = []
        self.has_files = False
        self._texts = b""
        try:
            head, _, self._texts = read_regular(guard_file_path(paths), _MAX_BYTES)[0].partition(b"\n")
            self._read(loads(head.decode("utf-8")), paths.project_root)
        except (OSError, ValueError, KeyError, TypeError):
            self.guards = []

    def _read(self, data: object, root: str) -> None:
        if isinstance(data, dict) and data["schema"] == SCHEMA and data["root"] == root:
            self.has_files = data["has_files"] is True
            self.guards = [GuardInForce(row) for row in data["guards"]]

    def may_cover(self, tool_input: object) -> bool:
        """Return whether a guard could cover a tool call with this input: a cheap check, wrong only when it returns True."""
        if not self.guards or not isinstance(tool_input, dict):
            return False
        command = tool_input.get("command")
        return self.may_cover_command(command) if isinstance(command, str) else self.has_files

    def may_cover_command(self, command: str) -> bool:
        """Return whether a command line could run a guarded command: a cheap check, wrong only when it returns True."""
        bare = command.translate(_REMOVED)
        commands = [words for guard in self.guards for words in guard.commands]
        matches = any(all(map(bare.__contains__, _fixed_parts(words))) for words in commands)
        return matches or (bool(commands) and "$'" in command)  # in $'...' any character may be an escape

    def text(self, key: str, name: str) -> str:
        """Return a text of a guard's memory: `title`, `block` (as it is injected), `body`, or `mark`, which changes with it."""
        try:
            texts = loads(self._texts.decode("utf-8"))
        except ValueError:
            return ""
        row = texts.get(key) if isinstance(texts, dict) else None
        value = row.get(name) if isinstance(row, dict) else None
        return value if isinstance(value, str) else ""


def _fixed_parts(words: list[str]) -> Iterator[str]:
    """Yield the parts of a guard's words that each covered command line contains, as other options may be part of the same word."""
    for word in words:
        name, sign, value = word.translate(_REMOVED).partition("=")
        if word[:1] != "-" or word[1:2] == "-" or len(word) > len("-rfvx"):
            yield from (name, value) if sign and word[:1] == "-" else (word.translate(_REMOVED),)


def saved_rows(paths: Paths) -> dict[str, dict[str, Any]]:
    """Return the rows of the file by key, as `write_guard_file` takes them."""
    prepared = GuardFile(paths)
    names = ("title", "block", "body", "mark", "path", "current")
    return {
        guard.key: {
            **{name: getattr(guard, name) for name in _FIELDS},
            "texts": {name: prepared.text(guard.key, name) for name in names},
        }
        for guard in prepared.guards
    }


def guard_file_path(paths: Paths) -> str:
    """Return the path of the project's file. Raises RuntimeError without a state folder."""
    return paths.state("guards", paths.project_key + ".json")


def write_guard_file(paths: Paths, rows: list[dict[str, Any]]) -> bool:
    """Write the file if its guards changed, delete it if there are none, and return whether it changed. Raises OSError.

    A row holds what `GuardInForce` reads, and `texts`.
    """
    content = _content(paths, rows[:MAX_GUARDS]) if rows else b""
    return replace_if_changed(guard_file_path(paths), content, _MAX_BYTES)


def _content(paths: Paths, rows: list[dict[str, Any]]) -> bytes:
    head = {
        "schema": SCHEMA,
        "root": paths.project_root,
        "has_files": any(row["files"] for row in rows),
        "guards": [{name: row[name] for name in _FIELDS} for row in rows],
    }
    texts = {row["key"]: row["texts"] for row in rows}
    return dumps(head).encode("ascii") + b"\n" + dumps(texts).encode("ascii")
