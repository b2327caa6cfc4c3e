"""What a person sees on a terminal, and what a program reads: tables, color where it helps, JSON where it is asked for."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import unicodedata
from contextlib import suppress
from typing import TYPE_CHECKING

from ..kernel.files import in_words
from ..kernel.text.clean import plain

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

__all__ = ["Console", "counted", "finish_streams", "open_closed_streams"]

_MAX_CELL = 1000
_MAX_ERROR = 2000
_NO_TERMINAL = 10_000  # columns: what is piped is cut nowhere
_READABLE = 100
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_FAILED = 1


class Console:
    """The two output streams. Colour is used on a terminal only, and never with NO_COLOR set (no-color.org)."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self.color = (
            self._out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        )
        self.width = shutil.get_terminal_size((100, 24)).columns if self._out.isatty() else _NO_TERMINAL

    def json(self, value: object) -> None:
        """Print one JSON document, ASCII only."""
        self.line(json.dumps(value, indent=2))

    def line(self, text: str = "") -> None:
        """Print one line; characters that the terminal's encoding lacks are escaped. Raises OSError, which names the stream."""
        try:
            _write(self._out, text + "\n")
        except OSError as error:
            raise type(error)(error.errno, error.strerror, "standard output") from None

    def paragraph(self, text: str, lead: str = "", hang: int = 0) -> None:
        """Print a text for people. A terminal gets it in lines of at most 100 columns, broken between words; what is piped is one line.

        `lead` stands before the first line and takes `hang` columns, by which the others are indented.
        """
        width = min(self.width, _READABLE) if self.width < _NO_TERMINAL else self.width
        lines = textwrap.wrap(text, width - hang, break_long_words=False, break_on_hyphens=False) or [""]
        for line in lines:
            self.line(lead + line)
            lead = " " * hang

    def error(self, text: str) -> None:
        """Print one line for the user on the error stream."""
        with suppress(OSError):  # there is nowhere else to say it
            _write(self._err, "memory: %s\n" % plain(text, _MAX_ERROR))

    def progress(self, text: str) -> None:
        """Show how far a long work is, on a terminal only, in place of what was shown before; an empty text wipes it."""
        if self._err.isatty():
            _write(self._err, "\r\033[K" + text)

    def style(self, text: str, *names: str) -> str:
        """The text in the named styles (bold dim red green yellow cyan), or as it is without color."""
        if not self.color or not names:
            return text
        return "\033[%sm%s\033[0m" % (";".join(_STYLES[name] for name in names), text)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print rows under headers; the last column takes what room is left.

        What a file wrote into a cell can neither move the cursor nor hide.
        """
        rows = [[plain(cell, _MAX_CELL) for cell in row] for row in rows]
        widths = [max(map(_columns, column)) for column in zip(headers, *rows)]
        room = self.width - sum(widths[:-1]) - 2 * (len(widths) - 1)
        widths[-1] = max(20, min(widths[-1], room))
        self.line(self.style(_row(headers, widths), "bold"))
        for row in rows:
            self.line(_row(row, widths))


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(_fit(cell, width) for cell, width in zip(cells, widths)).rstrip()


def _fit(cell: str, width: int) -> str:
    """A cell that takes just `width` columns."""
    taken = _columns(cell)
    if taken > width:
        while taken > width - 1:
            taken -= _columns(cell[-1])
            cell = cell[:-1]
        cell, taken = cell + "\u2026", taken + 1
    return cell + " " * (width - taken)


def _columns(text: str) -> int:
    """How many columns a text takes on a terminal (Unicode Standard Annex 11)."""
    if text.isascii():
        return len(text)
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text
    )


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def open_closed_streams() -> None:
    """Give each stream that was closed when we started the null device, so that no file of ours gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is the stream's own
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8"))


def finish_streams(code: int) -> int:
    """The exit code of a command once its last words have left; 1 where they could not, said in one line unless `code` tells already."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _let_go(sys.stdout)
        if not code and not isinstance(error, BrokenPipeError):
            _say("standard output: " + in_words(error))
        code = code or _FAILED
    _say("")
    return code


def _say(text: str) -> None:
    """One line on the error stream, or none: just what is still in its buffer."""
    try:
        sys.stderr.write("memory: %s\n" % text if text else "")
        sys.stderr.flush()
    except OSError:
        _let_go(sys.stderr)


def _let_go(stream: TextIO) -> None:
    """Let the interpreter write the rest of a buffer to nowhere: it would else complain when it closes the stream, and end with 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def counted(number: int, what: str) -> str:
    """A number with its noun, such as `1 memory`, `2 memories`, `3 files`."""
    plural = what[:-1] + "ies" if what.endswith("ry") else what + "s"
    return "%d %s" % (number, what if number == 1 else plural)
