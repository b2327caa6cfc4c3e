"""Extract the paths that memories name, after each refresh that changed the index, and write the prepared file."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from html import unescape
from typing import TYPE_CHECKING

from ..kernel.fastjson import loads
from .named_files import FILE, PATTERN, TEXT, write_named_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..kernel.paths import Paths
    from ..kernel.sqlite import Connection

__all__ = ["named_in_files", "named_in_text", "prepare_named_files"]

_PROJECT = "project"
_WILD = re.compile(r"[*?]")
_LINE_NUMBER = re.compile(r":\d+(?:[:-]\d+)?\Z")
_TOKEN = re.compile(r"[\w.@()\[\]{}+~/-]+")
_NAME = re.compile(r"[\w.@+~-]*\w\.[a-z][a-z0-9]{0,5}\Z", re.IGNORECASE)
# A top-level folder, such as that of all sources, says nothing about a single file.
_MIN_FOLDERS = 2
_MAX_LENGTH = 300  # characters of a path


def prepare_named_files(paths: Paths, connection: Connection) -> None:
    """Update the prepared file. If it cannot be written now, a later refresh writes it."""
    with suppress(OSError):
        write_named_files(paths, _named(paths, connection))


def _named(paths: Paths, connection: Connection) -> Iterator[tuple[str, str, str]]:
    rows = connection.execute(
        "SELECT key, scope, files, inject FROM documents WHERE injectable = 1 AND scope != 'native' ORDER BY key"
    )
    for key, scope, files, inject in rows:
        entries = loads(files)
        for entry in entries if isinstance(entries, list) else ():
            for path, way in named_in_files(str(entry), paths.project_root):
                # A user-scope memory is about many projects, which have files of the same name.
                if scope == _PROJECT or way == PATTERN:
                    yield path, key, way
        if scope == _PROJECT:
            for path in named_in_text(unescape(inject.rpartition("\nFiles: ")[0] or inject)):
                yield path, key, TEXT


def named_in_files(entry: str, root: str) -> list[tuple[str, str]]:
    """Return (path or pattern relative to the root, way) for an entry of `files`; an empty list if it is outside the root."""
    entry = _LINE_NUMBER.sub("", entry.strip()).replace("\\", "/")
    start = root.replace(os.sep, "/").rstrip("/") + "/"
    entry = entry.removeprefix(start)
    if _WILD.search(entry):
        pattern = entry.removeprefix("./")
        return [(pattern, PATTERN)] if len(pattern.strip("*?/.")) > 1 else []
    path = _relative(entry)
    return [(path, FILE)] if path else []


def named_in_text(text: str) -> set[str]:
    """Return the paths in a title or body: those with a slash, names with an ending, and folders that end in a slash."""
    paths: set[str] = set()
    for token in _TOKEN.findall(text):
        # A bracket or a dot may belong to the name, as in `.github/` and `app/(shop)/`, or to the sentence.
        paths.update(filter(_is_specific, {_relative(token.rstrip(".,")), _relative(token.strip(".,()"))}))
    return paths


def _is_specific(path: str) -> bool:
    if not path or len(path) > _MAX_LENGTH:
        return False
    if path.endswith("/"):
        return path.count("/") >= _MIN_FOLDERS
    return "/" in path or bool(_NAME.match(path))


def _relative(path: str) -> str:
    """Return a normalized path relative to the root; empty if it leads out of the root or is empty."""
    while path.startswith("./"):
        path = path[2:]
    parts = path.rstrip("/").split("/")
    if not path or path.startswith(("/", "~")) or any(part in ("", ".", "..") for part in parts):
        return ""
    return "/".join(parts) + ("/" if path.endswith("/") else "")
