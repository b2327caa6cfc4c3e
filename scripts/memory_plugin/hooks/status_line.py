"""Print the status line for Claude Code: the numbers of memories stored, injected in this session, and pending.

The client runs this after each message, so the counts are prepared beforehand, by the last change or refresh of the stores.
"""

from __future__ import annotations

import os
import sys

from ..kernel.fastjson import as_integer, loads
from ..kernel.paths import locate
from ..kernel.state_file import read_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Paths

FOLDER = "statusline"
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


def status_text(paths: Paths, session: str, counts: dict[str, object] | None = None) -> str:
    """Return the line, such as `31 memories, 2 recalled, 1 pending`; parts that are zero are left out.

    `session` is the session whose injected memories are counted; empty for none. `counts` are the counts of the project; None for those
    that were prepared.
    """
    if counts is None:
        counts = read_state(counts_path(paths)) if paths.state_dir is not None else {}
    stored, pending = (as_integer(counts.get(name)) or 0 for name in ("memories", "pending"))
    if counts.get("recall") is False:
        return "memory off"
    injected = _injected(paths, session)
    parts = ["%d %s" % (stored, "memory" if stored == 1 else "memories")] if counts else ["memory"]
    parts += ["%d recalled" % injected] if injected else []
    parts += ["%d pending" % pending] if pending else []
    return " \u00b7 ".join(parts)


def counts_path(paths: Paths) -> str:
    """Return the file of a project's counts. Raises RuntimeError without a state folder."""
    return paths.state(FOLDER, paths.project_key + ".json")


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


def _injected(paths: Paths, session: str) -> int:
    """Return how many memories were injected in full in a session."""
    if not session or paths.state_dir is None:
        return 0
    from ..recall import history

    places = (history.PROMPT, history.CATALOG, history.TOOL, history.FAILURE, history.GUARD)
    return history.RecallHistory(paths, session).injected_counts(*places)[0]
