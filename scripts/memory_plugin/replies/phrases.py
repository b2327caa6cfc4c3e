"""Match phrase patterns from data files against words: filler phrases, by the plugin's rules and the user's pack, and kinds of messages.

Importing `re` and compiling expressions would take longer than scoring a reply.

A pattern is a list of slots separated by spaces. A slot is a word, alternatives (`hope|trust`), a class of words (`@praise`, also among
alternatives), or a gap (`*3`: up to three words of any kind). A slot that ends in `?` is optional. The first slot must be a word or class.
A match is within one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..kernel.fastjson import loads
from ..kernel.files import read_regular
from ..kernel.paths import load_data
from .prose import BREAK, CROSS_SIGN, INSIDE, LINE, POSITIONS, SENTENCE, Prose

Slot = tuple[frozenset[str], bool, int]

_MAX_GAP = 8
AMBIGUOUS = "ambiguous"
QUERY_TYPES = (
    "code", "diagnostic", "claim", "emotional", "meta", "directive", "factual", "conversational", AMBIGUOUS,
)  # fmt: skip
_DRAFTING = "drafting"
USER_PACK = "responses-rules.json"  # in the state folder; the name is the one that users' packs already have
_MAX_BYTES = 1 << 20
_CUE_REACH = 8  # words between a cue such as "avoid" and the phrase it mentions


def word_classes(table: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """Return the named classes of words in a rule file."""
    return {name: frozenset(words.split()) for name, words in table["classes"].items()}


def parse_pattern(pattern: str, classes: Mapping[str, frozenset[str]]) -> list[Slot]:
    """Return each slot of a pattern as the words it accepts, whether it is optional, and the length of a gap. Raises ValueError."""
    slots: list[Slot] = []
    for part in pattern.split():
        name = part.rstrip("?")
        if not name.startswith("*"):
            slots.append((_alternatives(name, classes), name != part, 0))
        elif name[1:].isdigit() and 1 <= int(name[1:]) <= _MAX_GAP:
            slots.append((frozenset(), True, int(name[1:])))
        else:
            raise ValueError("%s: a gap is *1 to *%d" % (part, _MAX_GAP))
    if not slots or slots[0][1]:
        raise ValueError("%r: the first slot must be a word" % pattern)
    return slots


def _alternatives(name: str, classes: Mapping[str, frozenset[str]]) -> frozenset[str]:
    words: set[str] = set()
    for word in name.split("|"):
        if not word or (word[0] == "@" and word[1:] not in classes):
            raise ValueError("%s: an empty alternative or an unknown class of words" % name)
        words |= classes[word[1:]] if word[0] == "@" else {word}
    return frozenset(words)


class PhraseIndex:
    """An index of patterns by their first words. A pattern is parsed when its first word first occurs in a text.

    `first_words` maps a word to the numbers of the patterns whose first slot accepts it.
    """

    __slots__ = ("_classes", "_slots", "first_words", "patterns")

    def __init__(self, patterns: Sequence[str], classes: Mapping[str, frozenset[str]]) -> None:
        self.patterns = patterns
        self._classes = classes
        self._slots: dict[int, list[Slot]] = {}
        self.first_words: dict[str, list[int]] = {}
        for number, pattern in enumerate(patterns):
            for word in _alternatives(pattern.split(" ", 1)[0], classes):
                self.first_words.setdefault(word, []).append(number)

    def match(self, number: int, prose: Prose, at: int, signs: str = "") -> int:
        """Return the number of the word after the pattern's longest match at word `at`; -1 for none.

        With `signs`, a match counts only if one of them follows it.
        """
        ends = match_ends(self._slots_of(number), prose, at)
        if signs:
            # The end of the text counts as a full stop.
            ends = {end for end in ends if (prose.next_sign(end - 1) or ".") in signs}
        return max(ends, default=-1)

    def _slots_of(self, number: int) -> list[Slot]:
        slots = self._slots.get(number)
        if slots is None:
            slots = self._slots[number] = parse_pattern(self.patterns[number], self._classes)
        return slots


def match_ends(slots: list[Slot], prose: Prose, at: int) -> set[int]:
    """Return the numbers of the words after all matches of `slots` at word `at`. The slots and their gaps bound the work."""
    words, size = prose.words, len(prose.words)
    ends = {at}
    for accepted, optional, gap in slots:
        reached = set(ends) if optional else set()
        for end in ends:
            for here in range(end, min(end + (gap or 1), size)):
                # Compare the word first: that is the cheapest check, and it fails most often.
                if not gap and words[here] not in accepted:
                    break
                if words[here] == BREAK or (here > at and prose.boundary(here) != INSIDE):
                    break
                reached.add(here + 1)
        if not reached:
            return reached
        ends = reached
    return ends


class RulePackError(RuntimeError):
    """The user's rule pack, or a rule in it, that cannot be used."""


