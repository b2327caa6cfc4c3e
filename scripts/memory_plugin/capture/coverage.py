"""Compare a candidate with a stored memory, which may cover it or contradict it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.text.stem import stem
from ..kernel.text.tokens import tokenize
from ..memories.record import body_text
from .candidate import key_words

if TYPE_CHECKING:
    from ..memories.record import Memory
    from .candidate import Candidate

COVERED, CONTRADICTED = "covered", "contradicted"
_MIN_SHARE = 0.85  # of a candidate's key words that a memory must contain to cover it
_MIN_WORDS = 2
_NEGATIONS = frozenset(
    ("not", "never", "no", "dont", "stop", "avoid", "without", "nor", "neither", "quit", "doesnt", "isnt")
)
_CHOICE = re.compile(r"([\w@./+#-]+),? (?:and not|not|instead of|rather than|over) ([\w@./+#-]+)")


class Coverage(NamedTuple):
    """How the stored memories relate to candidates.

    `by_candidate` maps a candidate's id to None if a memory covers it, to the name of a memory that it contradicts, or else to "".
    `hints` are new candidates about memories that were injected although the user then repeated them.
    """

    by_candidate: dict[str, str | None]
    hints: list[Candidate]


def compare(candidate: Candidate, memory: Memory) -> str:
    """Return COVERED if a memory says the same as a candidate, CONTRADICTED if it says the opposite, otherwise ""."""
    keys = key_words(candidate.quote if candidate.kind != "solved_error" else candidate.title)
    text = "%s\n%s" % (memory.title, body_text(memory))
    stems = frozenset(stem(word) for word in tokenize(text))
    if len(keys) < _MIN_WORDS or len(keys & stems) < _MIN_SHARE * len(keys):
        return ""
    return CONTRADICTED if _contradicts(candidate.quote, text, keys) else COVERED


def _contradicts(text: str, other: str, keys: frozenset[str]) -> bool:
    """Return whether two texts about the same subject choose opposite sides, or one forbids what the other requires."""
    choices, other_choices = _choices(text), _choices(other)
    if choices & {(rejected, chosen) for chosen, rejected in other_choices}:
        return True
    if choices or other_choices:
        return bool(choices and not other_choices and _is_refused(other, {chosen for chosen, _ in choices}))
    return _forbids(text, keys) != _forbids(other, keys)


def _choices(text: str) -> set[tuple[str, str]]:
    """Return pairs of what a text chooses and what it rejects, as in "pnpm, not npm"."""
    return {(first.strip("."), second.strip(".")) for first, second in _CHOICE.findall(text.lower())}


def _forbids(text: str, keys: frozenset[str]) -> bool:
    """Return whether the sentence with most of the key words contains a negation."""
    sentences = [tokenize(sentence) for sentence in re.split(r"[.!?;\n]", text.lower())]
    nearest = max(sentences, key=lambda sentence: len(keys & {stem(word) for word in sentence}))
    return not _NEGATIONS.isdisjoint(nearest)


def _is_refused(text: str, chosen: set[str]) -> bool:
    refused = re.findall(r"(?:not|never|no|don't use|avoid) (?:use )?([\w@./+#-]+)", text.lower())
    return not chosen.isdisjoint(refused)
