"""Whether the index still shows what lies in the stores, told by a handful of `stat` calls per prompt."""

from __future__ import annotations

import os
from time import time

from ..kernel.fastjson import dumps, loads
from .index.file import meta_get, meta_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.sqlite import Connection

__all__ = ["UNSURE", "changed_paths", "glance", "remember"]

_WATCHED = "watched"
# A file changed within the clock's grain of our look bears the stamp we saw; such a folder is looked at again (git calls this "racy").
_GRAIN_SECONDS = 0.05
_COARSE_GRAIN_SECONDS = 2.1
# A file server's clock may be ahead by as much; a stamp further on was made (`touch`, an archive, a clock set back) and may stay for years.
_SKEW_SECONDS = 60.0
UNSURE = "?"
_ABSENT = "-"
_REPLACED = "="


def glance(paths: Iterable[str], replaced: Iterable[str] = ()) -> dict[str, str]:
    """The present mark of each path: time of change, inode, the inode of a link to it, and owner.

    `-` where nothing is, `?` where it changed too recently to tell. Of the paths in `replaced` that is always told: they are files of our
    own, which are only ever replaced as a whole, so that another inode stands for another content.
    """
    moment, whole = time(), set(replaced)
    return {path: _mark(path, moment, path in whole) for path in paths}


def _mark(path: str, moment: float, replaced: bool) -> str:
    try:
        status, own = os.stat(path), os.lstat(path)
    except OSError:
        return _ABSENT
    coarse = status.st_mtime_ns % 1_000_000_000 == 0
    grain = _COARSE_GRAIN_SECONDS if coarse else _GRAIN_SECONDS
    if not replaced and -_SKEW_SECONDS < moment - status.st_mtime < grain:
        return UNSURE
    mark = "%d:%d:%d:%d" % (status.st_mtime_ns, status.st_ino, own.st_ino, status.st_uid)
    return _REPLACED + mark if replaced else mark


def remember(connection: Connection, marks: dict[str, str]) -> None:
    """Keep marks for later prompts, instead of all earlier ones, inside the caller's transaction."""
    meta_set(connection, _WATCHED, dumps(marks))


def changed_paths(connection: Connection) -> set[str] | None:
    """The watched paths that are not as they were when they were indexed; None when nothing was ever watched."""
    kept = meta_get(connection, _WATCHED)
    marks = loads(kept) if kept else None
    if not isinstance(marks, dict):
        return None
    now = glance(marks, [path for path, mark in marks.items() if str(mark).startswith(_REPLACED)])
    return {path for path, mark in marks.items() if mark == UNSURE or now[path] != mark}
