"""What is wrong with the memories of a store, by the files alone."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple
from unicodedata import normalize

from ..kernel.files import read_regular
from ..kernel.hygiene import findings
from ..kernel.text.clean import plain
from ..memories import record
from ..memories.guard_file import files_problem
from ..memories.hygiene import shown_line
from ..memories.memory_files import (
    PROJECT,
    USER,
    FileProblem,
    Store,
    StoredMemory,
    all_memories,
    why_not_read,
)
from ..memories.relations import named_keys
from ..memories.repository import gone_files

_MAX_REASON = 300
_MAX_SHOWN = 80
GONE = "gone"  # the rule of files that a memory names and that are gone, which stops no commit
NOTED = (GONE, "duplicate", "dangling")  # rules of what recall can handle
_INSIDE = os.path.join(".claude", "memory")
_LISTS = {
    "tags": record.MAX_LISTED,
    "related_files": record.MAX_LISTED,
    "asked_as": record.MAX_ASKED_AS,
    "supersedes": record.MAX_SUPERSEDES,
}


class StoreFinding(NamedTuple):
    """A problem: its file, line (0 for the whole file), the rule's id, and how to fix it."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        """Return `path:line: rule: text`."""
        place = "%s:%d" % (self.path, self.line) if self.line else self.path
        return "%s: %s: %s" % (place, self.rule, self.text)


def store_around(path: str) -> Store | None:
    """Return the store in this folder, or the one that contains the path; None if there is none."""
    path = os.path.abspath(path)
    root, inside, _ = (path + os.sep).partition(os.sep + _INSIDE + os.sep)
    if os.path.isdir(os.path.join(path, _INSIDE)):
        root, inside = path, _INSIDE
    return Store(PROJECT, os.path.join(root, _INSIDE), root) if inside else None


def check_store(store: Store) -> tuple[int, list[StoreFinding]]:
    """Return the number of memories in a store, and the problems, sorted by path."""
    reason = why_not_read(store)
    if reason:
        return 0, [StoreFinding(store.root, 0, "store", reason)]
    problems: list[FileProblem] = []
    memories = list(all_memories(store, problems))
    return len(memories), sorted([*file_findings(problems), *check_memories(memories, [store.root])])


def file_findings(problems: list[FileProblem]) -> list[StoreFinding]:
    """Return a finding for each file that is not a memory."""
    return [StoreFinding(one.path, 0, "file", plain(one.reason, _MAX_REASON)) for one in problems]


def check_memories(memories: list[StoredMemory], roots: list[str]) -> list[StoreFinding]:
    """Return the problems of memories, and the secrets in the folders of their stores."""
    found = [StoreFinding(one.path, 0, *problem) for one in memories for problem in _problems(one)]
    gone = gone_files(memories)
    found += [StoreFinding(one.stored.path, 0, GONE, shown_line(str(one), _MAX_REASON)) for one in gone]
    return [*found, *_secrets(roots), *_duplicates(memories), *_dangling(memories)]


def _problems(stored: StoredMemory) -> Iterator[tuple[str, str]]:
    """Yield the rule and the text of each problem of one memory."""
    memory = stored.memory
    for text in _format_problems(memory):
        yield "format", text
    for file in memory.files:
        if problem := files_problem(file):
            yield "files", "related_files: %s: %s" % (shown_line(file), problem)
    visible = " ".join(normalize("NFC", memory.title).split())
    if plain(memory.title, len(visible) + 1) != visible:
        text = "the title contains hidden characters, which are never displayed: memory edit %s --title ..."
        yield "hidden", text % memory.id
    if expiry := record.unreadable_expiry(memory):
        text = "expires_at: expected YYYY-MM-DD, got %s, which is ignored: memory edit %s --expires DATE"
        yield "expiry", text % (shown_line(expiry[:_MAX_SHOWN]), memory.id)
    if problem := record.guard_problem(memory):
        yield "guard", shown_line(problem)


def _format_problems(memory: record.Memory) -> Iterator[str]:
    if len(memory.title) > record.MAX_TITLE:
        yield "title: expected at most %d characters, got %d" % (record.MAX_TITLE, len(memory.title))
    if "\n" in memory.title:
        yield "title: expected one line"
    for name, max_items in _LISTS.items():
        value = memory.data.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            yield "%s: expected a list of texts" % name
        elif len(value) > max_items:
            yield "%s: expected at most %d, got %d" % (name, max_items, len(value))
    for name in ("created_at", "updated_at", "expires_at", "superseded_by", "record_status"):
        if not isinstance(memory.data.get(name, ""), (str, type(None))):
            yield "%s: expected a text" % name
    if not record.body_text(memory):
        yield "content: expected a text, got nothing"


