"""Measure one reply by rules: filler phrases, words before the answer, and the share of content words.

Filler is found by the plugin's rules and those of the user's pack.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from ..kernel.fastjson import as_object, loads
from ..kernel.files import read_regular
from ..kernel.paths import load_data
from .prose import BREAK, INSIDE, LINE, POSITIONS, SENTENCE, PhraseIndex, Prose, rule_problem, word_classes

USER_PACK = "responses-rules.json"  # in the state folder; the name is the one that users' packs already have
_MAX_BYTES = 1 << 20
_BULLETS = ("-", "*", "+", "\u2022", "**", "- **")
_MAX_CHARACTERS = 300_000  # more than a model writes in one reply
_GREETING = "greeting"  # in a draft it is part of the letter
_MAX_LEADS = 6
_SENTENCE_CATEGORIES = ("validation", "rapport", "affect")  # their whole sentence belongs to the preamble


class RulePackError(RuntimeError):
    """The user's rule pack, or a rule in it, that cannot be used."""


class FillerRule(NamedTuple):
    """One rule about filler phrases.

    One of the signs in `followed_by` must follow a match, if there are any. An `exempt` rule still claims its matches, so no other rule
    reports the same words. With `unless_concrete`, an offer that names a concrete alternative is no match, nor is a sentence with a word
    of `unless`, or what goes on behind its colon.
    """

    id: str
    category: str
    followed_by: str
    exempt: bool
    unless_concrete: bool
    unless: frozenset[str]


class FillerMatch(NamedTuple):
    """A filler phrase: its rule, its place in the original text, and its words from `first_word` up to, not including, `end_word`."""

    rule: FillerRule
    start: int
    end: int
    first_word: int
    end_word: int


class FillerRules:
    """All rules in effect. `error` is the last error in the user's pack, else None."""

    def __init__(self, pack: Mapping[str, Any]) -> None:
        table = load_data("replies", "filler")
        classes = word_classes(table)
        own, exempt = pack.get("rules"), as_object(pack.get("exempt"))
        checked = [(entry, rule_problem(entry, classes)) for entry in own] if isinstance(own, list) else []
        problems = ["a rule of your own pack is left out: " + problem for _, problem in checked if problem]
        self.error = RulePackError(problems[-1]) if problems else None
        patterns: list[tuple[str, int, FillerRule]] = []
        for entry in [*table["rules"], *(entry for entry, problem in checked if not problem)]:
            is_exempt = entry["id"] in exempt or entry.get("exempt", False)
            signs, is_offer = entry.get("behind", ""), entry.get("unless_concrete", False)
            unless = frozenset(entry.get("unless", "").split())
            rule = FillerRule(entry["id"], entry["category"], signs, is_exempt, is_offer, unless)
            patterns += [(pattern, POSITIONS[entry["position"]], rule) for pattern in entry["patterns"]]
        self.phrases = PhraseIndex(patterns, classes)
        names = ("interjections", "chain", "alternative", "vague")
        self.interjections, chain, self.alternative, self.vague = (
            frozenset(table[name].split()) for name in names
        )
        self.chain = self.interjections | chain


def load_filler_rules(state_dir: str | None) -> FillerRules:
    """Return the plugin's rules and those of the user's pack; an unreadable pack is ignored and reported in `error`."""
    try:
        return FillerRules(read_user_pack(state_dir))
    except RulePackError as error:
        rules = FillerRules({})
        rules.error = error
        return rules


