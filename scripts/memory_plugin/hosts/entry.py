"""What every hook runs: the environment cleaned, the event read, one handler, one JSON object at most, exit 0 whatever happens."""

from __future__ import annotations

import os
import sys

from ..kernel.clock import Deadline
from ..kernel.native import dumps, loads
from ..kernel.paths import locate
from .environment import clean, launch_folder, switched_off

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional

    from ..kernel.paths import Places
    from .environment import Taint

    Handler = Callable[[dict[str, object], Places, Taint, Deadline], Optional[dict[str, object]]]

__all__ = ["HANDLERS", "MAX_INPUT", "run"]

MAX_INPUT = 32 << 20
_SECONDS = 5.0


class BadInput(ValueError):
    """What the host sent is no event."""


def run(event: str) -> int:
    """Handle one event of the host, read from standard input; always 0.

    A fault is one line in the events ledger and one on standard error, never a traceback: the user's prompt goes through.
    """
    if switched_off():
        return 0
    deadline = Deadline(_SECONDS)
    places: Places | None = None
    session = ""
    try:
        try:
            payload = _payload(sys.stdin.buffer.read(MAX_INPUT + 1))
        finally:
            taint = clean(launch_folder())
            places = locate(launch_folder())
        session = _text(payload, "session_id")
        if "CLAUDE_PROJECT_DIR" not in os.environ and os.path.isdir(_text(payload, "cwd")):
            taint = clean(_text(payload, "cwd"))
            places = locate(_text(payload, "cwd"))
        output = HANDLERS[event]()(payload, places, taint, deadline)
        if output:
            sys.stdout.write(dumps(output))
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001  (the outermost line of a hook: a fault of ours must not hurt the host)
        _report(event, places, session, error)
    return 0


def _prompt() -> Handler:
    from .prompt_event import handle

    return handle


def _session_start() -> Handler:
    from .session_event import handle

    return handle


# Each event imports its own handler; `importlib` would cost a prompt three milliseconds.
HANDLERS = {"UserPromptSubmit": _prompt, "SessionStart": _session_start}


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


def _text(payload: dict[str, object], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) and "\0" not in value else ""


def _report(event: str, places: Places | None, session: str, error: Exception) -> None:
    """Say in one line what went wrong, by its kind and place: an error's text may quote what the user wrote."""
    from .events import note, where

    kind = "bad_input" if isinstance(error, BadInput) else "error"
    what = str(error) if isinstance(error, BadInput) else "%s at %s" % (type(error).__name__, where(error))
    if places is not None:
        note(places, session, event, kind, what)
    sys.stderr.write("memory: %s: %s\n" % (event, what))
