"""The stores of memories, the project's and the user's own, and how they are read: their memories, and why other files are not memories."""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from ..kernel.fastjson import digest, loads
from ..kernel.files import Unreadable, error_text, read_regular, stamp
from ..kernel.paths import Paths, main_worktree
from . import InvalidMemory
from .record import Category, Memory, categories, parse_memory

PROJECT, USER = "project", "user"
MAX_BYTES = 256 * 1024
MAX_FILES = 200_000
# Three bytes of JSON, such as `[],`, become 70 bytes in memory, and each traversal takes a microsecond per value.
MAX_VALUES = 10_000


class Store(NamedTuple):
    """A folder of memory files. `root` may not exist yet; `worktree` is the project it belongs to, None for the user's own store."""

    scope: str
    root: str
    worktree: str | None

    def folder(self, category: str) -> str:
        """Return the folder of one category."""
        return os.path.join(self.root, categories()[category].folder)

    def path(self, category: str, identity: str) -> str:
        """Return the file of a memory, determined by its category and id."""
        return os.path.join(self.folder(category), identity + ".json")


def store_key(store: Store) -> str:
    """Return the name of a store in the state folder: its scope and a digest of its real path."""
    return "%s-%s" % (store.scope, digest(os.fsencode(os.path.realpath(store.root)), 8))


def project_store(paths: Paths) -> Store:
    """Return the store of the project; a linked worktree without one of its own shares that of the main worktree."""
    root = paths.project_root
    main = main_worktree(root)
    if main is not None and not has_store(root) and has_store(main):
        root = main
    return Store(PROJECT, _inside(root), root)


def _inside(root: str) -> str:
    return os.path.join(root, ".claude", "memory")


def has_store(root: str) -> bool:
    """Return whether a folder has a store with at least one category's folder; others may keep notes in a folder of that name."""
    folders = (os.path.join(_inside(root), category.folder) for category in categories().values())
    return any(map(os.path.isdir, folders))


def user_store(paths: Paths) -> Store | None:
    """Return the user's own store, for all projects; None without a config folder."""
    return Store(USER, os.path.join(paths.config_dir, "memory"), None) if paths.config_dir else None


def stores(paths: Paths) -> list[Store]:
    """Return the stores that are searched together, the project's first."""
    project, user = project_store(paths), user_store(paths)
    if user is None:
        return [project]
    is_same = os.path.realpath(user.root) == os.path.realpath(project.root)
    return [user] if is_same else [project, user]


def named_store(paths: Paths, scope: str) -> Store:
    """Return the store of that scope; in the home folder, the project's is the user's. Raises RuntimeError without a config folder."""
    if scope == PROJECT:
        return stores(paths)[0]
    user = user_store(paths)
    if user is None:
        raise RuntimeError(paths.why_no_state)
    return user


class StoredMemory(NamedTuple):
    """A memory and its file. A changed file has another `digest`, and almost always another `stamp`, which is cheaper to compare."""

    memory: Memory
    store: Store
    path: str
    stamp: str
    digest: str

    @property
    def key(self) -> str:
        """Return the name of the memory that is unique over all scopes and categories."""
        return "%s:%s/%s" % (self.store.scope, self.memory.category, self.memory.id)


class FileProblem(NamedTuple):
    """A file in a store that is not a memory, and why."""

    path: str
    reason: str


class TooManyEntries(Exception):
    """Raised for a folder with more entries than allowed."""


def why_not_read(store: Store) -> str:
    """Return why a store is not read at all; empty if it is read, or does not exist yet.

    A project's store must be inside the project itself. It may belong to another user, as in a container, because only the text of a
    memory is trusted; the user's own store may not.
    """
    if store.worktree and _inside(os.path.realpath(store.worktree)) != os.path.realpath(store.root):
        return "%s is a symbolic link that leads elsewhere; replace it by a folder" % store.root
    try:
        status = os.stat(store.root)
    except OSError as error:
        return "" if isinstance(error, FileNotFoundError) else error_text(error)
    if not modes.S_ISDIR(status.st_mode):
        return "%s is not a folder" % store.root
    if not os.access(store.root, os.R_OK | os.X_OK):
        return "you may not read %s" % store.root
    if store.worktree is None and hasattr(os, "getuid") and status.st_uid != os.getuid():
        return "%s belongs to another user" % store.root
    return ""


