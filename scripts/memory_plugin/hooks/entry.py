"""Run one hook: clean the environment, read the event, call its handler, print at most one JSON object, and exit with 0.

To add an event, add a script to `hooks/` like the others, a handler with its row in HANDLERS, and a line to `hooks/hooks.json`.
"""

from __future__ import annotations

import os
import sys

from ..host import PROBLEM, id_field, log_event, path_field, print_error
from ..host.ancestry import Ancestor, has_proc, hook_starter, outer_client, record_client, walk
from ..host.environment import Taint, clean, launch_folder, restore_launch_values, switched_off
from ..kernel.context import Context, Deadline, LedgerError
from ..kernel.fastjson import dumps, loads
from ..kernel.files import bug_text, os_error_text
from ..kernel.paths import Paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    Handler = Callable[["Event"], Optional[dict[str, object]]]

MAX_INPUT = 32 << 20


class Event:
    """One event of the client: its name and fields, the paths, what the project's settings set, and the deadline of its handler."""

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
            from ..kernel.settings.load import load
            from ..recall import follow_hygiene

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
        prompt = {"prompt_id": self.field("prompt_id")} if "prompt_id" in self.payload else {}
        try:
            self.context.append("recalls", {**decision, **prompt, "ms": self.deadline.elapsed_ms()})
        except LedgerError as error:
            self.log(str(error))

    def log(self, text: str, kind: str = PROBLEM) -> None:
        """Append a problem to the events ledger."""
        log_event(self.paths, self.session, self.name, kind, text)


class BadInput(ValueError):
    """Raised when standard input holds no valid event."""


def run(event: str, host: str = "") -> int:
    """Handle one event from standard input and always return 0. `host` names an agent other than Claude Code.

    An exception becomes one line in the events ledger and one on standard error, never a traceback, so the user's prompt goes through.
    """
    deadline = Deadline(HANDLERS[event][2])
    paths: Paths | None = None
    session = ""
    try:
        starter = _starter(event)
        taint = clean(launch_folder())
        if switched_off():
            return 0
        paths = Paths(launch_folder())
        payload = _payload(_read())
        session = id_field(payload.get("session_id"))
        if "CLAUDE_PROJECT_DIR" not in os.environ and os.path.isdir(folder := path_field(payload.get("cwd"))):
            # Older hosts do not set CLAUDE_PROJECT_DIR, so only the event names the project; the settings of either folder keep judges off.
            taint.add(clean(folder))
            paths = Paths(folder)
        if starter is not None and event in ("SessionStart", "UserPromptSubmit") and session:
            _record_client(paths, session, starter)
        happened = Event(event, payload, paths, taint, deadline)
        _answer(_handle_other_host(happened, host) if host else _handle(happened))
    except Exception as error:
        _report(event, paths, session, error)
    return 0


def _starter(event: str) -> Ancestor | None:
    """Return the process that started this hook.

    Without `/proc`, finding it needs another program, so only the start of a session does; other events return None. If the client runs
    inside another client's command, it has inherited the variables that the outer project's settings set; their launch values are restored.
    """
    if not has_proc() and event != "SessionStart":
        return None
    starter = hook_starter()
    if starter is not None and starter.is_client and starter.was_started_by_client:
        outer = outer_client(list(walk()))
        if outer is not None:
            restore_launch_values(outer.environment(), keep=("CLAUDE_PROJECT_DIR",))
    return starter


def _record_client(paths: Paths, session: str, starter: Ancestor) -> None:
    if paths.state_dir is None:
        return
    try:
        record_client(paths, session, starter)
    except OSError as error:
        text = "the client could not be recorded: %s" % os_error_text(error)
        log_event(paths, session, "client", PROBLEM, text)


def _handle(event: Event) -> dict[str, object] | None:
    """Return the handler's answer; without a state folder, only the start of a session has one, which says why.

    To import its module with `importlib` would cost a prompt three milliseconds.
    """
    if event.paths.state_dir is None and event.name != "SessionStart":
        return None
    module, name, _ = HANDLERS[event.name]
    handler: Handler = getattr(__import__(module, globals(), None, (name,), 1), name)
    return handler(event)


def _handle_other_host(event: Event, host: str) -> dict[str, object] | None:
    """Handle an event of another agent."""
    from ..host.agents import joined_output, translated_events, translated_output

    events = translated_events(host, event.payload)
    outputs = [_handle(Event(event.name, each, event.paths, event.taint, event.deadline)) for each in events]
    output = joined_output(list(filter(None, outputs)))
    return output and translated_output(host, event.payload, output)


def _read() -> bytes:
    if sys.stdin is None:  # the host started us with it closed
        raise BadInput("standard input is closed")
    return sys.stdin.buffer.read(MAX_INPUT + 1)


def _answer(output: dict[str, object] | None) -> None:
    """Write one JSON object, bypassing Python's buffer: data left in it on a closed pipe would make the interpreter exit with 120."""
    # Where standard output was closed at the start, descriptor 1 may be one of our files by now.
    if not output or sys.stdout is None:
        return
    data = dumps(output).encode("ascii")
    while data:
        data = data[os.write(1, data) :]


# Event -> the module and the name of its handler, and the deadline in seconds for all its waits. The host kills a hook at its `timeout`
# in hooks.json.
HANDLERS: dict[str, tuple[str, str, float]] = {
    "UserPromptSubmit": ("prompt", "handle", 12.0),  # judges may be asked
    "SessionStart": ("session_events", "handle_start", 5.0),
    "SubagentStart": ("session_events", "handle_subagent", 3.0),
    "PreToolUse": ("tool_use", "handle", 4.0),
    "PostToolUseFailure": ("tool_use", "handle_failure", 4.0),
    "Stop": ("session_events", "handle_stop", 5.0),
    "PreCompact": ("session_events", "handle_compaction", 2.0),
    "SessionEnd": ("session_events", "handle_end", 1.0),  # the host gives all its hooks together 1.5 s
}


def _payload(data: bytes) -> dict[str, object]:
    if len(data) > MAX_INPUT:
        raise BadInput("more than %d bytes on standard input" % MAX_INPUT)
    try:
        payload = loads(data.decode("utf-8", "replace"))
    except ValueError:
        raise BadInput("standard input is not valid JSON") from None
    if not isinstance(payload, dict):
        raise BadInput("standard input is not a JSON object")
    return payload


def _report(event: str, paths: Paths | None, session: str, error: Exception) -> None:
    """Report an error in one line by its type and location only, because its text may quote the user."""
    kind = "bad_input" if isinstance(error, BadInput) else "error"
    text = str(error) if isinstance(error, BadInput) else bug_text(error)
    if paths is not None:
        log_event(paths, session, event, kind, text)
    print_error("%s: %s" % (event, text))
    if event == "SessionStart" and kind == "error":  # else nobody would see that nothing works
        is_damaged = isinstance(error, (ImportError, SyntaxError))
        do = "the plugin is damaged; install it again" if is_damaged else text + "; see: memory doctor"
        try:
            _answer({"systemMessage": "memory: Claude is shown nothing: " + do})
        except OSError:
            return  # the output is what failed
