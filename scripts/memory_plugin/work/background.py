"""What runs in the background: the refresh of an index, and the search for memory candidates."""

from __future__ import annotations

import os
from time import time

from ..host.background import start
from ..kernel.fastjson import dumps
from ..kernel.files import make_folder
from ..kernel.locks import FileLock
from ..recall.index_file import index_path, refresh_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from ..kernel.paths import Paths

_PAUSE_SECONDS = 2.0


def start_refresh(paths: Paths) -> bool:
    """Start `memory refresh` for a project; return False if one is running or was started in the last two seconds."""
    path = index_path(paths)
    try:
        if not _is_due(path + ".started"):
            return False
        with refresh_lock(path, 0.0):
            pass
    except OSError:  # also Busy
        return False
    return start(["refresh", "--root", paths.project_root])


def start_proposals(event: str, transcript: str, context: Context) -> bool:
    """Start `memory propose` for the turn or session that an event ended; return False if the process could not be started."""
    request = dumps({"event": event, "session": context.session, "transcript": transcript}).encode("ascii")
    return start(["propose", "--root", context.paths.project_root], request)


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
