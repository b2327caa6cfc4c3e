"""The status line for Claude Code: the numbers of memories stored, shown in this session, and pending; and the script that prints it.

The client runs it after each message, so the counts are prepared beforehand, by the last change or refresh of the stores. Its settings
cannot name the plugin's folder, which changes with the version: they name a script in the state folder, which SessionStart rewrites.
"""

from __future__ import annotations

import os

from ..kernel.fastjson import as_integer
from ..kernel.paths import Paths, data_path, own_script, read_state

FOLDER, BEFORE = "statusline", "before.sh"
_MAX_SCRIPT = 64 * 1024


def status_text(paths: Paths, session: str, counts: dict[str, object] | None = None) -> str:
    """Return the line, such as `31 memories, 2 shown, 1 pending`; parts that are zero are left out.

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
    parts += ["%d shown" % injected] if injected else []
    parts += ["%d pending" % pending] if pending else []
    return " \u00b7 ".join(parts)


def counts_path(paths: Paths) -> str:
    """Return the file of a project's counts. Raises RuntimeError without a state folder."""
    return paths.state(FOLDER, paths.project_key + ".json")


def _injected(paths: Paths, session: str) -> int:
    """Return how many memories were injected in full in a session; the rules of its start, which every session gets, do not count."""
    if not session or paths.state_dir is None:
        return 0
    from ..recall import history

    places = (history.PROMPT, history.TOOL, history.FAILURE, history.GUARD)
    return history.RecallHistory(paths, session).injected_counts(*places)[0]


def script_path(paths: Paths) -> str:
    """Return the path of the script. Raises RuntimeError without a state folder."""
    return paths.state(FOLDER, "line.sh")


def script_text(paths: Paths) -> str:
    """Return the script for this installation of the plugin."""
    from shlex import quote  # the line itself does without

    values = {
        "@CONFIG@": os.path.dirname(os.path.dirname(paths.state())),
        "@SCRIPT@": own_script(),
        "@BEFORE@": paths.state(FOLDER, BEFORE),
    }
    with open(data_path("statusline.sh"), encoding="utf-8") as file:
        text = file.read()
    for name, value in values.items():
        text = text.replace(name, quote(value))
    return text


def refresh_script(paths: Paths) -> None:
    """Rewrite the script if it exists and is out of date. Raises OSError."""
    from ..kernel.files import read_regular, replace_file

    path = script_path(paths)
    try:
        present = read_regular(path, _MAX_SCRIPT)[0]
    except OSError:
        return
    text = script_text(paths).encode("utf-8")
    if present != text:
        replace_file(path, text, durable=False)
