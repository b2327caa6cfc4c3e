"""Capture from top to bottom: find statements and solved errors, redact them, drop what memories cover, save the candidates.

Nothing else of a transcript is stored. Past transcripts are read file by file, and their candidates are saved after each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import IO, Any, Callable, NamedTuple, Optional

from ..kernel.context import Context, now_iso
from ..kernel.fastjson import as_object, as_text
from ..kernel.files import Unreadable
from ..kernel.judge.question import Question, load_rubric, one_line
from ..kernel.text import without_private
from ..kernel.text.clean import plain
from ..kernel.transcript import PROMPT
from ..kernel.transcript.reader import Reader, open_transcript, turns_since_prompt
from ..kernel.transcript.turn import Turn
from ..memories.markdown import Section
from ..memories.nearby import NativeNote
from .candidate import (
    MAX_TITLE,
    REPEATABLE,
    Candidate,
    CandidateFile,
    Coverage,
    Finding,
    Origin,
    key_words,
    new_candidate,
    now_origin,
)
from .solved_errors import ErrorWatch, SolvedError
from .statements import CATEGORIES, MAX_SENTENCE, find_statements, log_odds, own_sentences, rules_in

Values = dict[str, Any]
Ask = Callable[[Question], Optional[Values]]  # the judge's answer; None if there is none
Check = Callable[[list[Candidate]], Coverage]  # compares candidates with the stored memories
MayUse = Callable[[str], bool]  # whether a prompt may be read: a person typed it and did not opt out

RUBRIC = "capture/statements"
_MIN_LOG_ODDS = -4.0  # of a sentence that may be lasting; two of three real prompts have one
_SURE = 0.85  # strength of a rule from which its statement needs no judge
_MAX_SENTENCES = 12
_MIN_SESSIONS = 3
_MAX_NOTE = 300
_MAX_PROMPT = 4000
_MIN_SHARED_WORDS = 3  # key words that a section shares with a prompt that needs it
_MIN_PROMPTS = 5


class Reading(NamedTuple):
    """How transcripts are read: which prompts may be used, what watches the sections of CLAUDE.md, and how to ask a judge."""

    may_use: MayUse
    watch: SectionWatch
    ask: Ask | None = None


class Progress(NamedTuple):
    """The progress of a run: files read, and unreadable ones; bytes read; candidates found."""

    read: int
    unreadable: int
    size: int
    found: int


def turn_candidates(transcript: str, reading: Reading, session: str) -> list[Candidate]:
    """Return the candidates in the last turn of a transcript, read from its end."""
    origin = now_origin(session)
    turns = turns_since_prompt(transcript)
    return [candidate for turn in turns for candidate in _statements_in(turn, origin, reading)]


def session_candidates(transcript: str, reading: Reading, context: Context) -> list[Candidate]:
    """Return the candidates in a whole transcript, or as much of it as the deadline allows. Raises OSError."""
    with open_transcript(transcript) as file:
        found = _candidates_in(file, reading, context.session)
        return list(takewhile(lambda _: context.deadline.remaining(), found))


def keep(found: list[Candidate], check: Check, context: Context) -> None:
    """Save candidates that no stored memory covers. Raises OSError."""
    file = CandidateFile(context.paths)
    saved = file.load()
    if not found and not saved.open:
        return
    coverage, hints = check([*saved.open, *saved.wanted(found)])
    uncovered = [candidate for candidate in found if coverage.get(candidate.id, "") is not None]
    with file.change() as candidates:
        candidates.settle(coverage)  # first, so that covered candidates take no place of new ones
        candidates.add([*uncovered, *hints])
        candidates.settle(coverage)


def _candidates_in(file: IO[bytes], reading: Reading, session: str = "") -> Iterator[Candidate]:
    """Yield the candidates in an open transcript, turn by turn; without `session`, its id is read from the rows."""
    reader = Reader(file)
    errors = ErrorWatch()
    for turn in reader:
        time = turn.time or reader.totals.ended or now_iso()  # an unanswered prompt has no time of its own
        origin = Origin(session or reader.totals.session, turn.number, time)
        if not reader.totals.chain:  # in a sub-agent's transcript, Claude writes the prompts
            yield from _statements_in(turn, origin, reading)
            if turn.prompt and reading.may_use(turn.prompt):
                reading.watch.count(without_private(turn.prompt))
        yield from filter(None, (_runbook(error, origin) for error in errors.solved(turn)))


def _statements_in(turn: Turn, origin: Origin, reading: Reading) -> Iterable[Candidate]:
    """Return the lasting statements that the user typed in a turn; a judge decides about what rules are unsure of."""
    typed = [text.text for text in turn.user_texts if text.kind == PROMPT and not text.untyped]
    found = judge_statements(list(filter(reading.may_use, typed)), reading.ask)
    return filter(None, (new_candidate(statement, origin) for statement in found))


def _runbook(error: SolvedError, origin: Origin) -> Candidate | None:
    """Return the runbook of a solved error, with the turn of the failure as its origin; None as for `new_candidate`."""
    text = " | ".join(error.symptom)
    found = Finding(text, "solved_error", "runbook", "solved-error", error.strength, error.title)
    return new_candidate(found, origin._replace(turn=error.failed), error.body)


def unsure_sentences(prompts: Sequence[str]) -> list[str]:
    """Return the user's sentences that may be lasting and that no strong rule found, at most 12, the likeliest first."""
    found = (statement for prompt in prompts for statement in find_statements(prompt))
    sure = [statement.text for statement in found if statement.strength >= _SURE]
    texts = (text for prompt in prompts for text in own_sentences(prompt))
    unknown = (text for text in texts if not any(known.endswith(text) for known in sure))
    odds = {text: log_odds(text, rules_in(text)) for text in unknown}
    likely = [text for text in odds if odds[text] >= _MIN_LOG_ODDS]
    return sorted(likely, key=odds.__getitem__, reverse=True)[:_MAX_SENTENCES]


