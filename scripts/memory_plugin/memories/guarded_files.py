"""Decide whether a file pattern of a guard covers a path. Patterns work as in .gitignore, from the worktree's root.

A pattern with a slash before its end is anchored at the root; any other pattern matches at every depth. A pattern that ends in a slash
matches only folders. One that matches a folder covers everything in it. `*` and `?` stop at a slash, `**` does not, `[a-z]` and `[!a]`
are sets, and a backslash makes the next character literal. There are no exceptions: a pattern that begins with `!` is invalid.
"""

from __future__ import annotations

import os
import sys

# These systems ignore case in file names; elsewhere another case is another file.
IGNORES_CASE = sys.platform in ("win32", "darwin", "cygwin")
_ANY_DEPTH = "**"


def paths_below(root: str, path: str, folder: str) -> list[str]:
    """Return the paths of a file relative to `root`, with slashes, as written and with links resolved; empty if it is outside the root.

    A relative path starts at `folder`.
    """
    full = os.path.normpath(os.path.join(folder or root, path))
    through_links = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
    start = root.rstrip(os.sep) + os.sep
    candidates = dict.fromkeys([full, through_links, os.path.realpath(full)])
    return [
        _composed(path[len(start) :].replace(os.sep, "/")) for path in candidates if path.startswith(start)
    ]


def _composed(path: str) -> str:
    """Return a path with composed accents (NFC), as stored texts have them; macOS may pass accents as characters of their own."""
    if path.isascii():
        return path
    from unicodedata import normalize

    return normalize("NFC", path)


def pattern_problem(pattern: str) -> str:
    """Return how to fix an invalid pattern; empty for a valid one."""
    if pattern.startswith("!"):
        return "there are no exceptions: name only what is guarded; for a name that begins with !, write \\!"
    segments = pattern.strip("/").split("/")
    if any(segment in (".", "..") for segment in segments):
        return "leave out . and .."
    return "" if all(segments) else "leave out empty parts"


def covers(pattern: str, path: str, *, ignores_case: bool = IGNORES_CASE) -> bool:
    """Return whether a pattern covers a path, which is relative to the root and has slashes."""
    if ignores_case:
        pattern, path = pattern.casefold(), path.casefold()
    folders_only = pattern.endswith("/")
    segments = pattern.strip("/").split("/")
    parts = path.split("/")
    if "/" not in pattern.rstrip("/"):
        segments = [_ANY_DEPTH, *segments]
    lengths = _matched_lengths(segments, parts)
    return any(length < len(parts) or not folders_only for length in lengths)


def _matched_lengths(segments: list[str], parts: list[str]) -> set[int]:
    """Return the numbers of leading path parts that the segments can match, by dynamic programming over the segments."""
    reached = {0}
    for at, segment in enumerate(segments):
        if segment == _ANY_DEPTH:
            is_last = at == len(segments) - 1
            reached = set(range(min(reached) + is_last, len(parts) + 1))
        else:
            reached = {
                length + 1 for length in reached if length < len(parts) and _matches(segment, parts[length])
            }
        if not reached:
            break
    return reached - {0}


def _matches(segment: str, name: str) -> bool:
    """Return whether a segment matches a whole name. Only the last star backtracks, so the time is at most quadratic."""
    tokens = _tokens(segment)
    at = token = 0
    star, resume = -1, 0
    while at < len(name):
        if token < len(tokens) and tokens[token] == "*":
            star, resume = token, at
            token += 1
        elif token < len(tokens) and _matches_character(tokens[token], name[at]):
            token += 1
            at += 1
        elif star >= 0:
            resume += 1
            token, at = star + 1, resume
        else:
            return False
    return all(rest == "*" for rest in tokens[token:])


def _tokens(segment: str) -> list[str]:
    """Return the tokens of a segment: `*`, `?`, a set in brackets, or a backslash with the character that it escapes."""
    tokens: list[str] = []
    at = 0
    while at < len(segment):
        char = segment[at]
        stop = at + 1
        if char == "[":
            stop = _set_end(segment, at)
        elif char == "\\":
            stop = at + 2
        element = segment[at:stop]
        if element != "*" or tokens[-1:] != ["*"]:  # stars in a row are one
            tokens.append(element if char in "*?\\" or len(element) > 1 else "\\" + element)
        at = stop
    return tokens


def _set_end(segment: str, start: int) -> int:
    """Return the offset after a set; if it is never closed, the offset after its bracket, which is literal then."""
    at = start + 1 + (segment[start + 1 : start + 2] in ("!", "^"))
    end = segment.find("]", at + 1)
    return start + 1 if end < 0 else end + 1


def _matches_character(element: str, char: str) -> bool:
    if element == "?":
        return True
    if element[0] == "\\":
        return element[1:] == char
    if element[0] != "[":
        return False
    inside = element[1:-1]
    negated = inside[0] in "!^"
    return _in_set(inside[negated:], char) != negated


def _in_set(inside: str, char: str) -> bool:
    at = 0
    while at < len(inside):
        if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
            if inside[at] <= char <= inside[at + 2]:
                return True
            at += 3
        else:
            if inside[at] == char:
                return True
            at += 1
    return False
