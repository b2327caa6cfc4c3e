"""The guards in force in a project, prepared in one small file, and which files their patterns cover.

With the file, a tool call without a guard costs almost nothing. Like the index, it is derived from the stores and the trust records. It
is in the state folder, where a repository can neither provide nor change it. The first line holds the data that a tool call is compared
with, the second the memories' texts, which are parsed only at a match.

File patterns work as in .gitignore, from the worktree's root. A pattern with a slash before its end is anchored at the root; any other
pattern matches at every depth. A pattern that ends in a slash matches only folders. One that matches a folder covers everything in it.
`*` and `?` stop at a slash, `**` does not, `[a-z]` and `[!a]` are sets, and a backslash makes the next character literal. Braces
name alternatives, which are written out when the file is prepared. There are no exceptions: a pattern that begins with `!` is invalid.
"""

from __future__ import annotations

import os
import sys

from ..kernel.fastjson import as_object, as_text, dumps, load_object, loads
from ..kernel.files import read_regular, replace_if_changed
from ..kernel.paths import Paths, load_data, main_worktree, project_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match
    from typing import Any

SCHEMA = 1
COMMAND_TOOLS = ("Bash", "PowerShell", "Monitor")
MAX_GUARDS = 500
_MAX_BYTES = 8 << 20
_FIELDS = ("key", "action", "until", "commands", "files")
_TEXTS = ("title", "block", "body", "mark", "path", "current")
# Characters that a shell removes from a word: quotes, escapes, and the line ends after them.
_REMOVED = str.maketrans("", "", "\\'\"\n\r$")

# These systems ignore case in file names; elsewhere another case is another file.
IGNORES_CASE = sys.platform in ("win32", "darwin", "cygwin")
_ANY_DEPTH = "**"
_MAX_ALTERNATIVES = 64
_BRACES = r"(?<!\\)\{([^{,]*,[^{]*?)(?<!\\)\}"  # the first innermost ones with a comma


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

    __slots__ = ("_texts", "guards")

    def __init__(self, paths: Paths) -> None:
        self.guards: list[GuardInForce] = []
        self._texts = b""
        try:
            head, _, self._texts = read_regular(guard_file_path(paths), _MAX_BYTES)[0].partition(b"\n")
            data: Any = loads(head.decode("utf-8"))
            if data["schema"] == SCHEMA and data["root"] == paths.project_root:
                self.guards = [GuardInForce(row) for row in data["guards"]]
        except (OSError, ValueError, KeyError, TypeError):
            return

    def may_cover(self, tool_input: object) -> bool:
        """Return whether a guard could cover a tool call with this input: a cheap check, wrong only when it returns True."""
        if not isinstance(tool_input, dict):
            return False
        command = tool_input.get("command")
        if not isinstance(command, str):
            return any(guard.files for guard in self.guards)
        bare = command.translate(_REMOVED).casefold()
        commands = [words for guard in self.guards for words in guard.commands]
        matches = any(all(map(bare.__contains__, _fixed_parts(words))) for words in commands)
        return matches or (bool(commands) and "$'" in command)  # in $'...' any character may be an escape

    def text(self, key: str, name: str) -> str:
        """Return a text of a guard's memory: `title`, `block` (as it is injected), `body`, or `mark`, which changes with it."""
        texts = load_object(self._texts) or {}
        return as_text(as_object(texts.get(key)).get(name))


def _fixed_parts(words: list[str]) -> Iterator[str]:
    """Yield the parts of a guard's words that each covered command line contains, as other options may be part of the same word."""
    for word in words:
        name, sign, value = word.translate(_REMOVED).casefold().partition("=")
        if word[:1] != "-" or word[1:2] == "-" or len(word) > len("-rfvx"):
            parts = (name, value) if sign and word[:1] == "-" else (name + sign + value,)
            yield from "*".join(parts).split("*")


def saved_rows(paths: Paths) -> dict[str, dict[str, object]]:
    """Return the rows of the file by key, as `write_guard_file` takes them."""
    prepared, rows = GuardFile(paths), dict[str, dict[str, object]]()
    for guard in prepared.guards:
        texts = {name: prepared.text(guard.key, name) for name in _TEXTS}
        rows[guard.key] = {**{name: getattr(guard, name) for name in _FIELDS}, "texts": texts}
    return rows


def guard_file_path(paths: Paths) -> str:
    """Return the path of the project's file. Raises RuntimeError without a state folder."""
    return paths.state("guards", paths.project_key + ".json")


def write_guard_file(paths: Paths, rows: list[dict[str, object]]) -> bool:
    """Write the file if its guards changed, delete it if there are none, and return whether it changed. Raises OSError.

    A row holds what `GuardInForce` reads, and `texts`.
    """
    content = _content(paths, rows[:MAX_GUARDS]) if rows else b""
    return replace_if_changed(guard_file_path(paths), content, _MAX_BYTES)


def _content(paths: Paths, rows: list[dict[str, object]]) -> bytes:
    head = {
        "schema": SCHEMA,
        "root": paths.project_root,
        "guards": [{name: row[name] for name in _FIELDS} for row in rows],
    }
    texts = {row["key"]: row["texts"] for row in rows}
    return dumps(head).encode("ascii") + b"\n" + dumps(texts).encode("ascii")


