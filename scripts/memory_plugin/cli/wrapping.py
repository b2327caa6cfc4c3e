"""Wrap text and help examples to the width of a terminal."""

from __future__ import annotations

import re
import unicodedata

_STYLE = re.compile("\033\\[[0-9;]*m")
_GAP = re.compile(r" {2,}")
_SPACES = re.compile(r"( +)")
_HANG = 2
_MARKS = ("- ", "* ", "memory: ")
_COMMENT = 6
_COMMANDS = ("memory ", "--")
_WORD = r"""(?:"[^"]*"|'[^']*'|[^\s"'])+"""
_OPTION = re.compile(r"--%s(?: +(?!--|\\$)%s)*|%s" % (_WORD, _WORD, _WORD))
_MAX_HANG = 0.4  # of the width; a text that begins further right is continued near the left margin


def columns(text: str) -> int:
    """Return the width of a text in terminal columns (Unicode Standard Annex 11), not counting style codes."""
    if "\033" in text:
        text = _STYLE.sub("", text)
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text
    )


def wrapped(text: str, width: int) -> str:
    """Wrap a text to lines of at most `width` columns.

    A single word, such as a path or an id, may be wider, so that it can be copied. Lines that fit are not changed.
    """
    lines = text.expandtabs().split("\n") if "\t" in text else text.split("\n")
    return "\n".join(line if columns(line) <= width else _wrapped(line, width) for line in lines)


def _wrapped(line: str, width: int) -> str:
    """Wrap one line. Later lines are indented to the text after a label, or by two columns more than an indented line."""
    indent = len(line) - len(line.lstrip(" "))
    hang = indent + _HANG if indent or line.startswith(_MARKS) else 0
    gap = _GAP.search(line, indent)
    label = columns(line[: gap.end()]) if gap else 0
    hang = label if 0 < label <= width * _MAX_HANG else hang
    lines, current, space = [], " " * indent, ""
    for piece in _pieces(line[indent:], width - hang):
        if piece.isspace():
            space = piece
        elif columns(current + space + piece) <= width or not current.strip():
            current, space = current + space + piece, ""
        else:
            lines.append(current)
            current, space = " " * hang + piece, ""
    return "\n".join([*lines, current])


def _pieces(text: str, width: int) -> list[str]:
    """Split text into words and spaces; a wide word in a script without spaces is split further."""
    pieces: list[str] = []
    for piece in _SPACES.split(text):
        if piece.isascii() or columns(piece) <= width:
            pieces.append(piece)
        else:
            half = max(1, width // 2)  # a character takes two columns at most
            pieces += [piece[at : at + half] for at in range(0, len(piece), half)]
    return [piece for piece in pieces if piece]


def fitted_examples(text: str, width: int) -> str:
    """Fit help examples to the width: move comments below commands that leave no room, and continue long commands on further lines."""
    return "\n".join(_example(line, width) for line in text.split("\n"))


def _example(line: str, width: int) -> str:
    text = line.lstrip(" ")
    if len(line) <= width:
        return line
    if not text.startswith(_COMMANDS):
        return wrapped(line, width)
    gap = _GAP.search(text)
    command, comment = (text[: gap.start()], text[gap.end() :]) if gap else (text, "")
    lines = _in_shell_lines(command, len(line) - len(text), width)
    return lines + "\n" + wrapped(" " * _COMMENT + comment, width) if comment else lines


def _in_shell_lines(command: str, indent: int, width: int) -> str:
    """Break a command into continued shell lines, without splitting quoted text or separating an option from its value."""
    lines, current = [], " " * indent
    for group in _OPTION.findall(command):
        if current.strip() and len(current) + len(group) + len(" \\") >= width:
            lines.append(current + " \\")
            current = " " * _COMMENT + group
        else:
            current += (" " if current.strip() else "") + group
    return "\n".join([*lines, current])