class FillerRule:
    """One rule about filler phrases.

    A match must begin at least a `level` (see `Prose.boundary`), and one of the signs in `followed_by` must follow it, if there are any. An
    `exempt` rule still claims its matches, so no other rule reports the same words. With `unless_concrete`, an offer that names a concrete
    alternative is no match.
    """

    __slots__ = ("category", "exempt", "followed_by", "id", "level", "unless_concrete")

    def __init__(self, entry: Mapping[str, Any], *, exempt: bool) -> None:
        self.id: str = entry["id"]
        self.category: str = entry["category"]
        self.level = POSITIONS[entry["position"]]
        self.followed_by: str = entry.get("behind", "")
        self.exempt = exempt
        self.unless_concrete = entry.get("unless_concrete") is True


class FillerMatch:
    """A filler phrase: its rule, its place in the original text, and its words from `first_word` up to, not including, `end_word`."""

    __slots__ = ("end", "end_word", "first_word", "rule", "start")

    def __init__(self, rule: FillerRule, start: int, end: int, first_word: int, end_word: int) -> None:
        self.rule = rule
        self.start = start
        self.end = end
        self.first_word = first_word
        self.end_word = end_word


class FillerRules:
    """All rules in effect; pattern number `n` belongs to `rule_of[n]`. `error` is the last error in the user's pack, else None."""

    __slots__ = (
        "alternative", "chain", "cues", "error", "interjections", "phrases", "rule_of", "starters", "vague",
    )  # fmt: skip

    def __init__(self, pack: Mapping[str, Any]) -> None:
        table = load_data("replies", "filler")
        classes = word_classes(table)
        self.error: RulePackError | None = None
        entries = list(table["rules"])
        user_rules, exempt = pack.get("rules"), pack.get("exempt")
        for entry in user_rules if isinstance(user_rules, list) else ():
            problem = rule_problem(entry, classes)
            if problem:
                self.error = RulePackError("a rule of your own pack is left out: " + problem)
            else:
                entries.append(entry)
        patterns: list[str] = []
        self.rule_of: list[FillerRule] = []
        for entry in entries:
            is_exempt = isinstance(exempt, dict) and entry["id"] in exempt
            rule = FillerRule(entry, exempt=is_exempt or entry.get("exempt") is True)
            patterns += entry["patterns"]
            self.rule_of += [rule] * len(entry["patterns"])
        self.phrases = PhraseIndex(patterns, classes)
        self.interjections = frozenset(table["interjections"].split())
        self.chain = self.interjections | frozenset(table["chain"].split())
        self.starters = self.chain | self.phrases.first_words.keys()
        self.cues = frozenset(table["mention_cues"].split())
        self.alternative = frozenset(table["alternative"].split())
        self.vague = frozenset(table["vague"].split())


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


def rule_problem(entry: object, classes: Mapping[str, frozenset[str]]) -> str:
    """Return what is wrong with a rule of the user's pack, or ""."""
    names = ("id", "category", "position")
    if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in names):
        return "id, category and position must be texts"
    name, patterns = entry["id"][:60], entry.get("patterns")
    if entry["position"] not in POSITIONS or not isinstance(entry.get("behind", ""), str):
        return "%s: position must be one of %s" % (name, ", ".join(POSITIONS))
    if not isinstance(patterns, list) or not patterns or not all(isinstance(item, str) for item in patterns):
        return "%s: patterns must be a list of texts" % name
    try:
        for pattern in patterns:
            parse_pattern(pattern, classes)
    except ValueError as error:
        return "%s: %s" % (name, error)
    return ""


def find_filler(prose: Prose, rules: FillerRules) -> list[FillerMatch]:
    """Return the filler phrases from left to right; of two overlapping ones, the longer one."""
    filler_matches: list[FillerMatch] = []
    starters = rules.starters
    # `end`: the word after the last opener. `inherited`: that opener's level, which an opener right after it shares ("Oh, great!").
    end = inherited = -1
    for at in [at for at, word in enumerate(prose.words) if word in starters]:
        if at < end:
            continue
        level = max(prose.boundary(at), inherited) if at == end else prose.boundary(at)
        match = _longer_inside(prose, rules, _best_match(prose, rules, at, level))
        if match is not None and not _is_mentioned(prose, rules, match.first_word):
            rule = match.rule
            if not rule.exempt and not (rule.unless_concrete and _is_concrete(prose, rules, match)):
                filler_matches.append(match)
            end = match.end_word
            inherited = _inherited_level(prose, end, level)
        elif level >= LINE and prose.words[at] in rules.chain:
            end = at + 1
            is_interjection = prose.words[at] in rules.interjections
            inherited = level if is_interjection else _inherited_level(prose, end, level)
    return filler_matches


