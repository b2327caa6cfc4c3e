"""Stores and notes next to a project's store that are not read, each as one sentence with the reason and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from ..kernel.paths import Paths, git_folder
from .claude_notes import leads_into_project, native_folders
from .memory_files import project_store
from .record import categories
from .writing import is_own_index

_STORE = os.path.join(".claude", "memory")
_OUTER = (
    "the memories of %s are not read, because %s is a project of its own; start Claude Code there to use them"
)
_INNER = "the memories in %s are not read, because the project is %s; to have them here: memory import %s"
_SIBLING = (
    "the memories in %s are not read, because each worktree of a bare repository has its own; commit them"
)
_LINKED = "%s leads into a working tree, so its notes are shown only as memories that you accepted: memory import %s"
_NOTES = "%s in %s is a Markdown note and no memory; to make memories of it: memory import %s"
_MANY_NOTES = "%d Markdown notes in %s are no memories; to make memories of them: memory import %s"
_MAX_WORKTREES = 20


def unread_nearby(paths: Paths) -> list[str]:
    """Return a sentence for each store above, below or beside the project's that is not read, and for Markdown in its own."""
    root, launch = paths.project_root, paths.launch_dir
    found = [_OUTER % (folder, root) for folder in _above(os.path.dirname(root), paths) if has_store(folder)]
    inside = launch.startswith(root.rstrip(os.sep) + os.sep)
    below = _folders_between(launch, root) if inside else ()
    found += [_INNER % (folder, root, os.path.join(folder, _STORE)) for folder in below if has_store(folder)]
    if not has_store(project_store(paths).worktree or root):
        found += [_SIBLING % folder for folder in _worktrees(root) if has_store(folder)]
    links = [folder for folder in native_folders(paths, confirmed=False) if leads_into_project(folder)]
    found += [_LINKED % (folder, os.path.realpath(folder)) for folder in links]
    return found + list(_markdown(project_store(paths).root))


def has_store(root: str) -> bool:
    """Return whether a folder has a store with at least one category's folder."""
    store = os.path.join(root, _STORE)
    return os.path.isdir(store) and any(
        os.path.isdir(os.path.join(store, category.folder)) for category in categories().values()
    )


def _above(folder: str, paths: Paths) -> Iterator[str]:
    """Yield a folder and those above it, except the one whose `.claude` is the user's."""
    while os.path.dirname(folder) != folder:
        if paths.config_dir is None or os.path.join(folder, ".claude") != os.path.realpath(paths.config_dir):
            yield folder
        folder = os.path.dirname(folder)


def _folders_between(low: str, high: str) -> Iterator[str]:
    while low != high:
        yield low
        low = os.path.dirname(low)


def _worktrees(root: str) -> Iterator[str]:
    """Yield the other worktrees of a repository without a main one."""
    own = git_folder(root)
    above = os.path.dirname(own) if own else ""
    if os.path.basename(above) != "worktrees":
        return
    with suppress(OSError):
        for name in sorted(os.listdir(above))[:_MAX_WORKTREES]:
            with (
                suppress(OSError, ValueError),
                open(os.path.join(above, name, "gitdir"), encoding="utf-8") as file,
            ):
                folder = os.path.dirname(file.read(4096).strip())
                if os.path.isabs(folder) and os.path.realpath(folder) != root:
                    yield folder


def _markdown(store: str) -> Iterator[str]:
    try:
        names = sorted(name for name in os.listdir(store) if name.endswith(".md"))
    except OSError:
        return
    names = [name for name in names if name != "index.md" or not is_own_index(os.path.join(store, name))]
    if names[1:]:
        yield _MANY_NOTES % (len(names), store, store)
    elif names:
        yield _NOTES % (names[0], store, store)
