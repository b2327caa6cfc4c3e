"""Candidates from other sources than statements and errors: rules that Claude keeps breaking, Claude Code's own notes, and CLAUDE.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..kernel.text.clean import plain
from ..memories.claude_notes import NativeNote
from ..memories.markdown import Section
from .candidate import Candidate, RuleHit, key_words, new_candidate, now_origin

_CORRECTIONS = ("correction", "rule", "repeated")
_MIN_SESSIONS = 3
_ANSWERS = ("reminded", "asked")
_MAX_QUOTE = 300
_MAX_PROMPT = 4000
_MIN_SHARED_WORDS = 3  # key words that a section shares with a prompt that needs it
_MIN_PROMPTS = 5


def repeated_correction(candidate: Candidate, name: str) -> Candidate | None:
    """Return a hint about a memory that was injected in this session and that the user had to repeat; None if it was no correction."""
    if candidate.kind not in _CORRECTIONS:
        return None
    title = "You had to repeat a memory: %s" % name
    body = "Claude was told %s in this session, but you had to repeat it. Reword it or add a guard: memory edit %s"
    finding = RuleHit("mistake", candidate.category, "told-and-corrected", 0.8)
    return new_candidate(finding, candidate.quote, candidate.origin, title, body % (name, name))


def repeating_guards(rows: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[Candidate]:
    """Return a hint for each guard that answered in at least three sessions, given rows of the recalls ledger."""
    sessions: dict[str, set[str]] = {}
    for row in rows:
        for key in row.get("guards", ()) if row.get("outcome") in _ANSWERS else ():
            if key in names:
                sessions.setdefault(key, set()).add(row.get("session", ""))
    candidates = []
    for key, seen in sessions.items():
        if len(seen) >= _MIN_SESSIONS:
            text = "the guard of %s answered in %d sessions" % (names[key], len(seen))
            body = "Claude keeps trying what the guard of %s covers. Reword the memory, or state the rule in CLAUDE.md: memory show %s"
            finding = RuleHit("guard", "constraint", "answering-guard", 0.6)
            title = "A guard keeps answering: %s" % names[key]
            candidates.append(
                new_candidate(finding, text, now_origin(""), title, body % (names[key], names[key]))
            )
    return [candidate for candidate in candidates if candidate is not None]


def note_candidates(notes: Iterable[NativeNote]) -> list[Candidate]:
    """Return a candidate for each note that Claude Code wrote by itself; those that a memory covers are dropped later."""
    candidates = []
    for note in notes:
        text = plain("%s: %s" % (note.title, note.body), _MAX_QUOTE)
        finding = RuleHit("note", "preference", "claude-note", 0.5)
        candidates.append(new_candidate(finding, text, now_origin(""), note.title, note.body))
    return [candidate for candidate in candidates if candidate is not None]


class SectionWatch:
    """Counts how many prompts need each section of CLAUDE.md."""

    __slots__ = ("_key_words", "_prompts", "_sections")

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
        candidates = []
        for at, number in self._prompts.items():
            section = self._sections[at]
            if number >= _MIN_PROMPTS and section.heading:
                finding = RuleHit("section", "constraint", "claude-md", 0.5)
                text = plain("%s: %s" % (section.heading, section.text), _MAX_QUOTE)
                candidates.append(new_candidate(finding, text, now_origin(""), section.heading, section.text))
        return [candidate for candidate in candidates if candidate is not None]
