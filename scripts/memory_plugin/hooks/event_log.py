"""The events ledger: what went wrong in a hook, in one line that quotes nothing of the user's."""

from __future__ import annotations

import os
import sys

from ..kernel.ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["note", "say", "where"]

_MAX_LINE = 500
_said: set[str] = set()


def note(places: Places, session: str, event: str, kind: str, what: str) -> None:
    """Add a line to `events.jsonl`; without a state folder, or with a full disk, one line on standard error instead."""
    trouble = places.why_no_state
    if places.state_dir is not None:
        fields: dict[str, object] = {"event": event, "kind": kind, "what": what}
        trouble = Ledger(places.state_dir, "events").append(session, places.project_key, fields) or ""
    if trouble:
        say("%s: %s" % (event, what))
        say("not written down: " + trouble)


def say(what: str) -> None:
    """One line on standard error, once; it may be closed or full. Past Python's buffer, whose rest would change the exit code."""
    if sys.stderr is None or what in _said:  # closed when we started: number 2 may be a file of ours by now
        return
    _said.add(what)
    try:
        os.write(
            2, ("memory: %s\n" % what.replace("\n", " ")[:_MAX_LINE]).encode("ascii", "backslashreplace")
        )
    except OSError:
        return


def where(error: BaseException) -> str:
    """The file and line of ours in which an error came up."""
    found = "unknown"
    trace = error.__traceback__
    while trace is not None:
        found = "%s:%d" % (os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno)
        trace = trace.tb_next
    return found
