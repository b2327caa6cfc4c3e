"""Capture from top to bottom: find statements and solved errors, redact them, drop what memories cover, save the candidates.

Nothing else of a transcript is stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.text.tags import without_private
from ..kernel.transcript.reader import Reader, open_transcript, turns_since_prompt
from ..kernel.transcript.rows import PROMPT
from .candidate import Origin, RuleHit, new_candidate, now_origin
from .candidate_file import CandidateFile
from .solved_errors import ErrorWatch
from .statements import find_statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO, Callable

    from ..kernel.context import Context
    from ..kernel.transcript.turn import Turn
    from .candidate import Candidate
    from .candidate_file import CandidateSet
    from .coverage import Coverage
    from .solved_errors import SolvedError
    from .stored_elsewhere import SectionWatch

    Check = Callable[[list[Candidate]], Coverage]  # compares candidates with the stored memories
    MayUse = Callable[[str], bool]  # whether a prompt may be read: a person typed it and did not opt out

_RUNBOOK = RuleHit("solved_error", "runbook", "solved-error", 0.0)


def capture_turn(transcript: str, may_use: MayUse, check: Check, context: Context) -> int:
    """Save the candidates in the last turn of a transcript, read from its end; return how many are new. Raises OSError."""
    candidates: list[Candidate] = []
    for turn in turns_since_prompt(transcript):
        candidates += _statements_in(turn, now_origin(context.session), may_use)
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
    finding = _RUNBOOK._replace(strength=error.strength)
    failed_at = origin._replace(turn=error.failed)
    candidate = new_candidate(finding, " | ".join(error.symptom), failed_at, error.title, error.body)
    if candidate is not None:
        yield candidate
