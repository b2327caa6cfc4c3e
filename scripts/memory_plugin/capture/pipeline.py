"""From a transcript to candidates, top to bottom: find, redact, leave out what is covered, write the small file. Nothing else is stored."""

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
    from .candidate_file import Candidates
    from .coverage import Checked
    from .solved_errors import SolvedError
    from .stored_elsewhere import SectionWatch

    Check = Callable[[list[Candidate]], Checked]  # what stored memories say about candidates
    MayUse = Callable[[str], bool]  # whether a prompt may be looked at: a person typed it and did not opt out

__all__ = ["candidates_in", "capture_session", "capture_turn", "keep"]

_RUNBOOK = RuleHit("solved_error", "runbook", "solved-error", 0.0)


def capture_turn(transcript: str, may_use: MayUse, check: Check, context: Context) -> int:
    """Keep the candidates in the last turn of a transcript, read from its end; return how many are new. Raises OSError."""
    candidates: list[Candidate] = []
    for turn in turns_since_prompt(transcript):
        candidates += _said_in(turn, now_origin(context.session), may_use)
    return keep(candidates, check, context)


def capture_session(
    transcript: str, may_use: MayUse, check: Check, context: Context, watch: SectionWatch
) -> int:
    """Keep the candidates in a whole transcript, as far as the deadline lets it be read; return how many are new.

    `watch` counts which sections of CLAUDE.md the prompts need.
    Raises OSError, also for a transcript that cannot be read.
    """
    candidates: list[Candidate] = []
    with open_transcript(transcript) as file:
        for candidate in candidates_in(file, may_use, context.session, watch):
            candidates.append(candidate)
            if not context.deadline.remaining():
                break
    return keep(candidates + watch.candidates(), check, context)


def keep(found: list[Candidate], check: Check, context: Context) -> int:
    """Write candidates to the project's small file, after comparing all with the stored memories; return how many are new."""
    file = CandidateFile(context.paths)
    known = file.load()
    if not found and not known.open:
        return 0
    checked, hints = check([*known.open, *known.wanted(found)])

    def add(candidates: Candidates) -> int:
        candidates.settle(checked)
        new = candidates.add(
            [*(candidate for candidate in found if checked.get(candidate.id, "") is not None), *hints]
        )
        candidates.settle(checked)
        return new

    return file.change(add)


def candidates_in(
    file: IO[bytes], may_use: MayUse, session: str = "", sections: SectionWatch | None = None
) -> Iterator[Candidate]:
    """Yield the candidates in an open transcript, turn by turn; `session` is its id where that is known."""
    reader = Reader(file)
    watch = ErrorWatch()
    for turn in reader:
        origin = Origin(session or reader.totals.session, turn.number, turn.time or now_origin("").time)
        if not reader.totals.chain:  # in a sub-agent's own file Claude writes the prompts
            yield from _said_in(turn, origin, may_use)
            if sections is not None and turn.prompt and may_use(turn.prompt):
                sections.hear(without_private(turn.prompt))
        for error in watch.solved(turn):
            yield from _solved(error, origin)


def _said_in(turn: Turn, origin: Origin, may_use: MayUse) -> Iterable[Candidate]:
    """Yield the lasting statements that the user typed before an answer."""
    for said in turn.user_texts:
        if said.kind != PROMPT or not may_use(said.text):
            continue
        for statement in find_statements(said.text):
            finding = RuleHit(statement.kind, statement.category, statement.rule, statement.strength)
            candidate = new_candidate(finding, statement.text, origin)
            if candidate is not None:
                yield candidate


def _solved(error: SolvedError, origin: Origin) -> Iterable[Candidate]:
    """Yield the runbook of a solved error; its turn is that of the failure."""
    finding = _RUNBOOK._replace(strength=error.strength)
    at = origin._replace(turn=error.failed)
    candidate = new_candidate(finding, " | ".join(error.symptom), at, error.title, error.body)
    if candidate is not None:
        yield candidate
