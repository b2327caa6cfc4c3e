"""Terminal output for commands: text that fits the width, tables, color, progress and JSON; and safe handling of the standard streams.

A command gives its result in both forms, and the console prints the one that was asked for: with `--json` the record, else the text.
"""

from __future__ import annotations

import json
import os
import re
import sys
from _thread import RLock  # `threading` gives the same one, and costs a millisecond
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from ..kernel.files import error_text
from ..kernel.text.clean import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from threading import Event
    from typing import TextIO

_MAX_CELL = 1000
_MAX_ERROR = 2000
_UNLIMITED = 10_000  # columns; piped output is never cut
_READABLE_WIDTH = 100
_MIN_COLUMN = 8
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_FAILED = 1
_BEAT = 1.0  # seconds
_STYLE = re.compile("\033\\[[0-9;]*m")
_AWAITED = "reading standard input; to end it, press Ctrl-D on an empty line"
_GAP = re.compile(r" {2,}")
# Spaces, a word, or a command at the end of a clause, which stays on one line so that it can be copied.
_PIECE = re.compile(
    r""" +|`memory [^`]*`[^ ]*|(?<=[:;,] )memory [a-z](?:"[^"]*"|'[^']*'|(?!\. )[^;,)"'])*[;,.)]*|[^ ]+"""
)
_HANG = 2
_MAX_HANG = 0.4  # of the width; a text that begins further right is continued near the left margin
_UNSAFE = re.compile(
    "(\x1b\\[[0-9;]{1,8}m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


class Console:
    """The output and error streams. Color is used only on a terminal, and never when NO_COLOR is set (no-color.org)."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.as_json = False  # until the command line is read
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        self.color = self._out.isatty() and not is_plain
        self.reported = 0.0  # when the command itself last showed progress
        self._shows_progress = False
        # The heartbeat runs in a thread and must not write between clearing the progress line and printing.
        self._lock = RLock()
        self.width = terminal_width() if self._out.isatty() else _UNLIMITED

    @property
    def wraps(self) -> bool:
        """Whether the output is a terminal, where paragraphs are wrapped to its width."""
        return self.width < _UNLIMITED

    def result(self, record: object, *lines: str) -> None:
        """Print a result: with `--json` the record as one document in ASCII, in which named tuples are objects; else the lines."""
        if self.as_json:
            self.verbatim(json.dumps(with_objects(record), indent=2))
        self.lines(*lines)

    def lines(self, *texts: str) -> None:
        """Print each text as `line` does."""
        for text in texts:
            self.line(text)

    def line(self, text: str = "") -> None:
        """Print one line, wrapped to the terminal's width; nothing with `--json`. Raises OSError, which names the stream."""
        if not self.as_json:
            self.verbatim(wrapped(text, self.width) if self.wraps else text)

    def more(self, number: int, indent: str = "", advice: str = "") -> None:
        """Say how many more there are, and how to see them, if there are any."""
        if number > 0:
            self.line("%sand %d more%s" % (indent, number, advice))

    def verbatim(self, text: str) -> None:
        """Print text in either form without wrapping, and escape what the terminal cannot encode. Raises OSError, which names the stream.

        Control and bidirectional characters, which a path may contain, are removed, except for our own color codes.
        """
        with self._lock:
            self._clear_progress()
            try:
                _write(self._out, _UNSAFE.sub(r"\1" if self.color else "", text) + "\n")
            except OSError as error:
                raise type(error)(error.errno, error.strerror, "standard output") from None

    def paragraph(self, text: str, lead: str = "", hang: int = 0, style: str = "") -> None:
        """Print prose, wrapped to at most 100 columns on a terminal and on one line otherwise.

        `lead` starts the first line; later lines are indented by `hang` columns. `style` applies to the text only.
        """
        width = min(self.width, _READABLE_WIDTH) if self.wraps else self.width
        for line in broken(text.replace("\n", " "), width - hang):
            self.line(lead + (self.style(line, style) if style else line))
            lead = " " * hang

    def error(self, text: str) -> None:
        """Print one line on the error stream, wrapped to the terminal's width."""
        text = "memory: " + error_line(text)
        if self._err.isatty():
            text = wrapped(text, terminal_width())
        with self._lock, suppress(OSError):  # there is nowhere else to print it
            self._clear_progress()
            _write(self._err, text + "\n")

    def progress(self, text: str, own: bool = True) -> None:
        """Replace the progress line on a terminal; an empty text clears it.

        `own` is false for the heartbeat that `working` shows while the command prints nothing itself.
        """
        if own:
            self.reported = monotonic()
        with self._lock:
            if self._err.isatty() and (text or self._shows_progress):
                self._shows_progress = bool(text)
                _write(self._err, "\r\033[K" + text[: terminal_width() - 1])

    def _clear_progress(self) -> None:
        if self._shows_progress:
            self.progress("", own=False)

    @contextmanager
    def working(self, label: str) -> Iterator[None]:
        """Show the label and elapsed seconds on a terminal once work takes longer than a second. Do not prompt the user meanwhile."""
        if not self._err.isatty():
            yield
            return
        from threading import Event, Thread  # threads cost a millisecond

        done = Event()
        thread = Thread(target=self._beat, args=(label, done), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            self.progress("")

    def _beat(self, label: str, done: Event) -> None:
        """Print the elapsed time once a second, unless the command shows progress of its own."""
        start = last = monotonic()
        while not done.wait(_BEAT / 2 if last == start else _BEAT - (monotonic() - start) % _BEAT):
            last = monotonic()
            if last - self.reported >= _BEAT:
                self.progress("%s: %d s" % (label, last - start), own=False)

    def can_prompt(self) -> bool:
        """Return whether a person can answer: standard input and output are both a terminal, and the output is no JSON."""
        return not self.as_json and bool(sys.stdin) and sys.stdin.isatty() and self._out.isatty()

    def confirm(self, question: str) -> bool:
        """Ask a yes-or-no question; return False for any answer but yes, and without a terminal."""
        if not self.can_prompt():
            return False
        print(wrapped(question + " [y/N]", self.width), end=" ", file=self._out, flush=True)
        answer = sys.stdin.readline()
        if not answer:  # the end of the input, which begins no new line
            print(file=self._out)
        return answer.strip().lower() in ("y", "yes")

    def style(self, text: str, *names: str) -> str:
        """Return the text in the named styles (bold dim red green yellow cyan), or unchanged without color."""
        if not self.color or not names:
            return text
        return "\033[%sm%s\033[0m" % (";".join(_STYLES[name] for name in names), text)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]], empty: str = "") -> None:
        """Print rows under headers: in columns that fit the terminal, or tab-separated when piped. Without rows, print `empty`, if given.

        Control and invisible characters in a cell are removed: its text may come from someone else's file.
        """
        rows = [[plain(cell, _MAX_CELL) for cell in row] for row in rows]
        if empty and not rows:
            self.paragraph(empty)
            return
        if not self.wraps:
            for cells in (headers, *rows):
                self.line("\t".join(cells))
            return
        widths = _fitting([max(map(columns, column)) for column in zip(headers, *rows)], self.width)
        self.line(self.style(_row(headers, widths), "bold"))
        for row in rows:
            self.line(_row(row, widths))


