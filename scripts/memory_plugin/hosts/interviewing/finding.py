"""Which interview is meant, and what its texts look like once they may be stored."""

from __future__ import annotations

import sys

from ...interview.errors import BadInput, InterviewError
from ...interview.store import FINISHED, OPEN, Store
from ...kernel.text.clean import plain
from ...kernel.text.private import without_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from ...interview.store import Interview
    from ..session_context import Session

__all__ = ["MAX_INPUT", "cleaned", "opened", "read_input", "the_interview"]

MAX_INPUT = 1 << 20


def opened(session: Session) -> Store:
    """The store of interviews. Raises RuntimeError when there is no state folder."""
    return Store(session.places.state())


def the_interview(arguments: argparse.Namespace, session: Session, store: Store) -> Interview:
    """The interview that is named, else the one that is open here. Raises InterviewError when none or several are."""
    if arguments.session:
        return store.find(arguments.session)
    there = [row for row in store.listed(session.places.project_key) if row["status"] != FINISHED]
    open_ = [row for row in there if row["status"] == OPEN] or there
    mine = [row for row in open_ if session.id and row["session"] == session.id] or open_
    if len(mine) != 1:
        named = ", ".join(str(row["id"]) for row in mine[:5])
        raise InterviewError(
            "several interviews are open, name one with --session: " + named
            if mine
            else "no interview is open in this project; begin one: memory interview start TOPIC"
        )
    return store.find(str(mine[0]["id"]))


def read_input() -> str:
    """The text on standard input. Raises BadInput when it is no UTF-8, or too much."""
    data = sys.stdin.buffer.read(MAX_INPUT + 1) if sys.stdin else b""
    if len(data) > MAX_INPUT:
        raise BadInput("more than %d bytes on standard input" % MAX_INPUT)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput("standard input is not UTF-8 (byte %d)" % error.start) from None


def cleaned(text: str, limit: int) -> str:
    """A text as an interview may store it: private passages and secrets gone, one line, at most `limit` characters."""
    from ...kernel.hygiene import redact

    return _line(redact(_line(without_private(text), 4 * len(text) + 1), "memory").text, limit)


def _line(text: str, limit: int) -> str:
    """The text as `plain` makes it; most are plain already, and the pattern for the others takes milliseconds to compile."""
    line = " ".join(text.split())
    return line if line.isascii() and line.isprintable() and len(line) <= limit else plain(text, limit)
