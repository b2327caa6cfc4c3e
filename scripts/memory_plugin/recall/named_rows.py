"""Extract the paths that a memory names, for the index and the file that tool calls read."""

from __future__ import annotations

import os
import re
from html import unescape
from typing import TYPE_CHECKING

from .named_files import FILE, PATTERN, TEXT, encoded, folded

if TYPE_CHECKING:
    from .documents import Document

_PROJECT, _NATIVE = "project", "native"
_WILD = re.compile(r"[*?]")
_LINE_NUMBER = re.compile(r":\d+(?:[:-]\d+)?\Z")
_TOKEN = re.compile(r"[\w.@()\[\]{}+~/-]+")
_NAME = re.compile(r"[\w.@+~-]*\w\.[a-z][a-z0-9]{0,5}\Z", re.IGNORECASE)
# A top-level folder, such as that of all sources, says nothing about a single file.
_MIN_FOLDERS = 2
_MAX_LENGTH = 300  # characters of a path


def named_rows(document: Document, root: str) -> list[tuple[str, str, str]]:
    """Return (path or pattern, key, way) for each path that a memory names, once, in the most certain way."""
    ways: dict[str, str] = {}
    for entry in () if document.scope == _NATIVE else document.files:
        for path, way in named_in_files(entry, root):
            # A user-scope memory is about many projects, which have files of the same name.
            if document.scope == _PROJECT or way == PATTERN:
                ways[path if way == PATTERN else folded(path)] = way
    if document.scope == _PROJECT:
        for path in named_in_text(unescape(document.inject.rpartition("\nFiles: ")[0] or document.inject)):
            ways.setdefault(folded(path), TEXT)
    return [(encoded(path), document.key, way) for path, way in ways.items()]


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
        if "/" not in token and "." not in token:
            continue
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