def _secrets(roots: list[str]) -> Iterator[StoreFinding]:
    scan = scan_paths(roots)
    text = "%s: a secret; replace it wherever it is used, and remove it: memory check secrets --fix"
    for place in scan.places:
        yield StoreFinding(place.path, place.line, "secret", text % place.rule)
    for reason in scan.unread:
        yield StoreFinding(roots[0], 0, "file", plain(reason, _MAX_REASON))


def _duplicates(memories: list[StoredMemory]) -> Iterator[StoreFinding]:
    """Report each active memory that has the title or the text of an earlier one."""
    seen: dict[tuple[str, str], StoredMemory] = {}
    for stored in sorted(memories, key=lambda memory: (memory.memory.created_at, memory.key)):
        memory = stored.memory
        if memory.status != record.ACTIVE or memory.superseded_by:
            continue
        body = " ".join(record.body_text(memory).split())
        same = {"title": " ".join(memory.title.casefold().split()), "text": body}
        for field, value in same.items():
            first = seen.setdefault((field, value), stored)
            if value and first is not stored:
                older, newer = ("%s/%s" % (one.category, one.id) for one in (first.memory, memory))
                text = "it has the same %s as %s; keep one of them: memory edit %s --superseded-by %s"
                yield StoreFinding(stored.path, 0, "duplicate", text % (field, older, older, newer))
                break


def _dangling(memories: list[StoredMemory]) -> Iterator[StoreFinding]:
    """Report names of memories that do not exist, except in the user's own store, which is not in the repository."""
    keys = {stored.key for stored in memories}
    text = "%s: no memory is called %s; remove the name, or bring the memory back"
    for stored in memories:
        links = [("superseded_by", stored.memory.superseded_by)]
        links += [("supersedes", name) for name in stored.memory.supersedes]
        for field, name in links:
            is_checked = name and not name.startswith(USER + ":")
            if is_checked and not keys.intersection(named_keys(name, stored.key)):
                shown = shown_line(name[:_MAX_SHOWN])
                yield StoreFinding(stored.path, 0, "dangling", text % (field, shown))


MAX_BYTES = 5_000_000
_HEAD = 8192
_REPORT_EVERY = 50
_SKIPPED_FOLDERS = frozenset([".git"])


class Place(NamedTuple):
    """The location of a finding; `line` counts from 1."""

    path: str
    line: int
    kind: str
    rule: str


class Scan:
    """The findings of a scan and the number of files read.

    `unread` names the files that could not be read, and `skipped` counts binary or large ones.
    """

    def __init__(self, personal: bool = False) -> None:
        self.personal = personal
        self.places: list[Place] = []
        self.unread: list[str] = []
        self.files = 0
        self.skipped = 0

    def read_file(self, path: str) -> None:
        """Scan one file; skip it if it is binary or larger than 5 MB."""
        try:
            is_large = os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) > MAX_BYTES
            text = None if is_large else _decoded(read_regular(path, MAX_BYTES)[0])
        except OSError as error:
            self.unread.append(str(error))
            return
        if text is None:
            self.skipped += 1
            return
        self.files += 1
        self.places.extend(self._in_text(path, text))

    def _in_text(self, path: str, text: str) -> Iterator[Place]:
        line, counted = 1, 0
        for finding in findings(text):
            line += text.count("\n", counted, finding.start)
            counted = finding.start
            if self.personal or finding.action != "allow":
                yield Place(path, line, finding.kind, finding.rule)


def _decoded(data: bytes) -> str | None:
    """Return the text of a file; None for binary data."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return None if b"\0" in data[:_HEAD] else data.decode("utf-8", "replace")


def scan_paths(
    paths: list[str], personal: bool = False, progress: Callable[[int, int], None] | None = None
) -> Scan:
    """Scan files and folders, without following links; `progress` gets the number of files read, and of all.

    `personal` also reports what memories may contain, such as e-mail addresses.
    """
    scan = Scan(personal)
    files = [file for path in paths for file in _files_below(path)]
    for number, file in enumerate(files):
        scan.read_file(file)
        if progress is not None and number % _REPORT_EVERY == 0:
            progress(number, len(files))
    return scan


def _files_below(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
    for parent, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for file in (os.path.join(parent, name) for name in sorted(names)):
            if os.path.isfile(file) and not os.path.islink(file):
                yield file
