"""The index healed in the background, at most once in ten seconds a project."""

from __future__ import annotations

import os
from time import time

from ..kernel.files import make_folder
from ..kernel.locks import FileLock
from ..recall.index.place import index_path
from .detached import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["start_healing"]

_PAUSE_SECONDS = 10.0


def start_healing(places: Places) -> bool:
    """Start `memory heal` for a project, unless one runs or was started in the last seconds; whether it was started."""
    try:
        if not _is_due(index_path(places) + ".started"):
            return False
        with FileLock(index_path(places) + ".heal", 0.0):
            pass
    except OSError:  # Busy is one
        return False
    return start(["heal", "--root", places.project_root])


def _is_due(path: str) -> bool:
    """Whether the last start lies far enough back; asking counts as starting. Raises Busy while somebody else asks."""
    make_folder(os.path.dirname(path))
    with FileLock(path, 0.0):
        status = os.stat(path)
        if status.st_size and 0 <= time() - status.st_mtime < _PAUSE_SECONDS:
            return False
        with open(path, "wb") as handle:
            handle.write(b"started\n")
    return True