def read_input(limit: int) -> bytes:
    """Return at most `limit` bytes of standard input, as `announce_input` announces them."""
    announce_input()
    return sys.stdin.buffer.read(limit)


def read_text(limit: int) -> str:
    """Return the text on standard input, at most `limit` bytes, without a byte order mark."""
    return read_input(limit).decode("utf-8-sig", "replace")


def announce_input() -> None:
    """Tell a person at a terminal that a command awaits a text; a pipe or a file gets no line."""
    if sys.stdin.isatty():
        Console().error(_AWAITED)


def with_objects(value: object) -> object:
    """Return a value in which dictionaries stand for the named tuples."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: with_objects(item) for name, item in value.items()}
    return [with_objects(item) for item in value] if isinstance(value, (list, tuple)) else value


def columns(text: str) -> int:
    """Return the width of a text in terminal columns (Unicode Standard Annex 11), not counting style codes."""
    if "\033" in text:
        text = _STYLE.sub("", text)
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(c) in "WF" else 0 if combining(c) else 1 for c in text)


def wrapped(text: str, width: int) -> str:
    """Wrap a text to lines of at most `width` columns.

    A word, such as a path or an id, or a command may be wider, so that it can be copied. Lines that fit are not changed.
    """
    lines = text.expandtabs().split("\n") if "\t" in text else text.split("\n")
    return "\n".join(line if columns(line) <= width else _wrapped(line, width) for line in lines)


def _wrapped(line: str, width: int) -> str:
    """Wrap one line. Later lines are indented to the text after a label, or by two columns more than an indented line."""
    indent = len(line) - len(line.lstrip(" "))
    hang = indent + _HANG if indent or line.startswith(("- ", "* ", "memory: ")) else 0
    gap = _GAP.search(line, indent)
    label = columns(line[: gap.end()]) if gap else 0
    if 0 < label <= width * _MAX_HANG and all(label + columns(piece) <= width for piece in line.split()):
        hang = label
    return "\n".join(broken(line[indent:], width, " " * indent, " " * hang))


def broken(text: str, width: int, lead: str = "", hang: str = "") -> list[str]:
    """Return a text's lines of at most `width` columns; only a word or a command may be wider. `hang` begins the lines after the first."""
    lines, current, space = [], lead, ""
    for piece in _PIECE.findall(text):
        if piece.isspace():
            space = piece
        elif columns(current + space + piece) <= width or not current.strip():
            current, space = current + space + piece, ""
        else:
            lines.append(current)
            current, space = hang + piece, ""
    return [*lines, current]


