"""How commands print a memory, its guard, and the notes in Claude Code's own memory."""

from __future__ import annotations

import os
import shlex
from typing import NamedTuple

from ..memories.claude_notes import NativeNote, native_folders, notes
from ..memories.guard import guard_in_words, guard_json
from ..memories.guarded_commands import guard_words, other_spellings
from ..memories.hygiene import shown_items, shown_line
from ..memories.memory_files import StoredMemory
from ..memories.record import ACTIVE, Memory, guard_problem
from ..memories.survey import Item, life_cycle_state
from ..memories.trust import REJECTED, TRUSTED, load_trust
from ..memories.writing import Written
from ..recall.in_force import guarded_version
from .command_context import CommandContext, CommandError

_MAX_ITEMS = 1000
_MAX_GUARD = 2000
_MAX_NAME = 200
HEADERS = ("ID", "CATEGORY", "SCOPE", "UPDATED", "STATUS", "TITLE")


def as_json(item: Item) -> dict[str, object]:
    """Return the fields of a memory as JSON data, without secrets and hidden characters."""
    memory = item.stored.memory
    return {
        "id": memory.id,
        "title": shown_line(memory.title),
        "category": memory.category,
        "scope": item.stored.store.scope,
        "status": memory.status,
        "life": life_cycle_state(item),
        "trust": item.trust,
        "waits_because": item.reason,
        "tags": shown_items(memory.tags, _MAX_ITEMS),
        "files": shown_items(memory.files, _MAX_ITEMS),
        "path": item.stored.path,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "expires_at": memory.expires_at,
        "superseded_by": shown_name(item.superseded_by or memory.superseded_by, item.stored.key),
        "supersedes": [shown_line(name) for name in memory.supersedes],
    }


def shown_name(key: str, other: str) -> str:
    """Return a memory's id from its key, or the whole key if its scope or category differs from that of the key `other`."""
    return shown_line(key.removeprefix(other.rpartition("/")[0] + "/"))


def as_row(item: Item) -> list[str]:
    """Return the cells of a table row, in the order of `HEADERS`."""
    memory = item.stored.memory
    cells = [memory.id, memory.category, item.stored.store.scope, memory.updated_at[:10]]
    return [*cells, status_text(item), shown_line(memory.title)]


def status_text(item: Item) -> str:
    """Return a memory's status in one or two words, such as `active` or `archived, pending`."""
    words = [] if life_cycle_state(item) == ACTIVE else [life_cycle_state(item)]
    if item.trust != TRUSTED:
        words.append(item.trust)
    return ", ".join(words) or ACTIVE


def approval_lines(item: Item, name: str) -> list[str]:
    """Return a line that says how to accept a pending or rejected memory; no lines for any other."""
    if item.trust == REJECTED:
        return ["  You rejected it, and that stays so; to accept it: memory accept %s" % name]
    return ["  It awaits approval: memory accept %s" % name] if item.waits else []


def redaction_lines(written: Written) -> list[str]:
    """Return a line for each rule and field of what was redacted before a memory was stored."""
    return ["redacted in %s: %s" % (field, rule) for rule, field in dict.fromkeys(written.redacted)]


def guard_as_json(memory: Memory) -> dict[str, object] | None:
    """Return the guard as JSON data without secrets and hidden characters; None if there is no guard."""
    if memory.guard is None:
        return None
    return {
        name: [shown_line(item) for item in value] if isinstance(value, list) else value
        for name, value in guard_json(memory.guard).items()
    }


def guard_lines(memory: Memory) -> list[str]:
    """Return a line that describes the guard, or why it is invalid; no lines without a guard."""
    if memory.guard is not None:
        commands = memory.guard.commands
        covered = [set(guard_words(command)) for command in commands]
        others = [other for command in commands for other in other_spellings(command)]
        missing = [other for other in others if set(other.split()) not in covered]
        lines = ["guard: " + shown_line(guard_in_words(memory.guard), _MAX_GUARD)]
        if missing:
            options = "".join(" --guard-command " + shlex.quote(each) for each in (*commands, *missing))
            what = ", ".join("`%s`" % other for other in missing), memory.id, options
            lines.append(
                shown_line("not covered, though it does the same: %s; to add it: memory edit %s%s" % what)
            )
        return lines
    problem = guard_problem(memory)
    return ["its guard is invalid: " + shown_line(problem, _MAX_GUARD)] if problem else []


def holds_guard(stored: StoredMemory) -> bool:
    """Return whether a memory's file has a `guard` field, valid or not."""
    return stored.memory.data.get("guard") is not None


def is_guarded(stored: StoredMemory, context: CommandContext) -> bool:
    """Return whether a guard of this memory is in force, in its current version or its last trusted one."""
    if context.paths.state_dir is None:
        return False
    return guarded_version(stored, load_trust(context.paths, context.accept_from)) is not None


def may_trust(context: CommandContext, *, guarded: bool) -> bool:
    """Return whether a save is trusted immediately, and count it.

    Guards need the user's own confirmation: inside the client, a save that adds, changes or removes one is always pending.
    """
    return not (guarded and context.inside_client) and context.approve_saves()


class NamedNote(NamedTuple):
    """A note and the name by which commands refer to it: its file name and the number of the passage."""

    name: str
    note: NativeNote

    def as_json(self) -> dict[str, str]:
        """Return the note as JSON data, without its text."""
        return {"name": self.name, "title": shown_line(self.note.title), "path": self.note.path}


def named_notes(context: CommandContext) -> list[NamedNote]:
    """Return the notes of this project; none if the user's settings disable them."""
    if not context.settings.flag("native.enabled"):
        return []
    named: list[NamedNote] = []
    taken: set[str] = set()
    for folder in native_folders(context.paths):
        for note in notes(folder):
            number = int(note.key.rpartition("#")[2]) + 1
            name = shown_line("%s#%d" % (os.path.basename(note.path), number), _MAX_NAME)
            named.append(NamedNote(note.key if name in taken else name, note))
            taken.add(name)
    return named


def find_note(name: str, context: CommandContext) -> NamedNote:
    """Return the note with a name; a file name alone is enough if the file has one note. Raises CommandError."""
    notes = named_notes(context)
    matches = [note for note in notes if name in (note.name, note.note.key)]
    matches = matches or [note for note in notes if note.name.rpartition("#")[0] == name]
    if len(matches) == 1:
        return matches[0]
    why = "it has %d notes" % len(matches) if matches else "no note has this name"
    raise CommandError("%s: %s; to list them: memory list --notes" % (name, why))
