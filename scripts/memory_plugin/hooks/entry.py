"""What every hook runs: the environment cleaned, the event read, one handler, one JSON object at most, exit 0 whatever happens."""

from __future__ import annotations

import os
import sys

from ..kernel.ancestry import ancestors, has_proc
from ..kernel.clock import Deadline
from ..kernel.fastjson import dumps, loads
from ..kernel.files import cause
from ..kernel.paths import locate
from .client_record import hook_starter, note_client, outer_client
from .environment import clean, launch_folder, restore_launch_values, switched_off
from .event_fields import identity, path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

    from ..kernel.ancestry import Ancestor
    from ..kernel.paths import Places
    from .environment import Taint

    Handler = Callable[[dict[str, object], Places, Taint, Deadline], Optional[dict[str, object]]]

__all__ = ["HANDLERS", "MAX_INPUT", "run"]

MAX_INPUT = 32 << 20
# For all that an event waits for; the host ends a hook at its `timeout` in hooks.json.
_SECONDS = 5.0
_OWN_SECONDS = {
    "UserPromptSubmit": 12.0,
    "SessionEnd": 1.0,
}  # judges may be asked; the host gives 1.5 s for all its hooks


_NOTING = ("SessionStart", "UserPromptSubmit")


class BadInput(ValueError):
    """What the host sent is no event."""


def run(event: str) -> int:
    """Handle one event of the host, read from standard input; always 0.

    A fault is one line in the events ledger and one on standard error, never a traceback: the user's prompt goes through.
    """
    deadline = Deadline(_OWN_SECONDS.get(event, _SECONDS))
    places: Places | None = None
    session = ""
    try:
        starter = _starter(event)
        taint = clean(launch_folder())
        if switched_off():
            return 0
        places = locate(launch_folder())
        payload = _payload(_read())
        session = identity(payload.get("session_id"))
        if "CLAUDE_PROJECT_DIR" not in os.environ and os.path.isdir(folder := path(payload.get("cwd"))):
            taint = clean(folder)
            places = locate(folder)
        if starter is not None and event in _NOTING and session:
            _note_client(places, session, starter)
        if taint.misleads_git:
            from .git_doubt import doubt_git

            doubt_git(places, session)
        _answer(_handled(event, payload, places, taint, deadline))
    except Exception as error:
        _report(event, places, session, error)
    return 0


def _starter(event: str) -> Ancestor | None:
    """What started this hook; None where only another program could tell, but for the start of a session.

    A client that runs inside another one's command got its environment from there, where the outer project's settings have a say.
    """
    if not has_proc() and event != "SessionStart":
        return None
    starter = hook_starter()
    if starter is not None and starter.is_client and starter.is_marked:
        outer = outer_client(ancestors())
        if outer is not None:
            restore_launch_values(outer.environment(), keep=("CLAUDE_PROJECT_DIR",))
    return starter


def _note_client(places: Places, session: str, starter: Ancestor) -> None:
    if places.state_dir is None:
        return
    try:
        note_client(places, session, starter)
    except OSError as error:
        from .event_log import note

        note(places, session, "client", "trouble", "the client could not be noted: %s" % cause(error))


def _handled(
    event: str, payload: dict[str, object], places: Places, taint: Taint, deadline: Deadline
) -> dict[str, object] | None:
    """What the event's handler answers; once more where it failed since Python's cache of one of its modules is damaged."""
    try:
        return HANDLERS[event]()(payload, places, taint, deadline)
    except (EOFError, ValueError, TypeError):
        from ..kernel.bytecode import discard_damaged

        if not discard_damaged():
            raise
        return HANDLERS[event]()(payload, places, taint, deadline)


def _read() -> bytes:
    if sys.stdin is None:  # the host started us with it closed
        raise BadInput("standard input is closed")
    return sys.stdin.buffer.read(MAX_INPUT + 1)


def _answer(output: dict[str, object] | None) -> None:
    """Write one JSON object, past Python's buffer: what a closed pipe left in it would make the interpreter exit with 120."""
    if not output or sys.stdout is None:  # closed when we started: number 1 may be a file of ours by now
        return
    data = dumps(output).encode("ascii")
    while data:
        data = data[os.write(1, data) :]


def _prompt() -> Handler:
    from .prompt import handle

    return handle


def _session_start() -> Handler:
    from .session import handle

    return handle


def _stop() -> Handler:
    from .stop import handle

    return handle


def _session_end() -> Handler:
    from .session_end import handle

    return handle


# Each event imports its own handler; `importlib` would cost a prompt three milliseconds.
HANDLERS = {
    "UserPromptSubmit": _prompt,
    "SessionStart": _session_start,
    "Stop": _stop,
    "SessionEnd": _session_end,
}


def _payload(data: bytes) -> dict[str, object]:
    if len(data) > MAX_INPUT:
        raise BadInput("more than %d bytes on standard input" % MAX_INPUT)
    try:
        payload = loads(data.decode("utf-8", "replace"))
    except ValueError:
        raise BadInput("standard input is no JSON text") from None
    if not isinstance(payload, dict):
        raise BadInput("standard input is no JSON object")
    return payload


def _report(event: str, places: Places | None, session: str, error: Exception) -> None:
    """Say in one line what went wrong, by its kind and place: an error's text may quote what the user wrote."""
    from .event_log import note, say, where

    kind = "bad_input" if isinstance(error, BadInput) else "error"
    what = str(error) if isinstance(error, BadInput) else "%s at %s" % (type(error).__name__, where(error))
    if places is not None:
        note(places, session, event, kind, what)
    say("%s: %s" % (event, what))
