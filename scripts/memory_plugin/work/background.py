"""Start what runs in the background: the refresh of an index, the steps that follow a reply or a session, and what the user allowed."""

from __future__ import annotations

import os
from time import time

from ..host.spawn import MAX_INPUT, judge_variables, start
from ..kernel.context import Context
from ..kernel.fastjson import dumps
from ..kernel.files import FileLock, make_folder
from ..kernel.paths import Paths

_PAUSE_SECONDS = 2.0
_STARTED = "memory: carried out, because you allowed it: `memory %s`"
_FAILED = "memory: not done, because no process could be started: `memory %s`"


def start_refresh(paths: Paths) -> bool:
    """Start `memory refresh` for a project; return False if one is running or was started in the last two seconds."""
    from ..recall.index_file import index_path, refresh_lock  # loads SQLite, which a Stop hook does without

    path = index_path(paths)
    try:
        if not _is_due(path + ".started"):
            return False
        with refresh_lock(path, 0.0):
            pass
    except OSError:  # also Busy
        return False
    return start(["refresh", "--root", paths.project_root])


def start_steps(
    event: str,
    transcript: str,
    context: Context,
    variables: tuple[str, ...] = (),
    *,
    prompt_id: str = "",
    text: str = "",
    judges_off: bool = True,
) -> bool:
    """Start the steps that follow the reply or session that an event ended; return False if no process could be started.

    The reply's text travels on standard input, so that no file holds it. A process reads one that is too long from the transcript.
    """
    request: dict[str, object] = {
        "event": event, "session": context.session, "transcript": transcript, "prompt_id": prompt_id, "text": text, "length": len(text),
        "judges_off": judges_off,
    }  # fmt: skip
    data = dumps(request).encode("ascii")
    if len(data) > MAX_INPUT:
        data = dumps({**request, "text": ""}).encode("ascii")
    return start(["background", "--root", context.paths.project_root], data, variables)


def settle_wishes(context: Context, *, wait: float = 0.0, is_last: bool = False) -> list[str]:
    """Start what the user allowed; return lines about it, and about what is not done. `is_last` gives up what is still open.

    Raises OSError.
    """
    from ..memories.tickets import end_tickets, settle, shown  # most sessions have none

    allowed, lines = settle(context.paths, context.session, wait=wait, is_last=is_last)
    end_tickets(context.paths, context.session)
    if not allowed:
        return lines
    data = dumps(allowed).encode("ascii")
    root = ["--root", context.paths.project_root]
    is_started = len(data) <= MAX_INPUT and start(["settle", *root], data, judge_variables(context.settings))
    return [*lines, *((_STARTED if is_started else _FAILED) % shown(command) for command in allowed)]


def _is_due(path: str) -> bool:
    """Return whether the last start is long enough ago, and record a start if so. Raises Busy if another process is checking."""
    make_folder(os.path.dirname(path))
    with FileLock(path, 0.0):
        status = os.stat(path)
        if status.st_size and 0 <= time() - status.st_mtime < _PAUSE_SECONDS:
            return False
        with open(path, "wb") as handle:
            handle.write(b"started\n")
    return True
