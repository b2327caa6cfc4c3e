"""The stores of memories: the project's, the user's own, and the memory that Claude Code itself keeps."""

from __future__ import annotations

import os
from typing import NamedTuple

from ..kernel.fastjson import digest
from ..kernel.paths import Paths, main_worktree
from .record import categories

PROJECT, USER = "project", "user"


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
    if main is not None and not os.path.isdir(_inside(root)) and os.path.isdir(_inside(main)):
        root = main
    return Store(PROJECT, _inside(root), root)


def _inside(root: str) -> str:
    return os.path.join(root, ".claude", "memory")


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
    """Return the store of that scope. Raises RuntimeError for the user's store without a config folder."""
    if scope == PROJECT:
        return project_store(paths)
    user = user_store(paths)
    if user is None:
        raise RuntimeError(paths.why_no_state)
    return user
