"""What rules can tell of a reply: filler phrases, words before the answer, and how much of its prose carries content."""

from __future__ import annotations

from .folding import MARK
from .preamble import preamble_words
from .prose import BREAK, LINE, SENTENCE, read_prose
from .rules import Match

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .data import Lexicon
    from .prose import Prose
    from .rules import Rules

__all__ = ["MAX_CHARACTERS", "MAX_MATCHES", "Signals", "find_matches", "measure"]

MAX_CHARACTERS = 300_000  # more than a model writes in one reply
MAX_MATCHES = 1000
_CUE_REACH = 8
_GREETING = "greeting"  # of a letter, when one was asked for


class Signals:
    """The measures of one reply.

    `words` counts the words of the prose.  `density` is content words over words, None when the text is not scored; `unscored` then
    says why: `empty`, `code_only`, `too_short`, `other_script`, `other_language`.  `cut` says that only the first 300,000 characters
    were looked at.
    """

    __slots__ = ("cut", "density", "matches", "preamble", "unscored", "words")

    def __init__(self) -> None:
        self.matches: list[Match] = []
        self.preamble = 0
        self.words = 0
        self.density: float | None = None
        self.unscored = ""
        self.cut = False

    @property
    def padding(self) -> int:
        """How many filler phrases there are."""
        return len(self.matches)


def measure(text: str, rules: Rules, lexicon: Lexicon, drafting: bool = False) -> Signals:
    """The signals of a reply; linear in its length, of which at most 300,000 characters count.

    `drafting` says that a text in somebody's voice was asked for: then only what stands before and behind it counts as filler.
    """
    signals = Signals()
    signals.cut = len(text) > MAX_CHARACTERS
    text = text[:MAX_CHARACTERS]
    prose = read_prose(text)
    signals.matches = find_matches(prose, rules)
    if drafting:
        signals.matches = _around_draft(prose, signals.matches)
    signals.words, foreign, content = _counted(prose, lexicon.function_words)
    signals.unscored = _unscored(text, prose, signals.words, foreign, content, lexicon)
    if signals.unscored not in ("empty", "code_only", "other_script"):
        signals.preamble = preamble_words(text, prose, signals.matches, lexicon)
    if not signals.unscored:
        signals.density = round(content / signals.words, 3)
    return signals


def _counted(prose: Prose, function_words: frozenset[str]) -> tuple[int, int, int]:
    """The words, the letters of words in scripts without our function words (in Latin letters' worth), and the content words."""
    words = len(prose.words) - prose.words.count(BREAK) - prose.words.count(MARK)
    content = [word for word in prose.words if word not in function_words and len(word) > 1]
    foreign = 0
    if not prose.masked.isascii():
        for word in prose.words:
            if not word.isascii() and word not in function_words:
                foreign += sum(3 if char >= "\u2e80" else 1 for char in word if char >= "\u0370")
    return words, foreign, len(content)


def _unscored(text: str, prose: Prose, words: int, foreign: int, content: int, lexicon: Lexicon) -> str:
    if not text.strip():
        return "empty"
    if not words:
        return "code_only" if BREAK in prose.words else "empty"
    if foreign and foreign * 2 > sum(len(word) for word in prose.words):
        return "other_script"
    if words < lexicon.minimum_words:
        return "too_short"
    if words >= lexicon.language_words and words - content < lexicon.language_share * words:
        return "other_language"
    return ""


def find_matches(prose: Prose, rules: Rules) -> list[Match]:
    """The filler phrases from left to right, at most 1,000; where two overlap, the longer one."""
    found: list[Match] = []
    starters = rules.starters
    # Where the opener just before ended, and its level, which an opener right behind it shares.
    behind = passed_on = -1
    for at in [at for at, word in enumerate(prose.words) if word in starters]:
        if at < behind or not (rules.phrases.beginning(prose, at) or prose.words[at] in rules.chain):
            continue
        level = max(prose.level(at), passed_on) if at == behind else prose.level(at)
        match = _longer_inside(prose, rules, _best(prose, rules, at, level))
        if match is not None and not _is_mentioned(prose, rules, match.first):
            if not match.rule.exempt:
                found.append(match)
            behind = match.behind
            passed_on = _handed_on(prose, behind, level)
        elif level >= LINE and prose.words[at] in rules.chain:
            behind = at + 1
            passed_on = level if prose.words[at] in rules.interjections else _handed_on(prose, behind, level)
        if len(found) == MAX_MATCHES:
            break
    return found


def _handed_on(prose: Prose, at: int, level: int) -> int:
    """The level that the words from `at` share with the opener that ended there; -1 when no sign parts them."""
    return (
        level
        if level >= LINE
        and at < len(prose)
        and prose.behind(at - 1) in ".!,\u2014-\u2013"
        and prose.behind(at - 1)
        else -1
    )


def _best(prose: Prose, rules: Rules, at: int, level: int) -> Match | None:
    best: Match | None = None
    for number in rules.phrases.beginning(prose, at):
        rule = rules.rule_of[number]
        if rule.level > level:
            continue
        end = rules.phrases.match(number, prose, at, rule.behind)
        if end < 0:
            continue
        if best is None or end > best.behind or (end == best.behind and rule.exempt):
            best = Match(rule, *prose.folded.span(prose.starts[at], prose.end(end - 1)), at, end)
    return best


def _around_draft(prose: Prose, matches: list[Match]) -> list[Match]:
    """The matches in the first line and the offers in the last one: what lies between is the text that was asked for."""
    first = prose.masked.find("\n", prose.starts[0]) if prose.starts else -1
    last = prose.masked.rstrip().rfind("\n")
    kept = []
    for match in matches:
        at = prose.starts[match.first]
        before = (first < 0 or at < first) and match.rule.id != _GREETING
        if before or (at > last and match.rule.category == "offer"):
            kept.append(match)
    return kept


def _longer_inside(prose: Prose, rules: Rules, match: Match | None) -> Match | None:
    """A longer match that begins within this one, else this one."""
    if match is None:
        return None
    for at in range(match.first + 1, match.behind):
        other = _best(prose, rules, at, prose.level(at))
        if other is not None and other.behind - at > match.behind - match.first:
            return other
    return match


def _is_mentioned(prose: Prose, rules: Rules, at: int) -> bool:
    """Whether a phrase is spoken about rather than used: a cue such as "avoid" stands before it in its sentence."""
    for back in range(at - 1, max(-1, at - 1 - _CUE_REACH), -1):
        if prose.level(back + 1) >= SENTENCE and prose.words[back] != MARK:
            return False
        if prose.words[back] in rules.cues or prose.words[back] == MARK:
            return True
    return False
