"""What is wrong with the memories of a store, by the files alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
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
_MAX_BYTES = 5_000_000  # of a file in a store
GONE = "gone"  # the rule of files that a memory names and that are gone, which stops no commit
NOTED = (GONE, "duplicate", "dangling", "circle")  # rules of what recall can handle
_CIRCLE = "it and others replace each other, so none of them is shown; to show this one: memory restore %s"
_INSIDE = os.path.join(".claude", "memory")


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
    return len(memories), sorted({*file_findings(problems), *check_memories(memories, [store.root])})


def file_findings(problems: list[FileProblem]) -> list[StoreFinding]:
    """Return a finding for each file that is not a memory."""
    return [StoreFinding(one.path, 0, "file", plain(one.reason, _MAX_REASON)) for one in problems]


def check_memories(memories: list[StoredMemory], roots: list[str]) -> list[StoreFinding]:
    """Return the problems of memories, and the secrets in the folders of their stores."""
    found = [StoreFinding(one.path, 0, *problem) for one in memories for problem in _problems(one)]
    gone = gone_files(memories)
    found += [StoreFinding(one.stored.path, 0, GONE, shown_line(str(one), _MAX_REASON)) for one in gone]
    return [*found, *secrets_in(roots), *_duplicates(memories), *_dangling(memories)]


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
    yield from filter(None, (record.list_problem(memory.data, name) for name in record.LISTS))
    for name in ("created_at", "updated_at", "expires_at", "superseded_by", "record_status"):
        if not isinstance(memory.data.get(name, ""), (str, type(None))):
            yield "%s: expected a text" % name
    if not record.body_text(memory):
        yield "content: expected a text, got nothing"


def secrets_in(roots: Iterable[str]) -> Iterator[StoreFinding]:
    """Yield the secrets in the files of stores, and the files that cannot be read; links are not followed."""
    text = "%s: a secret; replace it wherever it is used, and remove it: memory check secrets --fix"
    for path in chain.from_iterable(map(_files_below, roots)):
        try:
            content = read_regular(path, _MAX_BYTES)[0].decode("utf-8", "replace")
        except OSError as error:
            yield StoreFinding(path, 0, "file", plain(str(error).removeprefix(path + ": "), _MAX_REASON))
            continue
        for finding in findings(content):
            if finding.action != "allow":
                line = content.count("\n", 0, finding.start) + 1
                yield StoreFinding(path, line, "secret", text % finding.rule)


def _files_below(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted({*folders} - {".git"})
        for path in (os.path.join(folder, name) for name in sorted(names)):
            if os.path.isfile(path) and not os.path.islink(path):
                yield path


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
            if value and first is not stored and first.memory.id not in memory.supersedes:
                older, newer = ("%s/%s" % (one.category, one.id) for one in (first.memory, memory))
                text = "it has the same %s as %s; keep one of them: memory edit %s --superseded-by %s"
                yield StoreFinding(stored.path, 0, "duplicate", text % (field, older, older, newer))
                break


def _dangling(memories: list[StoredMemory]) -> Iterator[StoreFinding]:
    """Report names of memories that do not exist, except in the user's own store, which is not in the repository; and circles."""
    keys = {stored.key for stored in memories}
    text = "%s: no memory is called %s; remove the name, or bring the memory back"
    successors: dict[str, set[str]] = {}
    for stored in memories:
        links = [("superseded_by", stored.memory.superseded_by)]
        links += [("supersedes", name) for name in stored.memory.supersedes]
        for field, name in links:
            meant = next(filter(keys.__contains__, named_keys(name, stored.key)), "") if name else ""
            old, new = (stored.key, meant) if field == "superseded_by" else (meant, stored.key)
            if meant and old != new:
                successors.setdefault(old, set()).add(new)
            elif name and not meant and not name.startswith(USER + ":"):
                shown = shown_line(name[:_MAX_SHOWN])
                yield StoreFinding(stored.path, 0, "dangling", text % (field, shown))
    for stored in memories:
        if _leads_back(stored.key, successors):
            yield StoreFinding(stored.path, 0, "circle", _CIRCLE % stored.memory.id)


def _leads_back(key: str, successors: dict[str, set[str]]) -> bool:
    """Return whether a memory is among its own successors."""
    reached, due = set[str](), [key]
    while due:
        new = successors.get(due.pop(), set()) - reached
        reached |= new
        due += new
    return key in reached
