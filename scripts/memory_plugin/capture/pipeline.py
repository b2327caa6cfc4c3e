"""Capture from top to bottom: find statements and solved errors, redact them, drop what memories cover, save the candidates.

Nothing else of a transcript is stored. Past transcripts are read file by file, and saved after each, so that a stopped run can resume.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Callable, NamedTuple

from ..kernel.clock import now
from ..kernel.context import Context
from ..kernel.fastjson import digest
from ..kernel.files import Unreadable
from ..kernel.state_file import read_state, write_state
from ..kernel.text.tags import without_private
from ..kernel.transcript.reader import Reader, open_transcript, turns_since_prompt
from ..kernel.transcript.rows import PROMPT
from ..kernel.transcript.turn import Turn
from ..memories.claude_notes import native_folders
from .candidate import Candidate, Coverage, Origin, RuleHit, new_candidate, now_origin
from .candidate_file import CandidateFile, CandidateSet
from .other_sources import SectionWatch
from .solved_errors import ErrorWatch, SolvedError
from .statements import find_statements

Check = Callable[[list[Candidate]], Coverage]  # compares candidates with the stored memories
MayUse = Callable[[str], bool]  # whether a prompt may be read: a person typed it and did not opt out

_MAX_REMEMBERED = 5000  # files already read


class Progress(NamedTuple):
    """The progress of a run: files read, known from an earlier run, and unreadable; bytes read; candidates found."""

    read: int
    known: int
    unreadable: int
    size: int
    found: int


def capture_turn(transcript: str, may_use: MayUse, check: Check, context: Context) -> int:
    """Save the candidates in the last turn of a transcript, read from its end; return how many are new. Raises OSError."""
    origin = now_origin(context.session)
    turns = turns_since_prompt(transcript)
    candidates = [candidate for turn in turns for candidate in _statements_in(turn, origin, may_use)]
    return keep(candidates, check, context)


def capture_session(
    transcript: str, may_use: MayUse, check: Check, context: Context, watch: SectionWatch
) -> int:
    """Save the candidates in a whole transcript, or as much of it as the deadline allows; return how many are new.

    `watch` counts which sections of CLAUDE.md the prompts need.

    Raises:
        OSError: The transcript cannot be read, or the candidates cannot be written.
    """
    candidates: list[Candidate] = []
    with open_transcript(transcript) as file:
        for candidate in candidates_in(file, may_use, context.session, watch):
            candidates.append(candidate)
            if not context.deadline.remaining():
                break
    return keep(candidates + watch.candidates(), check, context)


def keep(found: list[Candidate], check: Check, context: Context) -> int:
    """Save candidates that no stored memory covers; return how many are new."""
    file = CandidateFile(context.paths)
    saved = file.load()
    if not found and not saved.open:
        return 0
    coverage, hints = check([*saved.open, *saved.wanted(found)])
    uncovered = [candidate for candidate in found if coverage.get(candidate.id, "") is not None]

    def add(candidates: CandidateSet) -> int:
        candidates.settle(coverage)  # first, so that covered candidates take no place of new ones
        new = candidates.add([*uncovered, *hints])
        candidates.settle(coverage)
        return new

    return file.change(add)


def candidates_in(
    file: IO[bytes], may_use: MayUse, session: str = "", sections: SectionWatch | None = None
) -> Iterator[Candidate]:
    """Yield the candidates in an open transcript, turn by turn; without `session`, its id is read from the rows."""
    reader = Reader(file)
    watch = ErrorWatch()
    for turn in reader:
        origin = Origin(session or reader.totals.session, turn.number, turn.time or now_origin("").time)
        if not reader.totals.chain:  # in a sub-agent's transcript, Claude writes the prompts
            yield from _statements_in(turn, origin, may_use)
            if sections is not None and turn.prompt and may_use(turn.prompt):
                sections.count(without_private(turn.prompt))
        for error in watch.solved(turn):
            yield from _solved(error, origin)


def _statements_in(turn: Turn, origin: Origin, may_use: MayUse) -> Iterable[Candidate]:
    """Yield the lasting statements that the user typed in a turn."""
    for user_text in turn.user_texts:
        if user_text.kind != PROMPT or not may_use(user_text.text):
            continue
        for statement in find_statements(user_text.text):
            finding = RuleHit(statement.kind, statement.category, statement.rule, statement.strength)
            candidate = new_candidate(finding, statement.text, origin)
            if candidate is not None:
                yield candidate


def _solved(error: SolvedError, origin: Origin) -> Iterable[Candidate]:
    """Yield the runbook of a solved error, with the turn of the failure as its origin."""
    finding = RuleHit("solved_error", "runbook", "solved-error", error.strength)
    failed_at = origin._replace(turn=error.failed)
    candidate = new_candidate(finding, " | ".join(error.symptom), failed_at, error.title, error.body)
    if candidate is not None:
        yield candidate


def project_transcripts(context: Context, days: float | None = None) -> list[str]:
    """Return the transcripts of the project's sessions, latest first; with `days`, only those changed in that many days."""
    oldest = 0.0 if days is None else now() - days * 86400
    transcripts: list[tuple[float, str]] = []
    for memory_folder in native_folders(context.paths):
        folder = os.path.dirname(memory_folder)
        for entry in os.scandir(folder):
            if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
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
    stamps: dict[str, str] = {} if again else read_state(state).get("read", {})
    progress = Progress(0, 0, 0, 0, 0)
    for path in paths:
        name = digest(os.fsencode(os.path.realpath(path)), 8)
        try:
            status = os.stat(path)
            stamp = "%d-%d" % (status.st_size, status.st_mtime_ns)
            if stamps.get(name) == stamp:
                progress = progress._replace(known=progress.known + 1)
            else:
                found = progress.found + _capture(path, may_use, context, watch)
                stamps[name] = stamp
                write_state(state, {"read": dict(list(stamps.items())[-_MAX_REMEMBERED:])})
                progress = progress._replace(
                    read=progress.read + 1, size=progress.size + status.st_size, found=found
                )
        except (FileNotFoundError, Unreadable):
            progress = progress._replace(unreadable=progress.unreadable + 1)
        yield progress


def _capture(path: str, may_use: MayUse, context: Context, watch: SectionWatch) -> int:
    """Save the candidates of one transcript, and return their number."""
    with open_transcript(path) as transcript:
        found = list(candidates_in(transcript, may_use, "", watch))
    if found:
        CandidateFile(context.paths).change(lambda candidates: candidates.add(found))
    return len(found)
