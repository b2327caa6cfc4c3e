"""Read a single key press from the terminal, without Enter where the system allows it."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["END", "has_terminal", "read_key"]

END = ""
_END_OF_FILE = "\x04"


def has_terminal() -> bool:
    """Return whether standard input and output are both a terminal."""
    return bool(sys.stdin) and sys.stdin.isatty() and sys.stdout.isatty()


def read_key(question: str, keys: Collection[str]) -> str:
    """Ask until one of the keys is pressed, and return it; END if the terminal was closed.

    Input typed before the question is discarded, so that no key press answers a question the user has not seen.
    """
    typed = "?"
    while typed not in keys and typed != END:
        sys.stdout.write(question)
        sys.stdout.flush()
        typed = _one_key()
        sys.stdout.write(typed + "\n")
    return typed


def _one_key() -> str:
    try:
        import termios
        import tty
    except ImportError:  # Windows: a line
        line = sys.stdin.readline()
        return (line.strip().lower()[:1] or "?") if line else END
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)  # discards pending input
        typed = os.read(handle, 16).decode("utf-8", "replace")
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
    if typed[:1] in ("", _END_OF_FILE):
        return END
    return (
        typed.lower() if typed.isalnum() and len(typed) == 1 else "?"
    )  # also arrows, and several keys at once