def _inherited_level(prose: Prose, at: int, level: int) -> int:
    """Return the level that word `at` shares with the opener before it; -1 if no sign separates them."""
    if level < LINE or at >= len(prose):
        return -1
    sign = prose.next_sign(at - 1)
    return level if sign and sign in ".!,\u2014-\u2013" else -1


def _best_match(prose: Prose, rules: FillerRules, at: int, level: int) -> FillerMatch | None:
    best: FillerMatch | None = None
    for number in rules.phrases.first_words.get(prose.words[at], ()):
        rule = rules.rule_of[number]
        if rule.level > level:
            continue
        end = rules.phrases.match(number, prose, at, rule.followed_by)
        if end < 0:
            continue
        if best is None or end > best.end_word or (end == best.end_word and rule.exempt):
            start, stop = prose.folded.original_span(prose.starts[at], prose.end(end - 1))
            best = FillerMatch(rule, start, stop, at, end)
    return best


def _longer_inside(prose: Prose, rules: FillerRules, match: FillerMatch | None) -> FillerMatch | None:
    """Return a longer match that begins inside this one, else this one."""
    if match is None:
        return None
    for at in range(match.first_word + 1, match.end_word):
        other = _best_match(prose, rules, at, prose.boundary(at))
        if other is not None and other.end_word - at > match.end_word - match.first_word:
            return other
    return match


def _is_concrete(prose: Prose, rules: FillerRules, match: FillerMatch) -> bool:
    """Return whether an offer names an alternative ("if you'd rather gate `tab` out"), by code or a word for one, and no vague word.

    A question before a list names what is in the list.
    """
    end = match.first_word + 1
    while end < len(prose) and prose.boundary(end) < SENTENCE:
        end += 1
    words = prose.words[match.first_word : end]
    is_named = BREAK in words or not rules.alternative.isdisjoint(words) or _begins_list(prose, end)
    return is_named and rules.vague.isdisjoint(words)


def _begins_list(prose: Prose, at: int) -> bool:
    """Return whether word `at` begins the first item of a list."""
    if at >= len(prose):
        return False
    line = prose.masked.rfind("\n", 0, prose.starts[at]) + 1
    return prose.words[at] == "1" or prose.masked[line : prose.starts[at]].strip() in (
        "-",
        "*",
        "+",
        "\u2022",
        "**",
        "- **",
    )


def _is_mentioned(prose: Prose, rules: FillerRules, at: int) -> bool:
    """Return whether a phrase is only mentioned: a cue such as "avoid" precedes it in its sentence."""
    for back in range(at - 1, max(-1, at - 1 - _CUE_REACH), -1):
        if prose.boundary(back + 1) >= SENTENCE and prose.words[back] != CROSS_SIGN:
            return False
        if prose.words[back] in rules.cues or prose.words[back] == CROSS_SIGN:
            return True
    return False


class QueryClassifier:
    """The rules of `config/replies/query_types.json`, applied to a message."""

    __slots__ = ("_levels", "_owners", "_phrases", "_table")

    def __init__(self) -> None:
        self._table = table = load_data("replies", "query_types")
        entries = [(kind["id"], pair) for kind in table["types"] for pair in kind["patterns"]]
        entries += [(_DRAFTING, pair) for pair in table["drafting"]["patterns"]]
        self._phrases = PhraseIndex([pattern for _, (_, pattern) in entries], word_classes(table))
        self._levels = [POSITIONS[position] for _, (position, _) in entries]
        self._owners = [owner for owner, _ in entries]

    def classify(self, prompt: str) -> tuple[str, bool]:
        """Return a message's kind (`ambiguous` if no rule matches), and whether it asks for a draft in somebody's voice."""
        prose = Prose(prompt[: self._table["looked_at"]])
        counts = self._count_matches(prose)
        has_code = BREAK in prose.words or "```" in prompt
        best, most = AMBIGUOUS, 0
        for kind in self._table["types"]:  # of equal ones, the first wins
            points = kind["weight"] * min(counts.get(kind["id"], 0), self._table["most_counted"])
            points += kind.get("with_code", 0) if has_code else 0
            if points > most:
                best, most = kind["id"], points
        return best, _DRAFTING in counts

    def _count_matches(self, prose: Prose) -> dict[str, int]:
        """Return at how many words a pattern of each kind begins."""
        counts: dict[str, int] = {}
        for at, word in enumerate(prose.words):
            owners = {
                self._owners[number]
                for number in self._phrases.first_words.get(word, ())
                if self._levels[number] <= prose.boundary(at) and self._phrases.match(number, prose, at) >= 0
            }
            for owner in owners:
                counts[owner] = counts.get(owner, 0) + 1
        return counts