def judge_statements(prompts: Sequence[str], ask: Ask | None) -> list[Finding]:
    """Return the statements of a turn's prompts as the judge sees them, with at most one question; without an answer, as rules do."""
    found = [statement for prompt in prompts for statement in find_statements(prompt)]
    sentences = unsure_sentences(prompts) if ask else []
    values = ask(statements_question(sentences)) if ask and sentences else None
    if values is None:
        return found
    kept = [one for one in found if not any(one.text in text or text in one.text for text in sentences)]
    for at, kind, quote, title in values["keep"]:
        category = next((by.category for by in found if by.text.endswith(sentences[at])), CATEGORIES[kind])
        kept.append(Finding(quote, kind, category, "judge", _SURE, title))
    return kept


def statements_question(sentences: Sequence[str]) -> Question:
    """Return the question about some sentences; its values: `keep`, a list of [index, kind, quote, title]."""
    shown = [one_line(sentence, MAX_SENTENCE) for sentence in sentences]

    def read(value: Values) -> Values | None:
        items = value.get("keep")
        if not isinstance(items, list):
            return None
        return {"keep": list(filter(None, (_picked(item, sentences) for item in items[:_MAX_SENTENCES])))}

    data = {"sentences": [{"index": at, "text": text} for at, text in enumerate(shown)]}
    return Question(load_rubric(RUBRIC), data, read)


def _picked(item: object, sentences: Sequence[str]) -> list[object] | None:
    """Return index, kind, quote and title of an item of the answer; None if it names no sentence or no kind.

    A quote that the sentence does not contain becomes the sentence: the evidence is always the user's own words.
    """
    fields = as_object(item)
    index, kind, quote, title = (fields.get(name) for name in ("index", "kind", "quote", "title"))
    if type(index) is not int or not 0 <= index < len(sentences) or kind not in CATEGORIES:
        return None
    said, shown = as_text(quote).strip(), one_line(as_text(title), MAX_TITLE)
    return [index, kind, said if said and said in sentences[index] else sentences[index], shown]


