"""Questions to a model through Claude Code itself, with the session's own login: the backend `host`.

`hooks/register.js` runs inside the client. In the folder `host`, `SESSION.open` is not empty while it listens, `SESSION.N.ask` holds a
request, and `SESSION.N.answer` the result and a line end.
"""

from __future__ import annotations

import os
from contextlib import suppress
from time import sleep, time
from typing import TYPE_CHECKING, Any

from ..fastjson import dumps, loads
from ..files import make_folder, read_regular, replace_file
from .errors import JudgeError

if TYPE_CHECKING:
    from ..clock import Deadline

HOST = "host"
_POLL = 0.005  # seconds
_MARGIN = 0.1  # seconds that the answer may take from the client to this process
_LISTENS = 15.0  # seconds at most; an older mark is of a client that ended in between
_MAX_BYTES = 1 << 20
_KEPT = 86_400.0  # seconds, for files of a session that ended in the middle of a question


def require_listener(folder: str, session: str) -> None:
    """Raise JudgeError `no_host` unless the client listens for questions of this session; its folder is made, so that it may listen."""
    try:
        make_folder(folder)
        mark = os.stat(os.path.join(folder, _name(session) + ".open"))
        is_open = mark.st_size > 0 and time() - mark.st_mtime < _LISTENS
    except OSError:
        is_open = False
    if not is_open:
        raise JudgeError("no_host", "Claude Code does not answer here")


def ask_client(folder: str, session: str, request: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Return the client's result for one request: `isAnswered`, and `text` and `usage` or a `reason`. Raises JudgeError `timeout`."""
    path = os.path.join(folder, "%s.%s" % (_name(session), os.urandom(8).hex()))
    limit = max(1, round(1000 * (deadline.remaining() - _MARGIN)))
    try:
        replace_file(path + ".ask", dumps({**request, "timeoutMs": limit}).encode("ascii"), durable=False)
        while deadline.remaining() > 0:
            sleep(_POLL)
            with suppress(FileNotFoundError):
                data = read_regular(path + ".answer", _MAX_BYTES)[0]
                if data.endswith(b"\n"):
                    result = loads(data.decode("utf-8"))
                    return result if isinstance(result, dict) else {}
    except (OSError, ValueError):
        raise JudgeError("no_host", "the client's answer cannot be read") from None
    finally:
        _remove(folder, path)
    raise JudgeError("timeout")


def _name(session: str) -> str:
    """Return the session as part of a file's name; "none" for one that the client would not listen for."""
    return session if session.replace("-", "").replace("_", "").isalnum() and session.isascii() else "none"


def _remove(folder: str, path: str) -> None:
    """Delete the files of one question, and those that other sessions left behind."""
    oldest = time() - _KEPT
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.path.startswith(path) or entry.stat().st_mtime < oldest:
                os.unlink(entry.path)
