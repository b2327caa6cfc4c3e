"""What every handler needs: the fields of an event, the user's choice of hygiene rules, and the ledger of what went wrong.

Fields are read with care, because any of them may be missing, of another type, or very long. A line in the events ledger quotes nothing of
the user's.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings

__all__ = ["MAX_IDENTITY", "PROBLEM", "follow_hygiene", "identity", "note", "path", "say", "where"]

MAX_IDENTITY = 200
PROBLEM = "problem"  # the kind of a line about something that failed and was handled; in records of version 0.1.0 "trouble"
_MAX_LINE = 500
_said: set[str] = set()


def identity(value: object) -> str:
    """Return the id of a session or a prompt, cut to 200 characters; empty for anything but text."""
    return value[:MAX_IDENTITY] if isinstance(value, str) else ""


def path(value: object) -> str:
    """Return a path that the system can be asked about; empty for anything else."""
    return value if isinstance(value, str) and "\0" not in value else ""


def follow_hygiene(settings: Settings) -> None:
    """Apply the user's choice of hygiene rules to this process; nothing is imported if the settings hold their defaults."""
    allow, packs = settings.texts("hygiene.allow"), settings.texts("hygiene.packs")
    if allow or packs:
        from ..kernel.hygiene_choice import choose, mark
        from ..recall.index_file import set_redaction

        choose(allow, packs)
        set_redaction(mark())


def note(places: Places, session: str, event: str, kind: str, what: str) -> None:
    """Append a line to `events.jsonl`; if that fails, write it to standard error instead."""
    failure = places.why_no_state
    if places.state_dir is not None:
        from ..kernel.ledger import Ledger  # most events note nothing

        fields: dict[str, object] = {"event": event, "kind": kind, "what": what}
        failure = Ledger(places.state_dir, "events").append(session, places.project_key, fields) or ""
    if failure:
        say("%s: %s" % (event, what))
        say("not written down: " + failure)


def say(what: str) -> None:
    """Write one line to standard error, once; it may be closed or full.

    Written past Python's buffer, because what remains in it would change the exit code.
    """
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
    """Return the file and line in which an error was raised."""
    found = "unknown"
    trace = error.__traceback__
    while trace is not None:
        found = "%s:%d" % (os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno)
        trace = trace.tb_next
    return found
