"""What was stored elsewhere: notes of Claude Code's own memory that are new, and sections of CLAUDE.md that many prompts need."""

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

__all__ = ["SectionWatch", "note_candidates"]

_MAX_QUOTE = 300
_MAX_PROMPT = 4000
_SHARED_WORDS = 3  # of a section's telling words in a prompt that needs it
_LEAST_PROMPTS = 5


def note_candidates(notes: Iterable[NativeNote]) -> list[Candidate]:
    """Return a candidate for each note that Claude Code wrote by itself; what a memory says already is left out later."""
    candidates = []
    for note in notes:
        text = plain("%s: %s" % (note.title, note.body), _MAX_QUOTE)
        finding = RuleHit("note", "preference", "claude-note", 0.5)
        candidates.append(new_candidate(finding, text, now_origin(""), note.title, note.body))
    return [candidate for candidate in candidates if candidate is not None]


class SectionWatch:
    """Counts how many prompts need each section of CLAUDE.md."""

    __slots__ = ("_needed", "_sections", "_telling")

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        self._telling = [key_words("%s %s" % (section.heading, section.text)) for section in sections]
        self._needed: Counter[int] = Counter()

    def hear(self, prompt: str) -> None:
        """Count the sections that share three telling words with a prompt."""
        asked = key_words(prompt[:_MAX_PROMPT])
        needed = (at for at, held in enumerate(self._telling) if len(held & asked) >= _SHARED_WORDS)
        self._needed.update(needed)

    def candidates(self) -> list[Candidate]:
        """Return a candidate for each section that five prompts or more needed: the offer to import it."""
        candidates = []
        for at, number in self._needed.items():
            section = self._sections[at]
            if number >= _LEAST_PROMPTS and section.heading:
                finding = RuleHit("section", "constraint", "claude-md", 0.5)
                text = plain("%s: %s" % (section.heading, section.text), _MAX_QUOTE)
                candidates.append(new_candidate(finding, text, now_origin(""), section.heading, section.text))
        return [candidate for candidate in candidates if candidate is not None]
