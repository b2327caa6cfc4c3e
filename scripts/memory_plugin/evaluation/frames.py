"""Match frames, which are rules made of word classes such as `@advise STOP .. MEDICINE`, against sentences tagged by a lexicon.

An entry of the lexicon is a word or phrase. `~v` on a word adds the forms of a verb: those that the pack lists in `irregular`, else with s,
ed and ing; `~n` adds an s. `*oxetine` accepts every longer word with that ending, `!word` removes a word from a class, `{OTHER}` includes
another class. A verb's forms have classes of their own: `STOP` contains "stop", `STOP-S` "stops", `STOP-ED` "stopped", `STOP-ING`
"stopping".

| in a frame | means |
| --- | --- |
| `STOP` | a word of that class; `STOP*` in any form, `A/B/word` one of several |
| `word` | that word |
| `X/$` | that, or the end of the sentence |
| `X?` | optional |
| `!X` | X must not follow |
| `..` | at most four words, none of the class BREAK; a phrase of the class FILL counts as one word |
| `~` | as `..`, and none of the class KNOWN ("the", "your", "her"), which would refer to something mentioned before |
| `...` | at most eight words and marks without negation |
| `^`, `$` | the beginning and the end of the sentence |
| `A & B` | both frames in one sentence, in any order |
| `@name` | one of the frames under that name in the pack's `macros` |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

Macros = Mapping[str, Sequence[str]]

_SUFFIXES = {"ing": "-ING", "s": "-S", "": "-ED"}  # of the classes of a verb's forms, by the form's ending
_REGULAR = "_s _ed _ing"  # the forms of a verb that the pack does not list
_BUILT_IN = ("NUMBER", "MANY", "BREAK", "PUNCT")  # classes of every lexicon
_MIN_STEM = 2
_WITHIN = r"(?<=[^\W\d_])[-/](?=[^\W\d_])"  # a sign between letters, which counts as a space
_TOKEN = re.compile(r"\d+(?:[.,/]\d+)*|[a-z]+(?:'[a-z]+)*|'[a-z]+|(?!%s)[^\w\s]|[^\W\d]+" % _WITHIN)
_CLITIC = re.compile(r"(?<=[a-z])'(?:s|re|ve|ll|d|m)$")
_SLOT = re.compile(r"(!?)([\w'*/-]+?)(/\$)?(\??)$")
_GAPS = {  # %s is a word of the class FILL
    "..": r"(?:(?![^ ]*\|BREAK[-\w]*\|)\|[^ ]* |%s){0,4}?",
    "~": r"(?:(?![^ ]*\|(?:BREAK[-\w]*|KNOWN)\|)\|[^ ]* |%s){0,4}?",
    "...": r"(?:(?![^ ]*\|NOT[|:])\|[^ ]* ){0,8}?",
}
_ENDS = {"^": r"(?:^|(?<=\|PUNCT\| ))", "$": r"(?=(?:[^ ]*\|PUNCT\|[^ ]* )*$)"}


class TaggedSentence(NamedTuple):
    """A sentence with the classes that begin at each word; a phrase's class has its length: `|blood|DRUG:2| |thinner| `.

    `classes` are all words and classes in the sentence, `spans` the start and end of each word.
    """

    text: str
    classes: frozenset[str]
    spans: tuple[tuple[int, int], ...]


class Lexicon:
    """Classes of words and phrases; `phrase_lengths` are the lengths in words of each class's phrases."""

    def __init__(
        self, words: Mapping[str, Sequence[str]], irregular: Mapping[str, str], spellings: Mapping[str, str]
    ) -> None:
        """Build the lexicon of a pack. Raises ValueError for a class that is unknown or includes itself."""
        self.phrases: dict[tuple[str, ...], set[str]] = {}
        self.phrase_lengths: dict[str, set[int]] = {name: set() for name in words}
        self._endings: list[tuple[str, str, frozenset[str]]] = []
        self._spellings = {word: spelling.split() for word, spelling in spellings.items()}
        self._max_lengths: dict[str, int] = {}  # of phrases, by first word
        self._classes = lru_cache(20_000)(self._find_classes)
        for name in words:
            self._add_class(name, list(_entries(name, words, ())), irregular)
        for name in (*_BUILT_IN, *(name for _, name, _ in self._endings)):
            self.phrase_lengths.setdefault(name, set()).add(1)
        for phrase, names in self.phrases.items():
            self._max_lengths[phrase[0]] = max(len(phrase), self._max_lengths.get(phrase[0], 0))
            for name in names:
                self.phrase_lengths.setdefault(name, set()).add(len(phrase))

    def _add_class(self, name: str, entries: list[str], irregular: Mapping[str, str]) -> None:
        exceptions = frozenset(entry[1:] for entry in entries if entry[0] == "!")
        for entry in entries:
            if entry[0] == "*":
                self._endings += [(form, name, exceptions) for form in (entry[1:], entry[1:] + "s")]
            elif entry[0] != "!":
                for phrase, suffix in _forms(entry, irregular):
                    if " ".join(phrase) not in exceptions:
                        self.phrases.setdefault(phrase, set()).add(name + suffix)

    def tag(self, sentence: str) -> TaggedSentence:
        """Return the sentence, tagged word by word."""
        words: list[str] = []
        spans: list[tuple[int, int]] = []  # the words of one contraction have the same
        for token in _TOKEN.finditer(sentence.lower()):
            expanded = self._expand(token[0])
            words += expanded
            spans += [token.span()] * len(expanded)
        parts: list[str] = []
        all_classes: set[str] = set()
        for at, word in enumerate(words):
            names = self._classes(word)
            all_classes.update(names)
            parts.append("|" + "|".join(names))
            for length in range(2, min(self._max_lengths.get(word, 0), len(words) - at) + 1):
                classes = self.phrases.get(tuple(words[at : at + length]), ())
                all_classes.update(classes)
                parts += ["|%s:%d" % (name, length) for name in classes]
            parts.append("| ")
        return TaggedSentence("".join(parts), frozenset(all_classes), tuple(spans))

    def any_of(self, names: Sequence[str]) -> str:
        """Return the pattern of a word or phrase with one of these names.

        In the tagged text, a name is followed by the rest of its word, or for a phrase by its length and its further words. Only the
        lengths that occur in the lexicon are tried; all of them would double the time to compile.
        """
        lengths = sorted({length for name in names for length in self.phrase_lengths.get(name, ())} or {1})
        rests = [r"\|[^ ]* " if words == 1 else r":%d\|(?:[^ ]* ){%d}" % (words, words) for words in lengths]
        return r"[^ ]*?\|(?:%s)(?:%s)" % ("|".join(map(re.escape, names)), "|".join(rests))

    def names(self, choice: str) -> list[str]:
        """Return the word or class, in all its forms if it ends in a star. Raises ValueError for an unknown class."""
        name = choice.rstrip("*")
        base = next((name[: -len(suffix)] for suffix in _SUFFIXES.values() if name.endswith(suffix)), name)
        if name.isupper() and {name, base}.isdisjoint(self.phrase_lengths):
            raise ValueError("unknown class %s" % name)
        return [name, *(name + suffix for suffix in _SUFFIXES.values())] if choice.endswith("*") else [name]

    def _expand(self, token: str) -> list[str]:
        """Return a token's words: several for a contraction or a variant spelling."""
        if token in self._spellings:
            return self._spellings[token]
        clitic = _CLITIC.search(token)
        if clitic:
            parts = (token[: clitic.start()], clitic[0])
            return [word for part in parts for word in self._spellings.get(part, [part])]
        return [token[:-3], "not"] if len(token) > 3 and token.endswith("n't") else [token]

    def _find_classes(self, word: str) -> list[str]:
        """Return a word and its classes."""
        classes = sorted(self.phrases.get((word,), ()))
        if word[0].isdigit():
            classes += ["NUMBER", "MANY"] if len(word) > 1 and word.isdigit() else ["NUMBER"]
        elif not word[0].isalpha() and word[0] != "'":
            classes += ["BREAK", "PUNCT"]
        for ending, name, exceptions in self._endings:
            if word.endswith(ending) and len(word) >= len(ending) + _MIN_STEM and word not in exceptions:
                classes.append(name)
        return [word, *classes]


