"""The three standard streams of a command: one that is closed or full costs it words, never a traceback."""

from __future__ import annotations

import os
import sys

from ..kernel.files import in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["open_closed", "settled"]

_FAILED = 1


def open_closed() -> None:
    """Give each stream that was closed when we started the null device, so that no file of ours gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is the stream's own
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8"))


def settled(code: int) -> int:
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
