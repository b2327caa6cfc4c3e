"""How commands list and name the notes in Claude Code's own memory."""

from __future__ import annotations

import os
from typing import NamedTuple

from ..memories.claude_notes import NativeNote, native_folders, notes
from ..memories.hygiene import shown_line
from .command_context import CommandContext, CommandError

_MAX_NAME = 200


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
