"""How many words stand before the answer begins: affirmation, praise, "here is", "let me", the question said again."""

from __future__ import annotations

from .prose import SENTENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .data import Lexicon
    from .prose import Prose
    from .rules import Match

__all__ = ["preamble_words"]

_MOST_STEPS = 6
_WHOLE_SENTENCES = ("validation", "rapport", "affect")


def preamble_words(text: str, prose: Prose, matches: list[Match], lexicon: Lexicon) -> int:
    """The words of the original before the first one of substance; a heading counts nothing by itself."""
    begin = _behind_headings(prose)
    at = begin
    starting = {match.first: match for match in matches if match.first < begin + 200}
    for _ in range(_MOST_STEPS):
        after = _one_lead(prose, at, starting, lexicon)
        if after <= at:
            break
        at = after
        if at >= len(prose) or _ends_with_colon(prose, at):
            break
    if at <= begin:
        return 0
    start = prose.folded.origin(prose.starts[begin])
    end = prose.folded.origin(prose.starts[at]) if at < len(prose) else len(text)
    return sum(1 for word in text[start:end].split() if any(char.isalnum() for char in word))


def _behind_headings(prose: Prose) -> int:
    """The first word that is no heading's."""
    at = 0
    while at < len(prose):
        line = prose.masked.rfind("\n", 0, prose.starts[at]) + 1
        if prose.masked[line : prose.starts[at]].strip(" *")[:1] != "#":
            break
        end = prose.masked.find("\n", prose.starts[at])
        while at < len(prose) and (end < 0 or prose.starts[at] < end):
            at += 1
    return at


def _one_lead(prose: Prose, at: int, starting: dict[int, Match], lexicon: Lexicon) -> int:
    """The word behind one lead-in that begins at `at`; `at` when none does."""
    end = _sentence_end(prose, at)
    if at in starting:
        match = starting[at]
        return max(end, match.behind) if match.rule.category in _WHOLE_SENTENCES else match.behind
    if at >= len(prose):
        return at
    reached = [
        _scoped(prose, lexicon.lead_scopes[number], behind, at, end)
        for number, behind in _leads_at(prose, at, lexicon)
    ]
    return max(reached, default=at)


def _leads_at(prose: Prose, at: int, lexicon: Lexicon) -> list[tuple[int, int]]:
    """The lead-ins that begin at a word, by number, each with the word behind it."""
    found = [
        (number, lexicon.leads.match(number, prose, at)) for number in lexicon.leads.beginning(prose, at)
    ]
    return [(number, behind) for number, behind in found if behind >= 0]


def _scoped(prose: Prose, scope: str, behind: int, at: int, end: int) -> int:
    """The word behind what counts with a lead-in: its sentence, its clause, or nothing (`at`)."""
    announces = _ends_with_colon(prose, end)
    clause = _clause_end(prose, behind, end)
    if scope in ("alone", "sign"):
        return behind if behind == end or (scope == "sign" and clause == behind) else at
    if scope == "comma" and clause < end:
        return clause
    if scope == "sentence" or announces:
        return end
    return clause if scope == "lead" or (scope == "clause" and clause < end) else at


def _sentence_end(prose: Prose, at: int) -> int:
    end = at + 1
    while end < len(prose) and prose.level(end) < SENTENCE and not _ends_with_colon(prose, end):
        end += 1
    return min(end, len(prose))


def _clause_end(prose: Prose, at: int, end: int) -> int:
    """The word behind the next comma or dash from `at` on, `end` when there is none."""
    while at < end:
        if prose.behind(at - 1) in (",", "\u2014", "-"):
            return at
        at += 1
    return end


def _ends_with_colon(prose: Prose, end: int) -> bool:
    """Whether the sentence before the word `end` ends with a colon."""
    return (
        ":" in prose.masked[prose.end(end - 1) : prose.starts[end] if end < len(prose) else len(prose.masked)]
    )