def category_folders(store: Store) -> list[tuple[Category, str]]:
    """Return the folders of a store that are read, each with its category."""
    if why_not_read(store):
        return []
    folders = [(category, os.path.join(store.root, category.folder)) for category in categories().values()]
    return [(category, folder) for category, folder in folders if is_read(folder)]


def is_read(folder: str) -> bool:
    """Return whether a category's folder is read: it exists and is neither a link nor a git repository.

    A folder that cannot be examined counts as read; `listing` then raises the error.
    """
    try:
        status = os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return modes.S_ISDIR(status.st_mode) and not os.path.lexists(os.path.join(folder, ".git"))


def listing(folder: str, max_entries: int | None = None) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the JSON files of a folder with their status; links, folders and hidden files are skipped, and all after 200,000 entries.

    Nothing for a missing folder. Raises OSError if it cannot be read, and TooManyEntries if it has more than `max_entries` entries (None:
    no limit).
    """
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for count, entry in enumerate(entries):
            if max_entries is not None and count >= max_entries:
                raise TooManyEntries
            if count >= MAX_FILES:
                return
            if has_memory_name(entry.name) and entry.is_file(follow_symlinks=False):
                try:
                    yield entry.path, entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue


def has_memory_name(name: str) -> bool:
    """Return whether a file in a category's folder may hold a memory."""
    return name.endswith(".json") and not name.startswith(".")


def read_memory(store: Store, category: Category, path: str) -> StoredMemory:
    """Return the memory in a file. Raises InvalidMemory for invalid content, Unreadable or FileNotFoundError for the file."""
    data, status = read_regular(path, MAX_BYTES)
    refuse_many_values(data)
    try:
        parsed = loads(data.decode("utf-8-sig"))
    except ValueError as error:
        if data.startswith(b"<<<<<<< ") or b"\n<<<<<<< " in data:
            raise InvalidMemory("it contains a merge conflict; resolve the conflict") from None
        if isinstance(error, UnicodeDecodeError):
            raise InvalidMemory("not UTF-8") from None
        detail = str(error).removeprefix("not JSON").removeprefix(": ")
        raise InvalidMemory("invalid JSON: %s" % detail if detail else "invalid JSON") from None
    memory = parse_memory(parsed, os.path.basename(path)[: -len(".json")], category)
    return StoredMemory(memory, store, path, stamp(status), digest(data))


def refuse_many_values(data: bytes) -> None:
    """Reject a JSON text of more than MAX_VALUES values before it is parsed. Raises InvalidMemory."""
    # Commas and brackets inside strings are text. Without its escapes, every other piece between quotes is outside strings.
    outside = b"".join(data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    values = sum(map(outside.count, (b",", b"[", b"{")))
    if values > MAX_VALUES:
        raise InvalidMemory("expected at most %d values, got about %d" % (MAX_VALUES, values))


def all_memories(store: Store, problems: list[FileProblem] | None = None) -> Iterator[StoredMemory]:
    """Yield every memory of a store; files that cannot be read are added to `problems`."""
    reported: list[FileProblem] = [] if problems is None else problems
    for category, folder in category_folders(store):
        try:
            files = sorted(path for path, _status in listing(folder))
        except OSError as error:
            reported.append(FileProblem(folder, error.strerror or "cannot be read"))
            continue
        for path in files:
            try:
                yield read_memory(store, category, path)
            except FileNotFoundError:
                continue
            except (InvalidMemory, Unreadable) as error:
                reported.append(FileProblem(path, str(error).removeprefix(path + ": ")))
    if problems is not None:
        problems.extend(skipped_entries(store))


def skipped_entries(store: Store) -> Iterator[FileProblem]:
    """Yield the entries where a memory or its folder should be that are neither: links, pipes, folders, repositories."""
    if why_not_read(store):
        return
    for category in categories().values():
        folder = os.path.join(store.root, category.folder)
        if not is_read(folder):
            if os.path.lexists(folder):
                yield FileProblem(folder, "only a plain folder is read, not a link or a git repository")
            continue
        with suppress(OSError):  # reported by `all_memories`
            for entry in os.scandir(folder):
                if has_memory_name(entry.name) and not entry.is_file(follow_symlinks=False):
                    reason = "a symbolic link" if entry.is_symlink() else "not a regular file"
                    yield FileProblem(entry.path, reason)
