"""CandidateSet from text stored elsewhere: notes in Claude Code's own memory, and sections of CLAUDE.md that many prompts need."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..kernel.text.clean import plain
from .candidate import RuleHit, key_words, new_candidate, now_origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..memories.claude_notes import NativeNote
    from ..memories.markdown import Section
    from .candidate import Candidate

_MAX_QUOTE = 300
_MAX_PROMPT = 4000
_MIN_SHARED_WORDS = 3  # key words that a section shares with a prompt that needs it
_MIN_PROMPTS = 5


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