def read_user_pack(state_dir: str | None) -> dict[str, Any]:
    """Return the user's pack, empty if there is none. Raises RulePackError."""
    if state_dir is None:
        return {}
    try:
        pack = loads(read_regular("%s/%s" % (state_dir, USER_PACK), _MAX_BYTES)[0].decode("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RulePackError("your own rule pack is not used: %s" % error) from None
    if not isinstance(pack, dict):
        raise RulePackError("your own rule pack is not used: it is not a JSON object")
    return pack


def find_filler(prose: Prose, rules: FillerRules) -> list[FillerMatch]:
    """Return the filler phrases from left to right; of several at one place, the longest."""
    found: list[FillerMatch] = []
    starters = rules.chain | rules.phrases.by_word.keys()
    # `end`: the word after the last opener. `inherited`: that opener's level, which an opener right after it shares ("Oh, great!").
    end = inherited = -1
    for at in [at for at, word in enumerate(prose.words) if word in starters]:
        if at < end:
            continue
        level = max(prose.boundary(at), inherited) if at == end else prose.boundary(at)
        match = _best_match(prose, rules, at, level)
        if match is not None:
            if not match.rule.exempt and not _is_concrete(prose, rules, match):
                found.append(match)
            end = match.end_word
            inherited = _inherited_level(prose, end, level)
        elif level >= LINE and prose.words[at] in rules.chain:
            end = at + 1
            is_interjection = prose.words[at] in rules.interjections
            inherited = level if is_interjection else _inherited_level(prose, end, level)
    return found


def _inherited_level(prose: Prose, at: int, level: int) -> int:
    """Return the level that word `at` shares with the opener before it; -1 if no sign separates them."""
    if level < LINE or at >= len(prose):
        return -1
    return level if prose.next_sign(at - 1) in tuple(".!,\u2014-\u2013") else -1


def _best_match(prose: Prose, rules: FillerRules, at: int, level: int) -> FillerMatch | None:
    """Return the longest match at a word, of equal ones the first; the end of the text counts as a full stop."""
    found = [
        (end, rule)
        for rule, ends in rules.phrases.matches(prose, at, level)
        for end in ends
        if not rule.followed_by or (prose.next_sign(end - 1) or ".") in rule.followed_by
    ]
    if not found:
        return None
    end, rule = max(found, key=itemgetter(0))
    return FillerMatch(rule, *prose.folded.original_span(prose.starts[at], prose.end(end - 1)), at, end)


def _is_concrete(prose: Prose, rules: FillerRules, match: FillerMatch) -> bool:
    """Return whether an offer names an alternative ("if you'd rather gate `tab` out"), by code or a word for one, and no vague word.

    A question before a list names what is in the list.
    """
    end = _sentence_end(prose, match.first_word)
    words = prose.words[match.first_word : end]
    if match.rule.unless and (match.end_word > end or not match.rule.unless.isdisjoint(words)):
        return True
    if not match.rule.unless_concrete:
        return False
    is_named = BREAK in words or not rules.alternative.isdisjoint(words) or _begins_list(prose, end)
    return is_named and rules.vague.isdisjoint(words)


def _begins_list(prose: Prose, at: int) -> bool:
    """Return whether word `at` begins the first item of a list."""
    if at >= len(prose):
        return False
    before = prose.masked[: prose.starts[at]].rpartition("\n")[2]
    return prose.words[at] == "1" or before.strip() in _BULLETS


class ReplySignals(NamedTuple):
    """The measures of one reply.

    `words` counts the words of the prose, and `preamble` those before the answer. `density` is content words over words, or None if the
    reply is not scored; `unscored` then says why: `empty`, `code_only`, `too_short`, `other_script` or `other_language`. In
    `density_with_masked`, passages that are no prose and single letters that are no words, as in formulas, are content words too.
    """

    matches: list[FillerMatch]
    words: int
    preamble: int
    density: float | None
    density_with_masked: float
    unscored: str


def measure_reply(text: str, rules: FillerRules, *, drafting: bool = False) -> ReplySignals:
    """Return the signals of a reply, in linear time; only its first 300,000 characters count.

    `drafting` means that the user asked for a text in someone's voice. Then only the words around that text can be filler.
    """
    text = text[:_MAX_CHARACTERS]
    prose = Prose(text)
    matches = find_filler(prose, rules)
    if drafting:
        matches = _around_draft(prose, matches)
    masked = prose.words.count(BREAK)
    words = len(prose) - masked
    function_words = _words("function_words")
    content = sum(word not in function_words and len(word) > 1 for word in prose.words)
    symbols = sum(len(word) == 1 and word.isalnum() for word in prose.words if word not in "ai")
    unscored = _unscored(prose, words, content)
    density = None if unscored else round(content / words, 3)
    with_masked = ((density or 0.0) * words + symbols + masked) / max(1, words + masked)
    preamble = _preamble_words(text, prose, matches)
    return ReplySignals(matches, words, preamble, density, with_masked, unscored)


def _around_draft(prose: Prose, matches: list[FillerMatch]) -> list[FillerMatch]:
    """Return the matches in the first line and the offers in the last one; the draft is between them."""
    first_line_end = prose.masked.find("\n", prose.starts[0]) if prose.starts else -1
    last_line_start = prose.masked.rstrip().rfind("\n")
    around = []
    for match in matches:
        at, rule = prose.starts[match.first_word], match.rule
        is_before = (first_line_end < 0 or at < first_line_end) and rule.id != _GREETING
        if is_before or (at > last_line_start and rule.category == "offer"):
            around.append(match)
    return around


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load_data("replies", "density")[name].split())


def _unscored(prose: Prose, words: int, content: int) -> str:
    """Return why density cannot be measured, or ""."""
    table, function_words = load_data("replies", "density"), _words("function_words")
    if not words:
        return "code_only" if BREAK in prose.words else "empty"
    # Letters in other scripts; a Chinese or Japanese one counts three.
    other = [word for word in prose.words if not word.isascii() and word not in function_words]
    other_script = sum(3 if char >= "\u2e80" else 1 for word in other for char in word if char >= "\u0370")
    if other_script and other_script * 2 > sum(map(len, prose.words)):
        return "other_script"
    if words < table["minimum_words"]:
        return "too_short"
    rules = table["language"]
    is_other = words >= rules["least_words"] and words - content < rules["least_function_share"] * words
    others, english = (
        sum(word in listed for word in prose.words)
        for listed in (_words("other_function_words"), function_words)
    )
    return "other_language" if is_other or others >= max(rules["least_others"], english + 1) else ""


@cache
def _leads() -> PhraseIndex[str]:
    """Return the patterns of preambles with their scopes."""
    table = load_data("replies", "preamble")
    patterns = [(pattern, INSIDE, lead["scope"]) for lead in table["leads"] for pattern in lead["patterns"]]
    return PhraseIndex(patterns, word_classes(table))


def _preamble_words(text: str, prose: Prose, matches: list[FillerMatch]) -> int:
    """Return the number of words in the original before the answer begins; headings do not count.

    A preamble is a chain of leads: affirmation, praise, "here is", "let me", the question repeated.
    """
    begin = at = _after_headings(prose)
    openers = {match.first_word: match for match in matches}
    for _ in range(_MAX_LEADS):
        after = _after_lead(prose, at, openers)
        if after <= at:
            break
        at = after
        if at >= len(prose) or _ends_with_colon(prose, at):
            break
    if at <= begin:
        return 0
    start = prose.folded.original_offset(prose.starts[begin])
    end = prose.folded.original_offset(prose.starts[at]) if at < len(prose) else len(text)
    return sum(any(map(str.isalnum, word)) for word in text[start:end].split())


def _after_headings(prose: Prose) -> int:
    """Return the index of the first word that is not in a heading."""
    for at, start in enumerate(prose.starts):
        line = prose.masked.rfind("\n", 0, start) + 1
        if prose.masked[line:start].lstrip(" *")[:1] != "#":
            return at
    return len(prose)


def _after_lead(prose: Prose, at: int, openers: dict[int, FillerMatch]) -> int:
    """Return the index of the word after a lead that begins at word `at`; `at` itself if none does."""
    if at >= len(prose):
        return at
    end = _sentence_end(prose, at)
    if at in openers:
        match = openers[at]
        return max(end, match.end_word) if match.rule.category in _SENTENCE_CATEGORIES else match.end_word
    leads = _leads().matches(prose, at, INSIDE)
    return max([at, *(_scope_end(prose, scope, max(ends), at, end) for scope, ends in leads)])


def _scope_end(prose: Prose, scope: str, after: int, at: int, end: int) -> int:
    """Return the index of the word after a lead's scope, or `at` if it is no lead here.

    `after` is the word after the lead's pattern, `end` the word after its sentence; `config/replies/preamble.json` explains the scopes.
    """
    clause_end = _clause_end(prose, after, end)
    if scope == "alone":
        return after if after == end else at
    if scope == "sign":
        return after if after in (end, clause_end) else at
    if scope == "sentence":
        return end
    if scope == "comma" and clause_end < end:
        return clause_end
    if _ends_with_colon(prose, end):
        return end
    return clause_end if scope == "lead" or (scope == "clause" and clause_end < end) else at


def _sentence_end(prose: Prose, at: int) -> int:
    end = at + 1
    while end < len(prose) and prose.boundary(end) < SENTENCE and not _ends_with_colon(prose, end):
        end += 1
    return end


def _clause_end(prose: Prose, at: int, end: int) -> int:
    """Return the word after the next comma or dash from `at` on, or `end`."""
    signs = (",", "\u2014", "-")
    return next((word for word in range(at, end) if prose.next_sign(word - 1) in signs), end)


def _ends_with_colon(prose: Prose, end: int) -> bool:
    """Return whether there is a colon between the word before `end` and `end`."""
    until = prose.starts[end] if end < len(prose) else len(prose.masked)
    return ":" in prose.masked[prose.end(end - 1) : until]
