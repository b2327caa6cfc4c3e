"""Texts in the width of a terminal: lines wrapped between words, and the examples of a command's help."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["columns", "fitted_examples", "wrapped"]

_STYLE = re.compile("\033\\[[0-9;]*m")
_GAP = re.compile(r" {2,}")
_SPACES = re.compile(r"( +)")
_HANG = 2
_MARKS = ("- ", "* ", "memory: ")
_COMMENT = 6
_COMMANDS = ("memory ", "--")
_WORD = r"""(?:"[^"]*"|'[^']*'|[^\s"'])+"""
_OPTION = re.compile(r"--%s(?: +(?!--|\\$)%s)*|%s" % (_WORD, _WORD, _WORD))
_MOST_HANG = 0.4  # of the width; a text that begins further right is continued near the left margin


def columns(text: str) -> int:
    """Return how many columns a text takes on a terminal (Unicode Standard Annex 11); styles take none."""
    if "\033" in text:
        text = _STYLE.sub("", text)
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text
    )


def wrapped(text: str, width: int) -> str:
    """Return a text in lines of at most `width` columns.

    Only a single word can be wider, such as a path or a command's id: it has to stay whole to be copied. Lines that fit are not changed.
    """
    lines = text.expandtabs().split("\n") if "\t" in text else text.split("\n")
    return "\n".join(line if columns(line) <= width else _wrapped(line, width) for line in lines)


def _wrapped(line: str, width: int) -> str:
    """Return a line in several: the others begin where the text after its label begins, or two columns further in than an indented line."""
    indent = len(line) - len(line.lstrip(" "))
    hang = indent + _HANG if indent or line.startswith(_MARKS) else 0
    gap = _GAP.search(line, indent)
    label = columns(line[: gap.end()]) if gap else 0
    hang = label if 0 < label <= width * _MOST_HANG else hang
    done, current, space = [], " " * indent, ""
    for piece in _pieces(line[indent:], width - hang):
        if piece.isspace():
            space = piece
        elif columns(current + space + piece) <= width or not current.strip():
            current, space = current + space + piece, ""
        else:
            done.append(current)
            current, space = " " * hang + piece, ""
    return "\n".join([*done, current])


def _pieces(text: str, width: int) -> list[str]:
    """Return words and the spaces between them; a wide word in a script without spaces comes in pieces."""
    found: list[str] = []
    for piece in _SPACES.split(text):
        if piece.isascii() or columns(piece) <= width:
            found.append(piece)
        else:
            half = max(1, width // 2)  # a character takes two columns at most
            found += [piece[at : at + half] for at in range(0, len(piece), half)]
    return [piece for piece in found if piece]


def fitted_examples(text: str, width: int) -> str:
    """Return examples with their comments below them where both do not fit in a line, and long commands in several lines of the shell."""
    return "\n".join(_example(line, width) for line in text.split("\n"))


def _example(line: str, width: int) -> str:
    text = line.lstrip(" ")
    if len(line) <= width:
        return line
    if not text.startswith(_COMMANDS):
        return wrapped(line, width)
    gap = _GAP.search(text)
    command, comment = (text[: gap.start()], text[gap.end() :]) if gap else (text, "")
    found = _in_shell_lines(command, len(line) - len(text), width)
    return found + "\n" + wrapped(" " * _COMMENT + comment, width) if comment else found


def _in_shell_lines(command: str, indent: int, width: int) -> str:
    """Return a command in lines that a shell reads as one: no quoted text is broken, and an option stays with its value."""
    lines, current = [], " " * indent
    for group in _OPTION.findall(command):
        if current.strip() and len(current) + len(group) + len(" \\") >= width:
            lines.append(current + " \\")
            current = " " * _COMMENT + group
        else:
            current += (" " if current.strip() else "") + group
    return "\n".join([*lines, current])