def capture_files(paths: Sequence[str], reading: Reading, context: Context) -> Iterator[Progress]:
    """Save the candidates of transcripts, yielding the progress after each file. Raises OSError."""
    read = unreadable = size = number = 0
    for path in paths:
        try:
            with open_transcript(path) as transcript:
                found = list(_candidates_in(transcript, reading))
                read, size = read + 1, size + transcript.tell()
        except (FileNotFoundError, Unreadable):
            unreadable, found = unreadable + 1, []
        if found:
            with CandidateFile(context.paths).change() as candidates:
                candidates.add(found)
        number += len(found)
        yield Progress(read, unreadable, size, number)


def repeated_correction(candidate: Candidate, name: str) -> Candidate | None:
    """Return a hint about a memory that was injected in this session and that the user had to repeat; None if it was no correction."""
    if candidate.kind not in REPEATABLE:
        return None
    title = "You had to repeat a memory: %s" % name
    body = "Claude was shown %s in this session, but you had to repeat it. Reword it or add a guard: memory edit %s"
    found = Finding(candidate.quote, "mistake", candidate.category, "told-and-corrected", 0.8, title)
    return new_candidate(found, candidate.origin, body % (name, name))


def repeating_guards(rows: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[Candidate]:
    """Return a hint for each guard that answered in at least three sessions, given rows of the recalls ledger."""
    sessions: dict[str, set[str]] = {}
    for row in rows:
        for key in row.get("guards", ()) if row.get("outcome") in ("reminded", "asked") else ():
            if key in names:
                sessions.setdefault(key, set()).add(row.get("session", ""))
    body = "Claude keeps trying what the guard of %s covers. Reword the memory, or state the rule in CLAUDE.md: memory show %s"
    hints = []
    for key, seen in sessions.items():
        text = "the guard of %s answered in %d sessions" % (names[key], len(seen))
        title = "A guard keeps answering: %s" % names[key]
        found = Finding(text, "guard", "constraint", "answering-guard", 0.6, title)
        if len(seen) >= _MIN_SESSIONS:
            hints.append(new_candidate(found, now_origin(""), body % (names[key], names[key])))
    return list(filter(None, hints))


def note_candidates(notes: Iterable[NativeNote]) -> list[Candidate]:
    """Return a candidate for each note that Claude Code wrote by itself; those that a memory covers are dropped later."""
    return _offered(("note", "preference", "claude-note"), ((note.title, note.body) for note in notes))


def _offered(rule: tuple[str, str, str], texts: Iterable[tuple[str, str]]) -> list[Candidate]:
    """Return candidates that quote the beginning of texts with titles; `rule` is their kind, category and rule."""
    quotes = ((title, body, plain("%s: %s" % (title, body), _MAX_NOTE)) for title, body in texts)
    notes = ((Finding(quote, *rule, 0.5, title), body) for title, body, quote in quotes)
    found = (new_candidate(note, now_origin(""), body) for note, body in notes)
    return list(filter(None, found))


class SectionWatch:
    """Counts how many prompts need each section of CLAUDE.md."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        self._key_words = [key_words("%s %s" % (section.heading, section.text)) for section in sections]
        self._prompts: Counter[int] = Counter()

    def count(self, prompt: str) -> None:
        """Count a prompt for each section that shares at least three key words with it."""
        keys = key_words(prompt[:_MAX_PROMPT])
        shared = (len(section & keys) for section in self._key_words)
        self._prompts.update(at for at, number in enumerate(shared) if number >= _MIN_SHARED_WORDS)

    def candidates(self) -> list[Candidate]:
        """Return a candidate, an offer to import, for each section that at least five prompts needed."""
        needed = (self._sections[at] for at, number in self._prompts.items() if number >= _MIN_PROMPTS)
        texts = ((part.heading, part.text) for part in needed if part.heading)
        return _offered(("section", "constraint", "claude-md"), texts)
