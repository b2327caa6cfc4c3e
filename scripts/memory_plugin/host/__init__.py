"""Where we run and who calls: the environment, the caller and its parent processes, each agent's events, the table of commands.

Here is what a hook reads from an event and leaves behind: checked fields, limits, and problems in the events ledger. Any field may be
missing, very long, or of the wrong type. A line in the events ledger never quotes the user.
"""

from __future__ import annotations

import os
import sys

from ..kernel.paths import Paths

# The tools that change a file, and the field of a call that names it. Clients of today have no MultiEdit; their transcripts may.
EDITORS = dict.fromkeys(("Edit", "MultiEdit", "Write"), "file_path")
EDITORS["NotebookEdit"] = "notebook_path"
MAX_IDENTITY = 200
# The kind of a line about a failure that was handled.
PROBLEM = "problem"
# The host cuts a hook's output at 10,000 characters and then shows a file path instead.
MAX_CHARACTERS = 9500
_MAX_LINE = 500
_written: set[str] = set()


def id_field(value: object) -> str:
    """Return the id of a session or prompt, cut to 200 characters; empty if it is not a text."""
    return value[:MAX_IDENTITY] if isinstance(value, str) else ""


def path_field(value: object) -> str:
    """Return a path field of an event, or "" if it is not a string or contains NUL."""
    return value if isinstance(value, str) and "\0" not in value else ""


def log_event(paths: Paths, session: str, event: str, kind: str, text: str) -> None:
    """Append a line to `events.jsonl`, or write it to standard error if that fails."""
    failure = paths.why_no_state
    if paths.state_dir is not None:
        from ..kernel.context import Ledger  # most events need none

        fields: dict[str, object] = {"event": event, "kind": kind, "what": text}
        failure = Ledger(paths.state_dir, "events").append(session, paths.project_key, fields) or ""
    if failure:
        print_error("%s: %s" % (event, text))
        print_error("not recorded: " + failure)


def print_error(text: str) -> None:
    """Write a line to standard error, once; ignore errors.

    This bypasses Python's buffer, because data left in it would change the exit code.
    """
    # If standard error was closed at the start, descriptor 2 may be one of our files by now.
    if sys.stderr is None or text in _written:
        return
    _written.add(text)
    line = "memory: %s\n" % text.replace("\n", " ")[:_MAX_LINE]
    try:
        os.write(2, line.encode("ascii", "backslashreplace"))
    except OSError:
        return
