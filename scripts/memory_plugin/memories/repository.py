"""What git says about a store: the commits that added its files, and where files are now that its memories name.

It is shown and never used to decide: anyone can put any name into a commit. Git is run in a way that cannot start a program that the
repository chose (hook, pager, filter, file system monitor, signature check), and that downloads nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer
from typing import NamedTuple

from ..kernel.files import read_regular
from ..kernel.paths import git_folder
from .memory_files import PROJECT, Store, StoredMemory
from .record import ACTIVE

_SECONDS = 20.0
_MAX_OUTPUT = 16 << 20
_MAX_BYTES = 8 << 20
_MAX_HASHED = 500
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
    "safe.directory": "*",  # a project of another user, as in a container; all that it could run is off
}
_SAFE = {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_ADDED = (
    "log", "-n", "5000", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color",
    "--format=%x01%h%x1f%as%x1f%an <%ae>", "HEAD", "--",
)  # fmt: skip
_MOVED = ("log", "--no-ext-diff", "-M", "--diff-filter=R", "--name-status", "--format=", "-n", "20000", "-z")
_NAMED = ("log", "--no-ext-diff", "--name-only", "--format=", "-n", "20000", "-z")
_STAGED = ("diff", "--no-ext-diff", "--cached", "-M", "--diff-filter=R", "--name-status", "-z", "HEAD")
# A file outside the sparse checkout, and a submodule, as git marks them.
_SKIPPED, _SUBMODULE = "S ", "160000 "
_GONE, _ABSENT = " is gone", " is not there"
_SHALLOW = " is not there (to ask git, which has only the last commits here: git fetch --unshallow)"
_LINE_NUMBER = re.compile(r":\d+(?:-\d+)?\Z")
_PATTERN = re.compile(r"/[^/]*[*?\[{].*\Z")  # below a folder
_NO_PATH = re.compile(r"[*?\[{!]|\A(?:/|~|\.\.(?:/|\Z)|\w+:)")


class ClaimedCommit(NamedTuple):
    """A commit, as its own metadata describes it."""

    commit: str
    date: str
    author: str


class GoneFile(NamedTuple):
    """A file or pattern that a memory names and that is gone; `places` are those of all such files now, empty if unknown.

    That of a file that git never knew is that of its only namesake.
    """

    stored: StoredMemory
    name: str
    places: dict[str, str]
    lack: str

    def __str__(self) -> str:
        """Return what happened, and the command that fixes it."""
        return "; ".join(" ".join(pair) for pair in zip(self.lines[::2], self.lines[1::2]))

    @property
    def lines(self) -> list[str]:
        """Return the same as lines: each command below the case that it is for."""
        if self.places[self.name]:
            return [self.change + ":", self.edit]
        forget = "memory forget %s" % self.stored.memory.id
        return [self.change + "; if the memory still holds:", self.edit, "if not:", forget]

    @property
    def change(self) -> str:
        """Return what happened to the file."""
        place = self.places[self.name]
        if place:
            text = "%s was moved to %s" if self.lack == _GONE else "%s is not there, but %s is"
            return text % (self.name, place)
        return self.name + self.lack

    @property
    def edit(self) -> str:
        """Return the command that names all files of the memory as they are now."""
        memory = self.stored.memory
        names = list(filter(None, (self.places.get(name, name) for name in memory.files))) or ["none"]
        return " ".join(["memory edit", memory.id, *("--file " + shlex.quote(name) for name in names)])


def claimed_commits(store: Store, paths: Iterable[str]) -> dict[str, ClaimedCommit]:
    """Return the newest commit of each file that is unchanged since that commit; other files are left out, and all of them without git."""
    newest: dict[str, tuple[ClaimedCommit, str]] = {}
    for name, commit, blob in _logged(store) if store.worktree is not None else ():
        newest.setdefault(name, (commit, blob))
    commits = {}
    for path in paths:
        name = os.path.relpath(path, store.root).replace(os.sep, "/")
        if name in newest and _blob(path, newest[name][1]) == newest[name][1]:
            commits[path] = newest[name][0]
    return commits


def _logged(store: Store) -> Iterator[tuple[str, ClaimedCommit, str]]:
    """Yield the files that each commit changed, by their path in the store, and their blobs as it left them, newest commit first."""
    from .hygiene import shown_line  # a prompt with a missing file needs none of this

    commit = None
    for line in git(store.worktree or "", *_ADDED, store.root).split("\n"):
        if line.startswith(_MARK):
            fields = [shown_line(field, _MAX_NAME) for field in line[1:].split("\x1f", 2)]
            commit = ClaimedCommit(fields[0][:_SHORT_ID], *fields[1:]) if len(fields) == 3 else None
        elif line.startswith(":") and commit is not None:
            marks, _, name = line.partition("\t")
            yield name.rpartition(".claude/memory/")[2], commit, "".join(marks.split(" ")[3:4])


def gone_files(memories: list[StoredMemory]) -> list[GoneFile]:
    """Return the files of active memories that are gone, each with its new place; other projects' files are not looked at.

    A pattern is gone with the folder that it begins with.
    """
    of_project = [one for one in memories if one.store.scope == PROJECT and one.store.worktree]
    ours = [one for one in of_project if one.memory.status == ACTIVE and not one.memory.superseded_by]
    root = ours[0].store.worktree or "" if ours else ""  # a project has one store
    names = {name: name.strip().replace("\\", "/") for one in ours for name in one.memory.files}
    wholes = {name: _LINE_NUMBER.sub("", path).removeprefix("./") for name, path in names.items()}
    paths = {name: _PATTERN.sub("", whole) for name, whole in wholes.items()}
    paths = {name: path for name, path in paths.items() if path and not _NO_PATH.search(path)}
    gone = {name: path for name, path in paths.items() if not os.path.lexists(os.path.join(root, path))}
    left_out = not_checked_out(gone.values(), root)
    gone = {name: path.rstrip("/") for name, path in gone.items() if path not in left_out}
    places = _moved(set(gone.values()), root) if gone else {}
    unmoved = set(gone.values()) - set(places)
    known = git(root, *_NAMED, "--", *sorted(unmoved)).split("\0") if unmoved else []
    strange = {path for path in unmoved if not _names(known, path)}
    files = {path for name, path in gone.items() if path == wholes[name]}
    places.update(_namesakes(strange & files, root))
    now = {
        name: places[path] + wholes[name][len(path) :] if path in places else ""
        for name, path in gone.items()
    }
    absent = _SHALLOW if os.path.lexists(os.path.join(git_folder(root) or root, "shallow")) else _ABSENT
    return [
        GoneFile(one, name, now, absent if gone[name] in strange else _GONE)
        for one in ours
        for name in one.memory.files
        if name in gone
    ]


def _names(listed: Iterable[str], path: str) -> bool:
    """Return whether git listed a path, or one below it."""
    return any(one.startswith(path.rstrip("/") + "/") for one in map("%s/".__mod__, listed))


def _namesakes(paths: set[str], root: str) -> dict[str, str]:
    """Return path -> the only file of the project with the name of some paths that are not there, whatever its case."""
    listed = git(root, "ls-files", "-c", "-o", "--exclude-standard", "-z") if paths else ""
    named: dict[str, set[str]] = {}
    for path in listed.split("\0"):
        named.setdefault(os.path.basename(path).casefold(), set()).add(path)
    found = {path: named.get(os.path.basename(path).casefold(), set()) for path in paths}
    return {path: min(same) for path, same in found.items() if len(same) == 1}


def not_checked_out(missing: Iterable[str], root: str) -> set[str]:
    """Return those missing paths that a working tree need not have: ignored, in a submodule, or outside the sparse checkout."""
    paths = list(missing)
    if not paths:
        return set()
    # With the index, git refuses all paths if one is in a submodule.
    ignored = git(root, "-c", "core.quotePath=0", "check-ignore", "--no-index", "--", *paths).splitlines()
    above = {path: _empty_folder(path.rstrip("/"), root) for path in paths}
    is_whole = not os.path.lexists(os.path.join(git_folder(root) or root, "info", "sparse-checkout"))
    asked = [*filter(None, above.values()), *(ignored if is_whole else paths)]
    listed = git(root, "ls-files", "-t", "-s", "-z", "--", *asked).split("\0") if asked else ()
    skipped = [line.partition("\t")[2] for line in listed if line.startswith(_SKIPPED)]
    modules = {line.partition("\t")[2] for line in listed if line[2:].startswith(_SUBMODULE)}
    untracked = set(ignored).difference(line.partition("\t")[2] for line in listed)
    return {path for path in paths if path in untracked or above[path] in modules or _names(skipped, path)}


def _empty_folder(path: str, root: str) -> str:
    """Return the folder above a missing path that is there, if it is empty, as that of a submodule may be; else empty."""
    folder = os.path.dirname(path)
    while folder and not os.path.isdir(os.path.join(root, folder)):
        folder = os.path.dirname(folder)
    try:
        return "" if os.listdir(os.path.join(root, folder)) else folder
    except OSError:  # nobody may list it
        return ""


def _moved(paths: set[str], root: str) -> dict[str, str]:
    """Return path -> new path for those of some missing files that git saw moved, or whose last text an untracked file has."""
    places = _renamed(paths, root)
    new = [path for path in git(root, "ls-files", "-o", "--exclude-standard", "-z").split("\0") if path]
    blobs = {_blob(os.path.join(root, path)): path for path in new[:_MAX_HASHED]}
    for path in paths - set(places):
        blob = git(root, "rev-parse", "--verify", "-q", "HEAD:" + path).strip()
        if blob and blob in blobs:  # neither is known of a link, or of a file that was never committed
            places[path] = blobs[blob]
    return places


def _renamed(paths: set[str], root: str) -> dict[str, str]:
    """Return path -> new path for those files and folders that git saw moved and that exist."""
    renames: list[tuple[str, str]] = []
    for words in (_MOVED, _STAGED):
        fields = git(root, *words).split("\0")
        renames += [(fields[at + 1], fields[at + 2]) for at in range(0, len(fields) - 2, 3)][::-1]
    now = {path: path for path in paths}
    for old, new in renames:
        for path, place in now.items():
            inside = old[len(place) :]  # empty for the file itself
            if (old + "/").startswith(place + "/") and new.endswith(inside):
                now[path] = new.removesuffix(inside)
    moved = {path: new for path, new in now.items() if new != path}
    return {path: new for path, new in moved.items() if os.path.lexists(os.path.join(root, new))}


def git(root: str, *words: str) -> str:
    """Return what git prints, at most 16 MB; empty if it fails, takes too long, or is not installed."""
    git = shutil.which("git")
    # On Windows `which` looks into the current folder first, and a repository may hold a program of this name.
    if git is None or not os.path.isabs(git):
        return ""
    settings = [word for name, value in _OFF.items() for word in ("-c", "%s=%s" % (name, value))]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [git, "--no-pager", "--no-optional-locks", *settings, *words]
    environment.update(_SAFE)
    try:
        process = Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, cwd=root, env=environment)
    except OSError:
        return ""
    timer = Timer(_SECONDS, process.kill)
    timer.start()
    with process:
        assert process.stdout is not None
        output = process.stdout.read(_MAX_OUTPUT)  # a repository may have a log of any size
        process.kill()
        timer.cancel()
    return os.fsdecode(output)


def _blob(path: str, like: str = "") -> str:
    """Return git's id for a file's content, by the hash function of `like`; empty if it cannot be read."""
    try:
        data = read_regular(path, _MAX_BYTES)[0]
    except OSError:
        return ""
    from hashlib import sha1, sha256

    hashed = sha256() if len(like) == 64 else sha1(usedforsecurity=False)
    hashed.update(b"blob %d\0" % len(data) + data)
    return hashed.hexdigest()
