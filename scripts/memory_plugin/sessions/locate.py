"""Where transcripts lie: by path, by session id, the present session, a whole project."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ..memories.native import native_folders

if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["NotFound", "by_name", "current", "is_id", "of_project"]

_ID = re.compile(r"[A-Za-z0-9_-]{6,100}\Z")
_MOST_FOLDERS = 5000
_END = ".jsonl"


class NotFound(OSError):
    """There is no such transcript; says where it was looked for."""


def is_id(name: str) -> bool:
    """Whether a name may be a session's id, or the beginning of one; else it is the name of a file."""
    return _ID.match(name) is not None


def by_name(places: Places, name: str) -> str:
    """The path of a transcript: the file itself, or the session whose id is `name` or begins with it. Raises NotFound."""
    if os.path.isfile(name):
        return os.path.abspath(name)
    if not is_id(name):
        raise NotFound("no transcript at %s" % name)
    found = [
        path
        for folder in _folders(places)
        for path in _transcripts(folder)
        if os.path.basename(path).startswith(name)
    ]
    if not found:
        raise NotFound("no session %s under %s" % (name, _root(places)))
    if len({os.path.basename(path) for path in found}) > 1:
        raise NotFound("%d sessions begin with %s; write more of the id" % (len(found), name))
    return max(found, key=_changed)


def current(places: Places, session: str) -> str:
    """The present session's transcript; outside of one, the project's newest. Raises NotFound."""
    if session:
        return by_name(places, session)
    found = of_project(places)
    if not found:
        raise NotFound("no session of this project under %s" % _root(places))
    return found[-1]


def of_project(places: Places) -> list[str]:
    """The transcripts of this project, the newest last, those of sub-agents left out."""
    found = [path for memory in native_folders(places) for path in _transcripts(os.path.dirname(memory))]
    return sorted(found, key=_changed)


def _root(places: Places) -> str:
    return os.path.join(places.config_dir or "", "projects")


def _folders(places: Places) -> list[str]:
    try:
        with os.scandir(_root(places)) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)][:_MOST_FOLDERS]
    except OSError:
        return []


def _transcripts(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [
                e.path
                for e in entries
                if e.name.endswith(_END)
                and not e.name.startswith("agent-")
                and e.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []


def _changed(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