def terminal_width() -> int:
    """Return the terminal's width in columns, or 100 if unknown: Python 3.9 reports 0 for a terminal without a size."""
    columns_variable = os.environ.get("COLUMNS", "")
    if columns_variable.isdecimal() and int(columns_variable):
        return int(columns_variable)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _READABLE_WIDTH  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # no stream, a closed one, or not a terminal
        return _READABLE_WIDTH


def _fitting(widths: list[int], room: int) -> list[int]:
    """Return column widths that fit into `room`. The widest columns shrink first, down to 8."""
    widths = list(widths)
    surplus = sum(widths) + 2 * (len(widths) - 1) - room
    while surplus > 0 and max(widths) > _MIN_COLUMN:
        widths[widths.index(max(widths))] -= 1
        surplus -= 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(_fit(cell, width) for cell, width in zip(cells, widths)).rstrip()


def _fit(cell: str, width: int) -> str:
    """Return a cell truncated or padded to `width` columns."""
    taken = columns(cell)
    if taken > width:
        while taken > width - 1:
            taken -= columns(cell[-1])
            cell = cell[:-1]
        cell, taken = cell + "\u2026", taken + 1
    return cell + " " * (width - taken)


def error_line(text: str) -> str:
    """Return an error message as one line, without secrets that an argument or a file may contain."""
    try:
        from ..memories.hygiene import shown_line  # most commands print no error

        return shown_line(text, _MAX_ERROR)
    except Exception:  # the rules may be unreadable, and this message may be the one that reports it
        return plain(text, _MAX_ERROR)


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def prepare_streams() -> None:
    """Prepare the standard streams.

    Each that was closed at startup becomes the null device, so that no file of ours gets its descriptor. On Windows, pipes and files get
    UTF-8 with LF, which the programs that read them expect, instead of the code page and CR LF.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor, which is the stream's
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if os.name == "nt" and not stream.isatty():
            stream.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]


def finish_streams(code: int) -> int:
    """Flush both streams and return the exit code: `code`, or 1 with an error line if the output could not be written."""
    error = _flushed(sys.stdout)
    if error and not code:
        code = _FAILED
        if not isinstance(error, BrokenPipeError):
            with suppress(OSError):
                sys.stderr.write("memory: standard output: %s\n" % error_text(error))
    _flushed(sys.stderr)
    return code


def _flushed(stream: TextIO) -> OSError | None:
    """Flush a stream, and return the error if that fails.

    The stream then becomes the null device; otherwise the interpreter fails to flush it at exit and returns 120.
    """
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None
