"""The part of a refresh that reads Claude Code's own notes: file by file, the small ones first, as far as the share goes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..kernel.files import stamp
from ..memories.native import note_files, notes_in
from .documents import note_document
from .freshness import UNSURE
from .index import read, write
from .index.file import transaction
from .refresh_report import HealReport

if TYPE_CHECKING:
    from ..kernel.sqlite import Connection
    from .due import View
    from .share import Share

__all__ = ["refresh_notes"]


def refresh_notes(
    connection: Connection, folders: list[str], view: View, marks: dict[str, str], share: Share
) -> HealReport:
    """Read the notes that changed, and drop those that are gone; the folders of what is left are marked to be looked at again."""
    known = read.notes_by_file(connection)
    listed = {path: status for folder in folders for path, status in note_files(folder)}
    gone = [key for path, (_, keys) in known.items() if path not in listed for key in keys]
    with transaction(connection):
        write.drop(connection, gone)
    done = left = 0
    for path in sorted(listed, key=lambda path: (path not in view.edited, listed[path].st_size, path)):
        if path in known and known[path][0] == stamp(listed[path]) and path not in view.edited:
            continue
        if path in view.done:
            continue
        if left or not share.take(listed[path].st_size):  # all of a file may be shown, passage by passage
            left += 1
            marks[os.path.dirname(path)] = UNSURE
            continue
        view.done.add(path)
        done += _refresh_file(connection, path, known.get(path, ("", []))[1])
    return HealReport(done, len(gone), 0, 0, left)


def _refresh_file(connection: Connection, path: str, before: list[str]) -> int:
    """Put the passages of a file in the place of those that it had; how many it has now."""
    documents = [note_document(note) for note in notes_in(path)]
    with transaction(connection):
        write.drop(connection, before)
        write.put(connection, documents)
    return len(documents)
