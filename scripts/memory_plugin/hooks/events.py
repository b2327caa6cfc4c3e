"""An event as its handler gets it: its fields and context, the output, and the records of decisions and problems.

Any field may be missing, very long, or of the wrong type. A line in the events ledger never quotes the user.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.clock import Deadline
    from ..kernel.context import Context
    from ..kernel.paths import Paths
    from ..kernel.settings.values import Settings
    from .environment import Taint

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


class Event:
    """One event of the client: its name and fields, the paths, what the project's settings set, and the deadline of its handler."""

    __slots__ = ("_context", "deadline", "name", "paths", "payload", "taint")

    def __init__(
        self, name: str, payload: dict[str, object], paths: Paths, taint: Taint, deadline: Deadline
    ) -> None:
        self.name = name
        self.payload = payload
        self.paths = paths
        self.taint = taint
        self.deadline = deadline
        self._context: Context | None = None

    def field(self, name: str) -> str:
        """Return a short text of the event, such as an id; empty if it has none."""
        return id_field(self.payload.get(name))

    @property
    def session(self) -> str:
        """Return the client's id of the conversation."""
        return self.field("session_id")

    @property
    def transcript(self) -> str:
        """Return the path of the session's transcript."""
        return path_field(self.payload.get("transcript_path"))

    @property
    def context(self) -> Context:
        """Return the context, read at the first use; from then on the user's hygiene rules apply to this process."""
        if self._context is None:
            from ..kernel.context import Context
            from ..kernel.settings.load import load

            settings = load(self.paths.config_dir, self.paths.project_root)
            follow_hygiene(settings)
            self._context = Context(self.paths, settings, self.deadline, self.session)
        return self._context

    def output(self, text: str, message: str = "") -> dict[str, object] | None:
        """Return the hook's output: a text for Claude and a message for the user; None if both are empty."""
        output: dict[str, object] = {}
        if text:
            output["hookSpecificOutput"] = {"hookEventName": self.name, "additionalContext": text}
        if message:
            output["systemMessage"] = message
        return output or None

    def record(self, decision: dict[str, Any]) -> None:
        """Append a decision on memories to the ledger."""
        from ..kernel.context import LedgerError

        prompt = {"prompt_id": self.field("prompt_id")} if "prompt_id" in self.payload else {}
        try:
            self.context.append("recalls", {**decision, **prompt, "ms": self.deadline.elapsed_ms()})
        except LedgerError as error:
            self.log(str(error))

    def log(self, text: str, kind: str = PROBLEM) -> None:
        """Append a problem to the events ledger."""
        log_event(self.paths, self.session, self.name, kind, text)


def follow_hygiene(settings: Settings) -> None:
    """Apply the user's choice of hygiene rules to this process; import nothing if the settings have their defaults."""
    allow, packs = settings.texts("hygiene.allow"), settings.texts("hygiene.packs")
    if allow or packs:
        from ..kernel.hygiene import choose, rules_checksum
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
