"""Print the status line for the session that the client describes."""

from __future__ import annotations

import os
import sys

from ..kernel.fastjson import loads
from ..kernel.paths import locate
from ..work.status_line import status_text

_MAX_INPUT = 1 << 20


def run() -> int:
    """Print the line for the session that the client describes on standard input, and return 0; nothing on any error."""
    try:
        payload = _payload()
        paths = locate(_folder(payload))
        session = payload.get("session_id")
        line = status_text(paths, session if isinstance(session, str) else "")
        os.write(1, (line + "\n").encode("utf-8"))
    except Exception:
        return 0
    return 0


def _payload() -> dict[str, object]:
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    try:
        value = loads(sys.stdin.buffer.read(_MAX_INPUT).decode("utf-8", "replace"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _folder(payload: dict[str, object]) -> str:
    """Return the project's folder as the client names it, or the current folder outside the client."""
    workspace = payload.get("workspace")
    places = workspace if isinstance(workspace, dict) else {}
    for name in (places.get("project_dir"), places.get("current_dir"), payload.get("cwd")):
        if isinstance(name, str) and "\0" not in name and os.path.isabs(name):
            return name
    return os.getcwd()
