"""What awaits the user's decision: an entry of a review, and the pending memories as entries, with their origin, text and changes.

The commit that added a memory's file, and its author, are shown and never used to decide: anyone can put any name into a commit. Git is
run once, in a way that cannot start a program the repository chose: no hook, pager, filter, file system monitor, signature check, or
download.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha1, sha256
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer
from typing import NamedTuple

from ..kernel.files import read_regular
from ..memories import InvalidMemory
from ..memories.hygiene import shown_line
from ..memories.lifecycle import rewrite
from ..memories.memory_files import MAX_BYTES, Store, StoredMemory
from ..memories.memory_text import TEXT, TITLE, FieldChange, changes, shown_fields, text_digests
from ..memories.record import Memory, categories, parse_memory
from ..memories.survey import CHANGED, PHRASES, Item, shortest_names
from ..memories.trust import Trust, load_trust
from .command_context import CommandContext
from .memory_input import edited_draft
from .memory_view import as_json, holds_guard, redaction_lines

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
_MAX_FIRST_LINE = 100


class Action(NamedTuple):
    """An action on an entry: the key that the user presses, and its name in JSON output."""

    key: str
    name: str


ACCEPT, REJECT, EDIT = Action("y", "accept"), Action("n", "reject"), Action("e", "edit")


class ReviewEntry(NamedTuple):
    """A memory or candidate that awaits a decision.

    Commands take its `id`. `first_line` is the beginning of its text, and `version` a digest of exactly what is shown, so that no decision
    applies to a later text. `note` is shown next to the title in lists. `origin` is the title of the entry's group. An entry that is
    `alone` is never decided together with others.
    """

    id: str
    kind: str
    version: str
    title: str
    first_line: str
    note: str
    origin: str
    actions: tuple[Action, ...]
    alone: bool


class ReviewOutcome(NamedTuple):
    """The result of an action: whether the entries are now decided, and lines to print."""

    is_decided: bool
    lines: list[str]


class PendingEntries:
    """The pending memories of the current stores, read once."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._items: dict[str, Item] = {}
        self._commits: dict[str, ClaimedCommit] = {}
        self._entries: list[ReviewEntry] = []
        self._trust: Trust | None = None
        # By the key of the memory: each text is redacted once.
        self._fields: dict[str, dict[str, list[str]]] = {}
        self._changes: dict[str, list[FieldChange]] = {}
        self._read()

    def _read(self) -> None:
        items = self._context.survey().items
        names = shortest_names(items)
        pending = [item for item in items if item.waits]
        self._items = {names[item.stored.key]: item for item in pending}
        for store in dict.fromkeys(item.stored.store for item in pending):
            paths = [item.stored.path for item in pending if item.stored.store == store]
            self._commits.update(claimed_commits(store, paths))
        self._entries = [self._entry(name, item) for name, item in self._items.items()]

    def _entry(self, name: str, item: Item) -> ReviewEntry:
        stored = item.stored
        return ReviewEntry(
            id=name,
            kind="memory",
            version=text_digests(stored.memory).full,
            title=shown_line(stored.memory.title),
            first_line=self._fields_of(item).get(TEXT, [""])[0][:_MAX_FIRST_LINE],
            note=self._note(item),
            origin=self._origin(item),
            actions=(ACCEPT, REJECT, EDIT),
            alone=holds_guard(stored),
        )

    def _note(self, item: Item) -> str:
        """Return what a title does not show: which fields changed, and what the memory replaces."""
        memory = item.stored.memory
        fields = ", ".join(change.field for change in self._changes_of(item))
        names = ", ".join(map(shown_line, memory.supersedes))
        notes = ["changed: " + fields] if fields else []
        return "; ".join([*notes, "replaces " + names] if names else notes)

    def _origin(self, item: Item) -> str:
        """Return the title of the memory's group: whether it is new or changed, and who is said to have written it."""
        kind = "changed" if item.reason in (CHANGED, PHRASES) else "new"
        commit = self._commits.get(item.stored.path)
        if commit:
            return "%s, said to be by %s" % (kind, commit.author)
        return kind + (", in your own store" if item.stored.store.worktree is None else ", in no commit")

    def entries(self) -> list[ReviewEntry]:
        """Return the pending memories."""
        return list(self._entries)

    def lines(self, entry: ReviewEntry) -> list[str]:
        """Return the memory's origin, then its text, or the changes since it was last trusted."""
        item = self._items[entry.id]
        commit = self._commits.get(item.stored.path)
        at = " (commit %s of %s)" % (commit.commit, commit.date) if commit else ""
        head = ["%s, %s%s: %s" % (item.stored.memory.category, entry.origin, at, item.reason), ""]
        lines = []
        for change in self._changes_of(item):
            lines += [change.field + ":", *_indented(change.lines)]
        return [*head, *(lines or _text_lines(self._fields_of(item)))]

    def facts(self, entry: ReviewEntry) -> dict[str, object]:
        """Return the memory and its changes as JSON data."""
        item = self._items[entry.id]
        commit = self._commits.get(item.stored.path)
        return {
            "memory": {**as_json(item), "fields": self._fields_of(item)},
            "changes": [change._asdict() for change in self._changes_of(item)],
            "claimed_commit": commit._asdict() if commit else None,
        }

    def apply(self, action: Action, entries: Sequence[ReviewEntry]) -> ReviewOutcome:
        """Accept, reject or edit exactly the texts that were listed."""
        chosen = [self._items[entry.id].stored for entry in entries]
        if action == EDIT:
            return self._edit(chosen[0])
        trust = load_trust(self._context.paths)
        if action == ACCEPT:
            trust.accept(chosen, "accept")
        else:
            trust.reject(*chosen)
        return ReviewOutcome(True, [])

    def _edit(self, stored: StoredMemory) -> ReviewOutcome:
        """Open a memory in the user's editor and store their edit, which is trusted."""
        draft = edited_draft(self._context, stored)
        if draft is None:
            return ReviewOutcome(False, ["nothing changed; it is still pending"])
        with draft.storing() as data:
            written = rewrite(self._context.paths, stored, data, "edited by hand", approved=True)
        return ReviewOutcome(True, redaction_lines(written))

    def _fields_of(self, item: Item) -> dict[str, list[str]]:
        key = item.stored.key
        if key not in self._fields:
            self._fields[key] = shown_fields(item.stored.memory)
        return self._fields[key]

    def _changes_of(self, item: Item) -> list[FieldChange]:
        """Return what changed since the memory was last trusted; nothing for one that never was."""
        key = item.stored.key
        if key not in self._changes:
            old = self._last_trusted(item)
            self._changes[key] = changes(shown_fields(old), self._fields_of(item)) if old else []
        return self._changes[key]

    def _last_trusted(self, item: Item) -> Memory | None:
        self._trust = self._trust or load_trust(self._context.paths)
        data = self._trust.last_trusted(item.stored) if item.reason in (CHANGED, PHRASES) else None
        if data is None:
            return None
        try:
            memory = item.stored.memory
            return parse_memory(data, memory.id, categories()[memory.category])
        except InvalidMemory:
            return None


def _text_lines(fields: dict[str, list[str]]) -> list[str]:
    """Return the memory's text, indented, then its other fields: `name: value` if it has one line, else indented below its name."""
    lines = [TEXT + ":", *_indented(fields.get(TEXT, []))]
    for name, text in fields.items():
        if name in (TITLE, TEXT):  # the heading shows the title
            continue
        lines += ["%s: %s" % (name, text[0])] if len(text) == 1 else [name + ":", *_indented(text)]
    return lines


def _indented(lines: list[str]) -> list[str]:
    return ["  " + line for line in lines]


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
    if git is None or not os.path.isdir(store.root):
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
    with process, suppress(OSError):
        assert process.stdout is not None
        output = process.stdout.read(_MAX_OUTPUT)
        process.kill()
        timer.cancel()
        return output.decode("utf-8", "replace")
    return ""


def _blob_id(path: str, like: str) -> str:
    """Return git's blob id for a file's content, using the same hash function as `like`."""
    try:
        data = read_regular(path, MAX_BYTES)[0]
    except OSError:
        return ""
    hashed = sha256() if len(like) == 64 else sha1(usedforsecurity=False)
    hashed.update(b"blob %d\0" % len(data) + data)
    return hashed.hexdigest()