def paths_below(root: str, path: str, folder: str) -> list[str]:
    """Return the paths of a file relative to `root`, with slashes, as written and with links resolved; empty if it is outside the root.

    A file in another worktree of the repository has the path that it has there. A relative path starts at `folder`.
    """
    full = os.path.normpath(os.path.join(folder or root, path))
    through_links = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
    own = project_root(os.path.dirname(full))
    is_worktree = own != root and (main_worktree(own) or own) == (main_worktree(root) or root)
    start = (own if is_worktree else root).rstrip(os.sep) + os.sep
    candidates = dict.fromkeys([full, through_links, os.path.realpath(full)])
    below = (path[len(start) :] for path in candidates if path.startswith(start))
    return [_composed(path.replace(os.sep, "/")) for path in below]


def _composed(path: str) -> str:
    """Return a path with composed accents (NFC), as stored texts have them; macOS may pass accents as characters of their own."""
    if path.isascii():
        return path
    from unicodedata import normalize

    return normalize("NFC", path)


def advice_for(kind: str, text: str) -> str:
    """Return what to write in a guard instead of what only other tools understand; empty for anything else."""
    import re

    rows = load_data("memories", "guard_mistakes")[kind]
    return next((row["advice"] for row in rows if re.search(row["pattern"], text)), "")


def pattern_problem(pattern: str) -> str:
    """Return how to fix a pattern that is invalid or means something only elsewhere; empty for a valid one."""
    if advice := advice_for("files", pattern):
        return advice
    patterns = alternatives(pattern)
    if not patterns:
        return "the braces stand for more than %d patterns; write fewer" % _MAX_ALTERNATIVES
    parts = [segment for one in patterns for segment in one.strip("/").split("/")]
    return "" if all(parts) else "leave out empty parts"


def files_problem(name: str) -> str:
    """Return how to fix an entry of a memory's files, if it is a pattern that nothing can match; else empty."""
    is_pattern = name.startswith("!") or any(sign in name for sign in "*?{") or "[:" in name
    return pattern_problem(name.removeprefix("./")) if is_pattern else ""


def alternatives(pattern: str) -> list[str]:
    """Return the patterns that one with braces stands for, as a shell writes them out; empty if they are too many.

    A name that begins with `**`, as in `src/**.ts`, is one in any folder.
    """
    import re

    patterns, found = [pattern], list[str]()
    while patterns and len(patterns) + len(found) <= _MAX_ALTERNATIVES:
        one = patterns.pop(0)
        if braces := re.search(_BRACES, one):
            choices = braces[1].split(",")
            patterns += [one[: braces.start()] + choice + one[braces.end() :] for choice in choices]
        else:
            found.append(re.sub(r"(?<![^/])\*\*(?=[^/*])", "**/*", one))
    return [] if patterns else found


def written_out(pattern: str) -> list[str]:
    """Return what a valid pattern is compared as: its alternatives, also with brackets as part of a name, as in those of routes."""
    return [
        form
        for one in alternatives(pattern)
        for form in dict.fromkeys([one, one if "\\" in one else one.replace("[", "\\[")])
    ]


def covers(pattern: str, path: str, *, ignores_case: bool = IGNORES_CASE) -> bool:
    """Return whether a pattern covers a path, which is relative to the root and has slashes."""
    if ignores_case:
        pattern, path = pattern.casefold(), path.casefold()
    folders_only = pattern.endswith("/")
    segments = pattern.strip("/").split("/")
    parts = path.split("/")
    if "/" not in pattern.rstrip("/"):
        segments = [_ANY_DEPTH, *segments]
    return any(length < len(parts) or not folders_only for length in _matched_lengths(segments, parts))


def _matched_lengths(segments: list[str], parts: list[str]) -> set[int]:
    """Return the numbers of leading path parts that the segments can match, by dynamic programming over the segments."""
    reached = {0}
    for at, segment in enumerate(segments):
        if segment == _ANY_DEPTH:
            is_last = at == len(segments) - 1
            reached = set(range(min(reached) + is_last, len(parts) + 1))
        else:
            lengths = (length for length in reached if length < len(parts))
            reached = {length + 1 for length in lengths if _matches(segment, parts[length])}
        if not reached:
            break
    return reached - {0}


def _matches(segment: str, name: str) -> bool:
    """Return whether a segment matches a whole name."""
    if not any(sign in segment for sign in "*?[\\"):
        return segment == name
    import re
    from fnmatch import fnmatchcase

    # fnmatch knows no escapes, but sets of one character, and no other negation than `!`.
    literal = re.sub(r"\\(.)|\[\^", _as_in_fnmatch, segment)
    try:
        return fnmatchcase(name, literal)
    except re.error:  # Python 3.9 and 3.10 cannot read a set such as [z-a]
        return False


def _as_in_fnmatch(sign: Match[str]) -> str:
    """Return an escaped character, or the beginning of a negated set, as fnmatch reads it."""
    if sign[1] is None:
        return "[!"
    return "[%s]" % sign[1] if sign[1] in "*?[" else sign[1]
