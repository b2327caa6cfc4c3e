"""The commits that added the files of a store, as their own metadata describes them.

They are shown and never used to decide: anyone can put any name into a commit. Git is run once, in a way that cannot start a program
the repository chose: no hook, pager, filter, file system monitor, signature check, or download.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from hashlib import sha1, sha256
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer
from typing import NamedTuple

from ..kernel.files import read_regular
from .hygiene import shown_line
from .memory_files import MAX_BYTES, Store

_SECONDS = 5.0
_MAX_COMMITS = "5000"
_MAX_OUTPUT = 16 << 20
_MAX_NAME = 80
_SHORT_ID = 10
_MARK = "\x01"
_OFF = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "core.quotePath": "true",
    "log.showSignature": "false",
    "protocol.allow": "never",
}
_LOG = (
    "--no-pager", "--no-optional-locks", "log", "-n", _MAX_COMMITS, "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff",
    "--no-textconv", "--no-show-signature", "--no-color", "--format=%x01%h%x1f%as%x1f%an <%ae>", "HEAD", "--",
)  # fmt: skip


class ClaimedCommit(NamedTuple):
    """A commit, as its own metadata describes it."""

    commit: str
    date: str
    author: str


def claimed_commits(store: Store, paths: Iterable[str]) -> dict[str, ClaimedCommit]:
    """Return the newest commit of each file that is unchanged since that commit; other files are left out, and all of them without git."""
    if store.worktree is None:
        return {}
    newest: dict[str, tuple[ClaimedCommit, str]] = {}
    for name, commit, blob in _logged(store):
        newest.setdefault(name, (commit, blob))
    commits = {}
    for path in paths:
        # A path relative to the store's folder, with slashes.
        name = os.path.relpath(path, store.root).replace(os.sep, "/")
        if name in newest and _blob_id(path, newest[name][1]) == newest[name][1]:
            commits[path] = newest[name][0]
    return commits


def _logged(store: Store) -> list[tuple[str, ClaimedCommit, str]]:
    """Return the files that each commit changed and their blobs as it left them, newest commit first."""
    changes = []
    commit = None
    for line in _output(store).split("\n"):
        if line.startswith(_MARK):
            fields = [shown_line(field, _MAX_NAME) for field in line[1:].split("\x1f", 2)]
            commit = ClaimedCommit(fields[0][:_SHORT_ID], *fields[1:]) if len(fields) == 3 else None
        elif line.startswith(":") and commit is not None:
            fields_of_file, _, name = line.partition("\t")
            blob = fields_of_file.split(" ")[3:4]
            path_in_store = name.rpartition(".claude/memory/")[2]
            changes.append((path_in_store, commit, "".join(blob)))
    return changes


def _output(store: Store) -> str:
    """Return git's log of a store; empty if git fails, takes too long, or is not installed."""
    git = shutil.which("git")
    # On Windows `which` looks into the current folder first, and a repository may hold a program of this name.
    if git is None or not os.path.isabs(git) or not os.path.isdir(store.root):
        return ""
    settings = [word for name, value in _OFF.items() for word in ("-c", "%s=%s" % (name, value))]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment.update(GIT_NO_LAZY_FETCH="1", GIT_OPTIONAL_LOCKS="0", GIT_TERMINAL_PROMPT="0", LC_ALL="C")
    command = [git, *settings, *_LOG, store.root]
    try:
        process = Popen(
            command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, cwd=store.worktree, env=environment
        )
    except OSError:
        return ""
    timer = Timer(_SECONDS, process.kill)
    timer.start()
    with process:
        assert process.stdout is not None
        output = process.stdout.read(_MAX_OUTPUT)  # a repository may have a log of any size
        process.kill()
        timer.cancel()
    return output.decode("utf-8", "replace")


def _blob_id(path: str, like: str) -> str:
    """Return git's blob id for a file's content, using the same hash function as `like`."""
    try:
        data = read_regular(path, MAX_BYTES)[0]
    except OSError:
        return ""
    hashed = sha256() if len(like) == 64 else sha1(usedforsecurity=False)
    hashed.update(b"blob %d\0" % len(data) + data)
    return hashed.hexdigest()
