"""What all handlers share: read the fields of an event, apply the user's hygiene rules, and record problems.

Any field may be missing, very long, or of the wrong type. A line in the events ledger never quotes the user.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.context import Context
    from ..kernel.paths import Paths
    from ..kernel.settings.values import Settings

MAX_IDENTITY = 200
# The kind of a line about a failure that was handled; "trouble" in records of version 0.1.0.
PROBLEM = "problem"
_MAX_LINE = 500
_written: set[str] = set()


def id_field(value: object) -> str:
    """Return the id of a session or prompt, cut to 200 characters; empty if it is not a text."""
    return value[:MAX_IDENTITY] if isinstance(value, str) else ""


def path_field(value: object) -> str:
    """Return a path field of an event, or "" if it is not a string or contains NUL."""
    return value if isinstance(value, str) and "\0" not in value else ""


def open_context(payload: dict[str, object], paths: Paths, deadline: Deadline) -> Context:
    """Return the context of an event; from now on the user's hygiene rules apply to this process."""
    from ..kernel.context import Context
    from ..kernel.settings.load import load

    settings = load(paths.config_dir, paths.project_root)
    follow_hygiene(settings)
    return Context(paths, settings, deadline, id_field(payload.get("session_id")))


def follow_hygiene(settings: Settings) -> None:
    """Apply the user's choice of hygiene rules to this process; import nothing if the settings have their defaults."""
    allow, packs = settings.texts("hygiene.allow"), settings.texts("hygiene.packs")
    if allow or packs:
        from ..kernel.hygiene_choice import choose, rules_checksum
        from ..recall.index_file import set_redaction

        choose(allow, packs)
        set_redaction(rules_checksum())


def log_event(paths: Paths, session: str, event: str, kind: str, text: str) -> None:
    """Append a line to `events.jsonl`, or write it to standard error if that fails."""
    failure = paths.why_no_state
    if paths.state_dir is not None:
        from ..kernel.ledger import Ledger  # most events need none

        fields: dict[str, object] = {"event": event, "kind": kind, "what": text}
        failure = Ledger(paths.state_dir, "events").append(session, paths.project_key, fields) or ""
    if failure:
        print_error("%s: %s" % (event, text))
        print_error("not recorded: " + failure)


def print_error(text: str) -> None:
    """Write a line to standard error, once; ignore errors.

    This bypasses Python's buffer, because data left in it would change the exit code.
    """
    if (
        sys.stderr is None or text in _written
    ):  # standard error was closed at the start, so descriptor 2 may be one of our files by now
        return
    _written.add(text)
    try:
        os.write(
            2, ("memory: %s\n" % text.replace("\n", " ")[:_MAX_LINE]).encode("ascii", "backslashreplace")
        )
    except OSError:
        return


def error_location(error: BaseException) -> str:
    """Return the file and line in which an error was raised."""
    trace = error.__traceback__
    if trace is None:
        return "unknown"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return "%s:%d" % (os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno)
