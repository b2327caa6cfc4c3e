"""What is next to a project's store: Claude Code's own notes, which are read but never written, and stores that are not read.

Claude Code keeps Markdown files in a folder whose name is the project's path with a hyphen for every character except letters and digits,
so `/a/b-c` and `/a/b/c` share one. It is read only if a transcript next to it names exactly this project.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from glob import escape, glob
from itertools import chain, islice, takewhile
from typing import NamedTuple

from ..kernel.fastjson import as_text, digest
from ..kernel.files import open_regular, read_regular, stamp
from ..kernel.paths import Paths, main_worktree, project_root
from ..kernel.settings import Settings
from ..kernel.text.clean import inflected
from ..kernel.transcript import parse_row
from .memory_files import has_store, project_store, stores
from .record import categories

_MAX_BYTES = 512 * 1024
_MAX_TRANSCRIPTS = 5
_HEAD_BYTES = 256 * 1024
_MAX_FILES = 2000
_MIN_FILES = 3  # that a project shares with one that is gone; many have a README and one more
STORE = os.path.join(".claude", "memory")
_OTHER = "the memories of {0} are not read: the project is {1}; to use them, start Claude Code in {0}"
_INNER = "the memories in {0} are not read: the project is {1}; to have them here: memory import {2}"
_SIBLING = "the memories in %s are not read: each worktree of a bare repository has its own; commit them"
_SPARSE = "the memories in %s are outside the sparse checkout: git sparse-checkout add .claude/memory"
_LINKED = "%s leads into a working tree; what it holds is shown only as memories that you accepted: memory import %s"
_LINKED_CATEGORY = "the memories in %s are not read, because it is a link; replace it by a folder"
_MOVED = "Claude Code's notes for %s, which is gone, are not read; if it was moved here: memory import %s"
_UNCONFIRMED = "Claude Code has notes in %s, but no session in that folder names this project; the next will"
_NO_LETTER = re.compile(r"[^A-Za-z0-9]")
# Claude Code's list of its own notes.
_INDEX = re.compile(r"(?:[-*] \[[^\]\n]*\]\([\w.-]+\.md\)[^\n]*(?:\n|\Z))+\Z")
_MARKDOWN = "Markdown note in %s is", "Markdown notes in %s are"
_MISPLACED = "JSON file in %s, misplaced or misnamed, is", "JSON files in %s, misplaced or misnamed, are"
_IMPORT_NOTES = " not read; to make memories from notes: memory import %s"
_MAX_WORKTREES = _MAX_STORES = 20


class NativeNote(NamedTuple):
    """One passage of a note file: the text below a heading, or the whole file if it has no headings."""

    key: str
    path: str
    title: str
    body: str
    stamp: str
    digest: str


def native_folders(paths: Paths, *, confirmed: bool = True) -> list[str]:
    """Return the memory folders of this project; they may not exist yet. If `confirmed`, only those that a transcript confirms."""
    if paths.config_dir is None:
        return []
    found = []
    for start in dict.fromkeys([paths.project_root, paths.launch_dir]):
        folder = os.path.join(paths.config_dir, "projects", _NO_LETTER.sub("-", start))
        is_folder = os.path.isdir(folder) and not os.path.islink(folder)
        if is_folder and (not confirmed or paths.project_root in map(project_root, _working_folders(folder))):
            found.append(os.path.join(folder, "memory"))
    return found


def note_folders(paths: Paths, settings: Settings) -> list[str]:
    """Return the folders of this project whose notes are read; none if the user's settings switch that off."""
    return native_folders(paths) if settings.flag("native.enabled") else []


def leads_into_project(folder: str) -> bool:
    """Return whether notes are a link into a working tree, whose texts may come from others: they need a review."""
    real = os.path.realpath(folder)
    return os.path.islink(folder) and os.path.lexists(os.path.join(project_root(real), ".git"))