def _entries(name: str, words: Mapping[str, Sequence[str]], parents: tuple[str, ...]) -> Iterator[str]:
    """Yield the entries of a class and of the classes that it includes."""
    if name not in words:
        raise ValueError("unknown class %s" % name)
    if name in parents:
        raise ValueError("%s includes itself" % name)
    for entry in words[name]:
        if entry.startswith("{") and entry.endswith("}"):
            yield from _entries(entry[1:-1], words, (*parents, name))
        elif entry.strip(" !*"):
            yield entry.lower()


def _forms(entry: str, irregular: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield a phrase in all its forms, each with the suffix of its class."""
    words = entry.replace("-", " ").split()
    at = next((at for at, word in enumerate(words) if word.endswith(("~v", "~n"))), 0)
    word, _, kind = words[at].partition("~")
    forms = [(word, "")]
    if kind == "n":
        forms.append((word + "s", ""))
    elif kind == "v":
        others = irregular.get(word, _REGULAR.replace("_", word)).split()
        forms += [(form, next(_SUFFIXES[end] for end in _SUFFIXES if form.endswith(end))) for form in others]
    for form, suffix in forms:
        yield (*words[:at], form, *words[at + 1 :]), suffix


class Frame(NamedTuple):
    """The patterns of a frame over tagged text, all of which must match.

    `needs` are sets of words and classes. A sentence must contain one of each set to match; checking that first saves most of the work.
    """

    patterns: tuple[str, ...]
    needs: tuple[frozenset[str], ...]

    def find(self, tagged: TaggedSentence) -> list[tuple[int, int]]:
        """Return the non-overlapping matches in the sentence, as start and end."""
        if any(map(tagged.classes.isdisjoint, self.needs)):
            return []
        if len(self.patterns) == 1:
            return [_span(tagged, match) for match in _compiled(self.patterns[0]).finditer(tagged.text)]
        matches = [_compiled(pattern).search(tagged.text) for pattern in self.patterns]
        spans = [_span(tagged, match) for match in matches if match is not None]
        return [(min(spans)[0], max(end for _, end in spans))] if len(spans) == len(matches) else []


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: all of them together take over a second, and most texts need few."""
    return re.compile(pattern)


def _span(tagged: TaggedSentence, match: re.Match[str]) -> tuple[int, int]:
    first = tagged.text.count(" ", 0, match.start())
    last = max(first, tagged.text.count(" ", 0, match.end()) - 1)
    return tagged.spans[first][0], tagged.spans[last][1]


def _sequence(source: str, macros: Macros, lexicon: Lexicon, needs: list[frozenset[str]]) -> str:
    """Return the pattern of a part of a frame; `needs` collects the words and classes that a match requires."""
    return "".join(_part(part, macros, lexicon, needs) for part in source.split())


def _part(part: str, macros: Macros, lexicon: Lexicon, needs: list[frozenset[str]]) -> str:
    if part in _GAPS:
        return _GAPS[part].replace("%s", lexicon.any_of(["FILL"]))
    if part in _ENDS:
        return _ENDS[part]
    if part[0] == "@":
        if part[1:] not in macros:
            raise ValueError("unknown macro %s" % part)
        return "(?:%s)" % "|".join(_sequence(each, macros, lexicon, []) for each in macros[part[1:]])
    slot = _SLOT.match(part)
    if slot is None:
        raise ValueError("%r is not part of a frame" % part)
    names = [name for choice in slot[2].split("/") for name in lexicon.names(choice)]
    word = lexicon.any_of(names)
    if slot[3]:
        word = "(?:%s|%s)" % (word, _ENDS["$"])
    if slot[1]:
        return "(?!%s)" % word
    if slot[4]:
        return "(?:%s)?" % word
    if not slot[3]:
        needs.append(frozenset(names))
    return word


def compile_frame(source: str, macros: Macros, lexicon: Lexicon) -> Frame:
    """Compile a frame over the classes of a lexicon. Raises ValueError for a malformed frame."""
    needs: list[frozenset[str]] = []
    patterns = ["(?<![^ ])" + _sequence(part, macros, lexicon, needs) for part in source.split(" & ")]
    return Frame(tuple(patterns), tuple(needs))
