"""Find the files that memories name and that are gone, and where they are now: git knows what was moved, else one file of that name."""

from __future__ import annotations

import os
import re
import shlex
from hashlib import sha1
from subprocess import DEVNULL, SubprocessError, run
from typing import NamedTuple

from ..kernel.files import Unreadable, read_regular
from .memory_files import PROJECT, StoredMemory
from .record import ACTIVE

# A repository's own settings must start no program, and nothing is fetched.
_GIT = ("git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false")
_ENVIRONMENT = {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0"}
_SECONDS = 20
_MAX_COMMITS = "20000"
_MAX_BYTES = 8 << 20
_MAX_HASHED = 500
_LINE_NUMBER = re.compile(r":\d+(?:-\d+)?\Z")
_NO_PATH = re.compile(r"[*?\[{!]|\A(?:/|~|\.\.(?:/|\Z)|\w+:)")


class GoneFile(NamedTuple):
    """A file that a memory names and that is gone; `now` is where it is now, empty if nobody knows."""

    stored: StoredMemory
    name: str
    now: str

    def __str__(self) -> str:
        """Return what happened, and the command that fixes it."""
        identity, others = (
            self.stored.memory.id,
            [name for name in self.stored.memory.files if name != self.name],
        )
        files = [*others, self.now] if self.now else others or ["none"]
        edit = " ".join(["memory edit", identity, *("--file " + shlex.quote(name) for name in files)])
        if self.now:
            return "%s was moved to %s: %s" % (self.name, self.now, edit)
        return "%s is gone: memory forget %s; if the memory still holds: %s" % (self.name, identity, edit)


def gone_files(memories: list[StoredMemory]) -> list[GoneFile]:
    """Return the files of active memories that are gone, each with its new place; patterns and other projects' files are not looked at."""
    found: list[tuple[StoredMemory, str, str, str]] = []
    for stored in memories:
        root, memory = stored.store.worktree, stored.memory
        if root is None or stored.store.scope != PROJECT or memory.status != ACTIVE or memory.superseded_by:
            continue
        for name in memory.files:
            path = _LINE_NUMBER.sub("", name.strip()).replace("\\", "/").removeprefix("./")
            if path and not _NO_PATH.search(path) and not os.path.lexists(os.path.join(root, path)):
                found.append((stored, name, root, path))
    places = {root: _moved({path for _, _, at, path in found if at == root}, root) for _, _, root, _ in found}
    return [GoneFile(stored, name, places[root].get(path, "")) for stored, name, root, path in found]


def _moved(paths: set[str], root: str) -> dict[str, str]:
    """Return path -> new path for those of some missing files that were moved."""
    places = _renamed(paths, root)
    listed = _git(root, "ls-files", "-co", "--exclude-standard", "-z").split("\0")
    by_name: dict[str, list[str]] = {}
    for path in listed:
        if os.path.lexists(os.path.join(root, path)):
            by_name.setdefault(os.path.basename(path), []).append(path)
    new = [path for path in _git(root, "ls-files", "-o", "--exclude-standard", "-z").split("\0") if path]
    blobs = {_blob(os.path.join(root, path)): path for path in new[:_MAX_HASHED]}
    for path in paths - set(places):
        same = by_name.get(os.path.basename(path.rstrip("/")), [])
        blob = _git(root, "rev-parse", "--verify", "-q", "HEAD:" + path).strip()
        if blob in blobs or len(same) == 1:
            places[path] = blobs[blob] if blob in blobs else same[0]
    return places


def _renamed(paths: set[str], root: str) -> dict[str, str]:
    """Return path -> new path for files, and folders with a slash at their end or not, that git saw moved and that exist."""
    log = ("log", "-M", "--diff-filter=R", "--name-status", "--format=", "-n", _MAX_COMMITS, "-z")
    fields = _git(root, *log).split("\0") if paths else []
    renames = [(fields[at + 1], fields[at + 2]) for at in range(0, len(fields) - 2, 3)][::-1]
    staged = _git(root, "diff", "--cached", "-M", "--diff-filter=R", "--name-status", "-z", "HEAD").split(
        "\0"
    )
    renames += [(staged[at + 1], staged[at + 2]) for at in range(0, len(staged) - 2, 3)]
    now = {path: path for path in paths}
    for old, new in renames:
        for path, place in now.items():
            folder = place.rstrip("/") + "/"
            if place == old:
                now[path] = new
            elif old.startswith(folder) and new.endswith(old[len(folder) - 1 :]):
                now[path] = (
                    new[: -len(old) + len(place)]
                    if place.endswith("/")
                    else new[: len(folder) - 1 - len(old)]
                )
    return {
        path: new for path, new in now.items() if new != path and os.path.lexists(os.path.join(root, new))
    }


def _git(root: str, *words: str) -> str:
    """Return what git prints; empty if it fails or is not there."""
    try:
        output = run(
            [*_GIT, *words],
            cwd=root,
            env={**os.environ, **_ENVIRONMENT},
            stdin=DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, SubprocessError):
        return ""
    return os.fsdecode(output.stdout)


def _blob(path: str) -> str:
    """Return the id that git gives to a file's content; empty if it cannot be read."""
    try:
        data = read_regular(path, _MAX_BYTES)[0]
    except (OSError, Unreadable):
        return ""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