def _working_folders(folder: str) -> Iterator[str]:
    """Yield the first working folder that each of the newest transcripts in a folder names."""
    for head in _heads(folder):
        rows = filter(None, map(parse_row, head.splitlines()))
        yield from islice(filter(os.path.isabs, (as_text(row.get("cwd")) for row in rows)), 1)


def _heads(folder: str) -> Iterator[bytes]:
    """Yield the beginnings of the newest transcripts in a folder."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".jsonl")]
        names.sort(key=lambda name: os.lstat(os.path.join(folder, name)).st_mtime, reverse=True)
    except OSError:
        return
    for name in names[:_MAX_TRANSCRIPTS]:
        with suppress(OSError), open(os.path.join(folder, name), "rb", opener=open_regular) as handle:
            yield handle.read(_HEAD_BYTES)


def notes_elsewhere(paths: Paths) -> list[str]:
    """Return a sentence for the notes in the user's own store, and for those of a project that was perhaps moved here.

    It has the same name, or most of its files are here.
    """
    found = [line for store in stores(paths)[1:] for line in _unread_files(store.root)]
    unread = [folder for folder in native_folders(paths, confirmed=False) if note_files(folder)]
    if paths.config_dir is None or unread:
        return found + [_UNCONFIRMED % folder for folder in unread if folder not in native_folders(paths)]
    root = paths.project_root
    for folder in sorted(glob(os.path.join(escape(paths.config_dir), "projects", "*"))):
        notes_folder = os.path.join(folder, "memory")
        was = next(_working_folders(folder), "") if note_files(notes_folder) else ""
        is_gone = was != "" and not os.path.lexists(was)
        if is_gone and (os.path.basename(was) == os.path.basename(root) or _has_files_of(folder, was, root)):
            found.append(_MOVED % (was, notes_folder))
    return found[:_MAX_STORES]


def _has_files_of(folder: str, was: str, root: str) -> bool:
    """Return whether most of the files that sessions in a folder that is gone named are in a project: then it was moved there."""
    below = re.compile(re.escape(was + "/") + r"([\w.@/-]+\.\w+)")
    named = {name for head in _heads(folder) for name in below.findall(head.decode("utf-8", "replace"))}
    here = sum(os.path.isfile(os.path.join(root, name)) for name in named)
    return here >= _MIN_FILES and 2 * here > len(named)


def note_files(folder: str) -> list[tuple[str, os.stat_result]]:
    """Return the Markdown files of a memory folder by name, at most 2,000, with their status.

    Links, irregular files and too large ones are left out. Empty if the folder cannot be read, or leads into a working tree.
    """
    if leads_into_project(folder):
        return []
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []
    named = [one for one in entries if one.name.endswith(".md") and one.is_file(follow_symlinks=False)]
    found = []
    for entry in named[:_MAX_FILES]:
        with suppress(OSError):
            found.append((entry.path, entry.stat(follow_symlinks=False)))
    return [(path, status) for path, status in found if status.st_size <= _MAX_BYTES]


def notes(folder: str) -> Iterator[NativeNote]:
    """Yield the passages of all Markdown files in a memory folder; unreadable files are skipped."""
    for path, _ in note_files(folder):
        yield from notes_in(path)


def notes_in(path: str) -> Iterator[NativeNote]:
    """Yield the passages of one Markdown file, none if it cannot be read."""
    try:
        data, status = read_regular(path, _MAX_BYTES)
    except OSError:
        return
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    for number, (title, body) in enumerate(_passages(os.path.basename(path), text)):
        if not _INDEX.match(body):
            yield NativeNote("native:%s#%d" % (path, number), path, title, body, stamp(status), digest(data))


def _passages(name: str, text: str) -> list[tuple[str, str]]:
    # Compile many patterns; most refreshes read no note.
    from .import_facts import front_matter
    from .markdown import sections

    fields, rest = front_matter(text)
    titles = (fields.get(field) for field in ("description", "title", "name"))
    title = next((title for title in titles if title and isinstance(title, str)), os.path.splitext(name)[0])
    return [(part.heading or title, part.text.strip()) for part in sections(rest) if part.text.strip()]


def unread_nearby(paths: Paths) -> list[str]:
    """Return a sentence for each store above, below or beside the project's that is not read, and for what its own does not read."""
    from .repository import git  # most callers only read the notes

    root, launch = paths.project_root, paths.launch_dir
    users = "" if paths.config_dir is None else os.path.realpath(paths.config_dir)

    def is_other(folder: str) -> bool:
        return has_store(folder) and os.path.join(folder, ".claude") != users

    found = [_OTHER.format(folder, root) for folder in filter(is_other, _upward(os.path.dirname(root)))]
    is_inside = launch.startswith(root.rstrip(os.sep) + os.sep)
    # In a home folder, looking into its folders makes macOS ask the user whether it may.
    stores_below = [] if os.path.dirname(users) == root else _stores_below(root)
    below = dict.fromkeys([*(takewhile(root.__ne__, _upward(launch)) if is_inside else ()), *stores_below])
    for folder in (one for one in filter(is_other, below) if main_worktree(one) != root):
        text = _OTHER if project_root(folder) == folder else _INNER
        found.append(text.format(folder, root, os.path.join(folder, STORE)))
    if not has_store(project_store(paths).worktree or root):
        found += [_SIBLING % folder for folder in _worktrees(root) if has_store(folder)]
        found += [_SPARSE % root] * git(root, "ls-files", "-t", "--", ".claude/memory").startswith("S ")
    for folder in native_folders(paths, confirmed=False):
        links = filter(leads_into_project, [folder, *sorted(glob(os.path.join(escape(folder), "*.md")))])
        found += [_LINKED % (link, os.path.realpath(link)) for link in links]
    folders = (os.path.join(project_store(paths).root, one.folder) for one in categories().values())
    found += map(_LINKED_CATEGORY.__mod__, filter(os.path.islink, folders))
    return found + list(_unread_files(project_store(paths).root))


