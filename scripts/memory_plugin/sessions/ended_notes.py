"""Keep notes about ended sessions that will be graded in the background, one small file each.

The SessionEnd hook writes a note and starts a process. If that process dies, the next one finds the note.
"""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.fastjson import digest
from ..kernel.state_file import read_state, write_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..kernel.paths import Paths

_MAX_NOTE = 16_384


def ended_folder(paths: Paths) -> str:
    """Return the folder of the notes. Raises RuntimeError without a state folder."""
    return paths.state("grading", "ended")


def leave_note(paths: Paths, session: str, transcript: str) -> None:
    """Write the note of a session that ended. Raises OSError."""
    name = digest((session + transcript).encode("utf-8", "replace"), 8) + ".json"
    note: dict[str, Any] = {
        "session": session,
        "transcript": transcript,
        "project": paths.project_root,
        "ended": now_iso(),
    }
    write_state(os.path.join(ended_folder(paths), name), note)


def pending_notes(paths: Paths) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the path and content of each note of this project. Raises FileNotFoundError if there never was one."""
    folder = ended_folder(paths)
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        note = read_state(path, _MAX_NOTE)
        if isinstance(note.get("transcript"), str) and note.get("project") == paths.project_root:
            yield path, note
