"""The doctor's checks. Each is a function that returns a `Check`."""

from __future__ import annotations

from typing import NamedTuple

OK, NOTE, WARN, FAIL = "ok", "note", "warn", "fail"


class Check(NamedTuple):
    """The result of one check.

    `status` is `ok`, `note` (worth knowing, but nothing is wrong), `warn` or `fail`. `fix` says what to do, `details` lists the cases.
    """

    name: str
    status: str
    text: str
    fix: str = ""
    details: tuple[str, ...] = ()