def _upward(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, except the root of the file system."""
    while os.path.dirname(folder) != folder:
        yield folder
        folder = os.path.dirname(folder)


def _worktrees(root: str) -> list[str]:
    """Return the other worktrees of a bare repository."""
    from .repository import git  # most callers only read the notes

    fields = [line.partition(" ") for line in git(root, "worktree", "list", "--porcelain").split("\n")]
    folders = [value for name, _, value in fields if name == "worktree" and os.path.realpath(value) != root]
    return folders[:_MAX_WORKTREES] if ("bare", "", "") in fields else []


def _stores_below(root: str) -> list[str]:
    """Return the folders below a project, such as packages and clones, with a store that git knows or that is at most two folders down."""
    from .repository import git  # most callers only read the notes

    inner = "/.claude/memory/"
    listed = git(root, "ls-files", "-z", "--", ":(glob)**/.claude/memory/*/*.json").split("\0")
    found = {os.path.join(root, name.partition(inner)[0]) for name in listed if inner in name}
    near = (glob(os.path.join(escape(root), depth, STORE)) for depth in ("*", "*/*"))
    return sorted(found.union(path[: -len(STORE) - 1] for path in chain(*near)))[:_MAX_STORES]


def _unread_files(store: str) -> Iterator[str]:
    """Yield a line about the Markdown files in a store, and one about JSON files in none of its categories' folders."""
    from .writing import own_index  # most callers only read the notes

    read = {os.path.join(store, category.folder) for category in categories().values()}
    markdown = misplaced = 0
    for folder, folders, names in os.walk(store):
        folders[:] = [name for name in folders if not name.startswith(".")]
        is_own = folder == store and own_index(os.path.join(store, "index.md")) is not None
        markdown += sum(name.endswith(".md") and not (is_own and name == "index.md") for name in names)
        misplaced += sum(name.endswith(".JSON" if folder in read else (".json", ".JSON")) for name in names)
    for number, words in ((markdown, _MARKDOWN), (misplaced, _MISPLACED)):
        if number:
            yield (inflected(number, *words) + _IMPORT_NOTES) % (store, store)
