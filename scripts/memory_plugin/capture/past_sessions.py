"""Past transcripts, file by file: what they hold is kept after each, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.clock import now
from ..kernel.fastjson import digest
from ..kernel.files import Unreadable
from ..kernel.state_file import read_state, write_state
from ..kernel.transcript.reader import open_transcript
from ..memories.claude_notes import native_folders
from .candidate_file import CandidateFile
from .pipeline import candidates_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..kernel.context import Context
    from .candidate import Candidate
    from .pipeline import MayUse
    from .stored_elsewhere import SectionWatch

__all__ = ["Progress", "capture_files", "project_transcripts"]

_SUFFIX = ".jsonl"
_MOST_REMEMBERED = 5000  # files that were read
_BATCH = 50  # candidates of one file that are held before they are ranked
_READ = "read"


class Progress(NamedTuple):
    """The progress of a run: files read, skipped as read before, and unreadable; bytes; statements and errors found."""

    read: int
    known: int
    unreadable: int
    size: int
    found: int


def project_transcripts(context: Context, days: float | None = None) -> list[str]:
    """Return the transcripts of the project's sessions, the latest first; with `days` those that changed since then."""
    oldest = 0.0 if days is None else now() - days * 86400
    found: list[tuple[float, str]] = []
    for memory_folder in native_folders(context.paths):
        folder = os.path.dirname(memory_folder)
        for entry in os.scandir(folder):
            if entry.name.endswith(_SUFFIX) and entry.is_file(follow_symlinks=False):
                changed = entry.stat(follow_symlinks=False).st_mtime
                found += [(changed, entry.path)] if changed >= oldest else []
    return [path for _, path in sorted(found, reverse=True)]


def capture_files(
    paths: Sequence[str], may_use: MayUse, context: Context, watch: SectionWatch, *, again: bool = False
) -> Iterator[Progress]:
    """Read transcripts and keep their candidates, yielding the progress after each; with `again` also those read before.

    `watch` counts which sections of CLAUDE.md the prompts need. Raises OSError where the state cannot be written.
    """
    state = context.paths.state("capture", context.paths.project_key + ".read.json")
    done = {} if again else _read_before(state)
    at = Progress(0, 0, 0, 0, 0)
    for path in paths:
        try:
            mark, size = _stamp(path)
            if done.get(_name(path)) == mark:
                at = at._replace(known=at.known + 1)
            else:
                found = _capture(path, may_use, context, watch)
                done[_name(path)] = mark
                write_state(state, {_READ: dict(list(done.items())[-_MOST_REMEMBERED:])})
                at = at._replace(read=at.read + 1, size=at.size + size, found=at.found + found)
        except (FileNotFoundError, Unreadable):
            at = at._replace(unreadable=at.unreadable + 1)
        yield at


def _capture(path: str, may_use: MayUse, context: Context, watch: SectionWatch) -> int:
    file = CandidateFile(context.paths)
    number = 0
    batch: list[Candidate] = []
    with open_transcript(path) as transcript:
        for candidate in candidates_in(transcript, may_use, "", watch):
            batch.append(candidate)
            if len(batch) == _BATCH:
                number += _add(file, batch)
                batch = []
    return number + _add(file, batch)


def _add(file: CandidateFile, batch: list[Candidate]) -> int:
    if batch:
        file.change(lambda candidates: candidates.add(batch))
    return len(batch)


def _read_before(path: str) -> dict[str, str]:
    read = read_state(path).get(_READ)
    return (
        {name: mark for name, mark in read.items() if isinstance(mark, str)} if isinstance(read, dict) else {}
    )


def _name(path: str) -> str:
    return digest(os.fsencode(os.path.realpath(path)), 8)


def _stamp(path: str) -> tuple[str, int]:
    status = os.stat(path)
    return "%d-%d" % (status.st_size, status.st_mtime_ns), status.st_size
