"""Capture candidates from past transcripts, file by file, saving after each file so that a stopped run can resume."""

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

_SUFFIX = ".jsonl"
_MAX_REMEMBERED = 5000  # files already read
_BATCH = 50  # candidates to collect before they are ranked and saved
_READ = "read"


class Progress(NamedTuple):
    """The progress of a run: files read, known from an earlier run, and unreadable; bytes read; candidates found."""

    read: int
    known: int
    unreadable: int
    size: int
    found: int


def project_transcripts(context: Context, days: float | None = None) -> list[str]:
    """Return the transcripts of the project's sessions, latest first; with `days`, only those changed in that many days."""
    oldest = 0.0 if days is None else now() - days * 86400
    transcripts: list[tuple[float, str]] = []
    for memory_folder in native_folders(context.paths):
        folder = os.path.dirname(memory_folder)
        for entry in os.scandir(folder):
            if entry.name.endswith(_SUFFIX) and entry.is_file(follow_symlinks=False):
                changed = entry.stat(follow_symlinks=False).st_mtime
                if changed >= oldest:
                    transcripts.append((changed, entry.path))
    return [path for _, path in sorted(transcripts, reverse=True)]


def capture_files(
    paths: Sequence[str], may_use: MayUse, context: Context, watch: SectionWatch, *, again: bool = False
) -> Iterator[Progress]:
    """Save the candidates of transcripts, yielding the progress after each file.

    `watch` counts which sections of CLAUDE.md the prompts need. With `again`, files that were read before are read once more.

    Raises:
        OSError: The state cannot be written.
    """
    state = context.paths.state("capture", context.paths.project_key + ".read.json")
    stamps = {} if again else _saved_stamps(state)
    progress = Progress(0, 0, 0, 0, 0)
    for path in paths:
        try:
            stamp, size = _stamp(path)
            if stamps.get(_name(path)) == stamp:
                progress = progress._replace(known=progress.known + 1)
            else:
                found = progress.found + _capture(path, may_use, context, watch)
                stamps[_name(path)] = stamp
                write_state(state, {_READ: dict(list(stamps.items())[-_MAX_REMEMBERED:])})
                progress = progress._replace(read=progress.read + 1, size=progress.size + size, found=found)
        except (FileNotFoundError, Unreadable):
            progress = progress._replace(unreadable=progress.unreadable + 1)
        yield progress


def _capture(path: str, may_use: MayUse, context: Context, watch: SectionWatch) -> int:
    """Save the candidates of one transcript in batches, and return their number."""
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


def _saved_stamps(path: str) -> dict[str, str]:
    """Return the stamps of the files that earlier runs read, by the digest of their path."""
    stamps = read_state(path).get(_READ)
    if not isinstance(stamps, dict):
        return {}
    return {name: stamp for name, stamp in stamps.items() if isinstance(stamp, str)}


def _name(path: str) -> str:
    return digest(os.fsencode(os.path.realpath(path)), 8)


def _stamp(path: str) -> tuple[str, int]:
    """Return a file's stamp, which changes with the file, and its size in bytes."""
    status = os.stat(path)
    return "%d-%d" % (status.st_size, status.st_mtime_ns), status.st_size
