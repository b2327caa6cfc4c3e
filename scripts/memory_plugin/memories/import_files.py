"""Choose the files of a folder that an import reads: notes, rules and records, and neither indexes, templates nor the text of others."""

from __future__ import annotations

import os
import re

from .markdown import form, table
from .memory_files import has_memory_name
from .record import categories
from .writing import is_own_index

_STORE = os.path.join(".claude", "memory")
_OF_GITHUB = re.compile(r"copilot-instructions\.md|.*\.instructions\.md|AGENTS\.md")
_IGNORED = ("git", "-c", "core.fsmonitor=false", "ls-files", "-oi", "--exclude-standard", "--directory", "-z")
_GIT_SECONDS = 10
INDEX = "an index, a history or a list of things to do, not a note"
_OWN_PROJECT, _NOT_OURS = "a project of its own", "ignored by git, or text of others"
_OVER, _PROMPTS = "kept for history; to import it, name it", "prompts and skills, not rules"


def is_named(path: str, kind: str) -> bool:
    """Return whether a file or folder has one of the names in `files` of `config/memories/importing.json`."""
    return os.path.basename(path) in table()["files"][kind]


def own_folder(path: str, root: str) -> list[str]:
    """Return the folder to which an instruction file in a subfolder applies; empty for one in the project's root."""
    folder = os.path.relpath(os.path.dirname(path), root) if root else ""
    outside = folder in ("", ".") or folder.startswith(("..", "."))
    return [folder.replace(os.sep, "/") + "/"] if not outside and is_named(path, "instructions") else []


def stored_files(folder: str) -> list[tuple[str, str]]:
    """Return the files of a store, or of a project with one: its memories with their categories, then notes next to them; else nothing."""
    inside = os.path.join(folder, _STORE)
    store = inside if os.path.isdir(inside) else folder
    folders = [(kind.name, os.path.join(store, kind.folder)) for kind in categories().values()]
    present = [
        (kind, at, name) for kind, at in folders if os.path.isdir(at) for name in sorted(os.listdir(at))
    ]
    memories = [(os.path.join(at, name), kind) for kind, at, name in present if has_memory_name(name)]
    notes = [os.path.join(store, name) for name in sorted(os.listdir(store)) if name.endswith(".md")]
    own = [path for path in notes if os.path.basename(path) == "index.md" and is_own_index(path)]
    return [*memories, *((path, "") for path in notes if path not in own)] if memories else []


def files_below(folder: str, ends: tuple[str, ...], left_out: list[tuple[str, str]]) -> list[str]:
    """Return the files below a folder with one of these endings, in order; what is skipped is added to `left_out` with the reason."""
    found, ignored = list[str](), _ignored(folder)
    for above, folders, names in os.walk(folder):
        reasons = {name: _why_closed(os.path.join(above, name), folder, ignored) for name in sorted(folders)}
        folders[:] = [name for name, reason in reasons.items() if reason is None]
        left_out += [(os.path.join(above, name), reason) for name, reason in reasons.items() if reason]
        of_github = ".github" in os.path.relpath(above, os.path.dirname(folder)).split(os.sep)
        for name in sorted(names):
            path = os.path.join(above, name)
            is_read = is_named(path, "rules") or (name.lower().endswith(ends) and not name.startswith("."))
            if is_read and form("index").fullmatch(name):
                left_out.append((path, INDEX))
            elif is_read and (not of_github or _OF_GITHUB.fullmatch(name)):
                found.append(path)
    return found


def _why_closed(path: str, top: str, ignored: set[str]) -> str | None:
    """Return why a folder is not read, empty if nobody would expect it; None for one that is."""
    name, is_ours = os.path.basename(path), is_named(path, "rule_folders")
    if path == os.path.join(top, _STORE) or (name.startswith(".") and not is_ours):
        return ""
    if os.path.lexists(os.path.join(path, ".git")):
        return _OWN_PROJECT
    if is_named(path.lower(), "over"):
        return _OVER
    if is_named(os.path.dirname(path), "rule_folders") and is_named(path, "prompts"):
        return _PROMPTS
    return _NOT_OURS if is_named(path, "others") or (path in ignored and not is_ours) else None


def _ignored(folder: str) -> set[str]:
    """Return the folders that git ignores; empty without git."""
    from subprocess import DEVNULL, SubprocessError, run

    try:
        git = run(_IGNORED, cwd=folder, stdin=DEVNULL, capture_output=True, timeout=_GIT_SECONDS, check=True)
    except (OSError, SubprocessError):
        return set()
    names = os.fsdecode(git.stdout).split("\0")
    return {os.path.join(folder, name.rstrip("/")) for name in names if name}
