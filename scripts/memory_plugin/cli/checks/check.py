"""What one check of the doctor found."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FAIL", "NOTE", "OK", "WARN", "Check", "counted"]

OK, NOTE, WARN, FAIL = "ok", "note", "warn", "fail"
MAX_DETAILS = 20


class Check(NamedTuple):
    """A result: `ok`, `note` (worth knowing, nothing is wrong), `warn` or `fail`; `fix` says what to do, `details` name the cases."""

    name: str
    status: str
    text: str
    fix: str = ""
    details: tuple[str, ...] = ()


def counted(number: int, what: str) -> str:
    """A number with its noun, such as `1 memory`, `2 memories`, `3 files`."""
    plural = what[:-1] + "ies" if what.endswith("ry") else what + "s"
    return "%d %s" % (number, what if number == 1 else plural)
