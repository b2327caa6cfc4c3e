"""What awaits the user's decision: an entry of a review, and the pending memories as entries, with their origin, text and changes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from ..memories import InvalidMemory
from ..memories.hygiene import shown_line
from ..memories.lifecycle import rewrite
from ..memories.memory_files import StoredMemory
from ..memories.memory_text import TEXT, TITLE, FieldChange, changes, shown_fields, text_digests
from ..memories.record import Memory, categories, parse_memory
from ..memories.survey import CHANGED, PHRASES, Item, shortest_names
from ..memories.trust import Trust, load_trust
from .claimed_commits import ClaimedCommit, claimed_commits
from .command_context import CommandContext
from .memory_input import edited_draft
from .memory_view import as_json, holds_guard, redaction_lines

BY = ("author", "commit", "folder", "change")


class Action(NamedTuple):
    """An action on an entry: the key that the user presses, and its name in JSON output."""

    key: str
    name: str


ACCEPT, REJECT, EDIT = Action("y", "accept"), Action("n", "reject"), Action("e", "edit")


class ReviewEntry(NamedTuple):
    """A memory or candidate that awaits a decision.

    Commands take its `id`. `first_line` is the beginning of its text, and `version` a digest of exactly what is shown, so that no decision
    applies to a later text. `note` is shown next to the title in lists. `origin` maps each of `BY` to the title of the entry's group. An
    entry that is `alone` is never decided together with others.
    """

    id: str
    kind: str
    version: str
    title: str
    first_line: str
    note: str
    origin: dict[str, str]
    actions: tuple[Action, ...]
    alone: bool


class ReviewOutcome(NamedTuple):
    """The result of an action: whether the entries are now decided, and lines to print."""

    is_decided: bool
    lines: list[str]


_KIND = "memory"
_ACTIONS = (ACCEPT, REJECT, EDIT)
_UNCOMMITTED = "in no commit"
_MAX_FIRST_LINE = 100
_OWN_STORE = "in your own store"


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
            kind=_KIND,
            version=text_digests(stored.memory).full,
            title=shown_line(stored.memory.title),
            first_line=self._fields_of(item).get(TEXT, [""])[0][:_MAX_FIRST_LINE],
            note=self._note(item),
            origin=self._origin(item),
            actions=_ACTIONS,
            alone=holds_guard(stored),
        )

    def _note(self, item: Item) -> str:
        """Return what a title does not show: which fields changed, and what the memory replaces."""
        memory = item.stored.memory
        fields = ", ".join(change.field for change in self._changes_of(item))
        names = ", ".join(map(shown_line, memory.supersedes))
        notes = ["changed: " + fields] if fields else []
        return "; ".join([*notes, "replaces " + names] if names else notes)

    def _origin(self, item: Item) -> dict[str, str]:
        """Return the name of the memory's group for each way of grouping."""
        stored = item.stored
        kind = "changed" if item.reason in (CHANGED, PHRASES) else "new"
        commit = self._commits.get(stored.path)
        outside = _OWN_STORE if stored.store.worktree is None else _UNCOMMITTED
        by = "said to be by %s" % commit.author if commit else outside
        at = "commit %s of %s, %s" % (commit.commit, commit.date, by) if commit else outside
        folder = os.path.basename(os.path.dirname(stored.path))
        return {
            "author": "%s, %s" % (kind, by),
            "commit": "%s, %s" % (kind, at),
            "folder": "%s, in %s" % (kind, folder),
            "change": kind,
        }

    def entries(self) -> list[ReviewEntry]:
        """Return the pending memories."""
        return list(self._entries)

    def lines(self, entry: ReviewEntry) -> list[str]:
        """Return the memory's origin, then its text, or the changes since it was last trusted."""
        item = self._items[entry.id]
        memory = item.stored.memory
        head = ["%s, %s: %s" % (memory.category, entry.origin["commit"], item.reason), ""]
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
