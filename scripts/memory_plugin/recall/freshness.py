"""Whether the index is up to date with the stores, told by a handful of `stat` calls per prompt."""

from __future__ import annotations

import os
from time import time

from ..kernel.fastjson import dumps, loads
from .index_file import meta_get, meta_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..kernel.sqlite import Connection

__all__ = ["UNSURE", "changed_paths", "save_snapshot", "snapshot"]

_WATCHED = "watched"
# A file that changes again within the clock's resolution keeps the stamp we saw, so such a folder is checked again (git: "racy").
_GRAIN_SECONDS = 0.05
_COARSE_GRAIN_SECONDS = 2.1
# A file server's clock may be ahead by this much. A stamp further in the future was set (`touch`, an archive, a clock set back) and may
# stay there for years.
_SKEW_SECONDS = 60.0
UNSURE = "?"
_ABSENT = "-"
_REPLACED = "="


def snapshot(paths: Iterable[str], replaced: Iterable[str] = ()) -> dict[str, str]:
    """Return the present mark of each path: time of change, inode, the inode of a link to it, and owner.

    `-` where nothing is, `?` where it changed too recently to tell. The paths in `replaced` are never `?`: they are files of our own, which
    are only ever replaced by another file, so that another content always has another inode.
    """
    moment, own_files = time(), set(replaced)
    return {path: _mark(path, moment, path in own_files) for path in paths}


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


def save_snapshot(connection: Connection, marks: dict[str, str]) -> None:
    """Replace the marks in the index with these, inside the caller's transaction."""
    meta_set(connection, _WATCHED, dumps(marks))


def changed_paths(connection: Connection) -> set[str] | None:
    """Return the watched paths that have changed since they were indexed, or may have; None when no marks were ever saved."""
    saved = meta_get(connection, _WATCHED)
    marks = loads(saved) if saved else None
    if not isinstance(marks, dict):
        return None
    now = snapshot(marks, [path for path, mark in marks.items() if str(mark).startswith(_REPLACED)])
    return {path for path, mark in marks.items() if mark == UNSURE or now[path] != mark}
