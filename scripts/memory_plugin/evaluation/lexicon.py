"""Tag sentences with word classes for frames, from a lexicon of words and phrases with their forms.

An entry is a word or phrase. `~v` on a word adds its verb forms, `~n` its plural. `*oxetine` accepts every longer word with that ending,
`!word` removes a word from a class, `{OTHER}` includes another class. A verb's forms have classes of their own: `STOP` contains "stop",
`STOP-S` "stops", `STOP-ED` "stopped", `STOP-ING` "stopping".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

NUMBER, MANY, BREAK, PUNCTUATION = "NUMBER", "MANY", "BREAK", "PUNCT"
FORMS = ("", "-S", "-ED", "-ING")
MAX_PHRASE = 8  # words
_MAX_WORD = 40  # characters; the rest of a longer word is ignored
_MIN_STEM = 2
_MAX_CACHED = 20_000  # words
_TOKEN = re.compile(r"\d+(?:[.,/]\d+)*|[a-z]+(?:'[a-z]+)*|'[a-z]+|[^\w\s]|[^\W\d]+", re.IGNORECASE)
_JOINED = "-/"
_CLITIC = re.compile(r"(?<=[a-z])'(?:s|re|ve|ll|d|m)$")
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)$")
_SHORT = re.compile(r"^(?:qu|[^aeiou])*[aeiou][^aeiouwxy]$")


class TaggedSentence(NamedTuple):
    """A sentence with the classes that begin at each word; a phrase's class has its length: `|blood|DRUG:2| |thinner| `.

    `classes` are all words and classes in the sentence, and `spans` the start and end of each word.
    """

    text: str
    classes: frozenset[str]
    spans: tuple[tuple[int, int], ...]


class Lexicon:
    """Classes of words and phrases. `spellings` maps variants to words: "dont" to "do not"."""

    __slots__ = ("_all_endings", "_class_cache", "_endings", "_max_lengths", "_phrases", "_spellings")

    def __init__(
        self,
        phrases: Mapping[tuple[str, ...], set[str]],
        endings: Sequence[tuple[str, str, frozenset[str]]],
        spellings: Mapping[str, tuple[str, ...]],
    ) -> None:
        """Set the classes by phrase, the endings with their class and its exceptions, and the spellings."""
        self._phrases = phrases
        self._endings = endings
        self._all_endings = tuple({ending for ending, _, _ in endings})
        self._class_cache: dict[str, tuple[list[str], str]] = {}
        self._spellings = spellings
        self._max_lengths: dict[str, int] = {}  # of phrases, by first word
        for phrase in phrases:
            self._max_lengths[phrase[0]] = max(len(phrase), self._max_lengths.get(phrase[0], 0))

    def phrase_lengths(self, classes: Iterable[str]) -> dict[str, set[int]]:
        """Return the lengths in words of each class's phrases; empty for a class without phrases of its own."""
        lengths: dict[str, set[int]] = {name: set() for name in (*classes, NUMBER, MANY, BREAK, PUNCTUATION)}
        for name in (NUMBER, MANY, BREAK, PUNCTUATION, *(name for _, name, _ in self._endings)):
            lengths[name].add(1)
        for phrase, names in self._phrases.items():
            for name in names:
                lengths.setdefault(name, set()).add(len(phrase))
        return lengths

    def tag(self, sentence: str) -> TaggedSentence:
        """Return the sentence, tagged word by word."""
        words, spans = self._words(sentence.lower())
        parts: list[str] = []
        all_classes: set[str] = set()
        for at, word in enumerate(words):
            names, tag = self._classes(word)
            all_classes.update(names)
            parts.append(tag)
            if word in self._max_lengths:
                for length in range(2, min(self._max_lengths[word], len(words) - at) + 1):
                    classes = self._phrases.get(tuple(words[at : at + length]), ())
                    all_classes.update(classes)
                    parts += ["|%s:%d" % (name, length) for name in classes]
            parts.append("| ")
        return TaggedSentence("".join(parts), frozenset(all_classes), tuple(spans))

    def _words(self, sentence: str) -> tuple[list[str], list[tuple[int, int]]]:
        """Return the words and their spans; the words of one contraction have the same span."""
        words: list[str] = []
        spans: list[tuple[int, int]] = []
        for match in _TOKEN.finditer(sentence):
            token, (start, end) = match[0], match.span()
            if (
                token in _JOINED
                and start
                and sentence[start - 1].isalpha()
                and sentence[end : end + 1].isalpha()
            ):
                continue
            expanded = self._expand(token)
            words += expanded
            spans += [(start, end)] * len(expanded)
        return words, spans

    def _expand(self, token: str) -> tuple[str, ...]:
        """Return a token's words: of a contraction or a variant spelling several, else the token itself."""
        spelling = self._spellings.get(token)
        if spelling:
            return spelling
        if "'" not in token:
            return (token,)
        clitic = _CLITIC.search(token)
        if clitic:
            parts = (token[: clitic.start()], clitic[0])
            return tuple([word for part in parts for word in self._spellings.get(part, (part,))])
        if len(token) > 3 and token.endswith("n't"):
            return token[:-3], "not"
        return (token,)

    def _classes(self, word: str) -> tuple[list[str], str]:
        """Return a word, cut to 40 characters, with its classes, and both as a tag: `|stop|STOP`. The result is cached."""
        cached = self._class_cache.get(word)
        if cached is None:
            if len(self._class_cache) >= _MAX_CACHED:
                self._class_cache.clear()
            names = self._find_classes(word)
            cached = self._class_cache[word] = (names, "|" + "|".join(names))
        return cached

    def _find_classes(self, word: str) -> list[str]:
        classes = sorted(self._phrases.get((word,), ()))
        if word[0].isdigit():
            classes += [NUMBER, MANY] if len(word) > 1 and word.isdigit() else [NUMBER]
        elif not word[0].isalpha() and word[0] != "'":
            classes += [BREAK, PUNCTUATION]
        for ending, name, exceptions in self._endings if word.endswith(self._all_endings) else ():
            if word.endswith(ending) and len(word) >= len(ending) + _MIN_STEM and word not in exceptions:
                classes.append(name)
        return [word[:_MAX_WORD], *classes]


def build_lexicon(
    words: Mapping[str, Sequence[str]], irregular: Mapping[str, str], spellings: Mapping[str, str]
) -> Lexicon:
    """Build the lexicon from a pack's `words`.

    Raises KeyError for an unknown class, and ValueError for a class that includes itself or a phrase that is too long.
    """
    phrases: dict[tuple[str, ...], set[str]] = {}
    endings: list[tuple[str, str, frozenset[str]]] = []
    for name in words:
        entries = list(_entries(name, words, ()))
        exceptions = frozenset(entry[1:] for entry in entries if entry[0] == "!")
        for entry in entries:
            if entry[0] == "*":
                endings += [(form, name, exceptions) for form in (entry[1:], entry[1:] + "s")]
            elif entry[0] != "!":
                for phrase, form in _forms(entry, irregular):
                    if len(phrase) > MAX_PHRASE:
                        raise ValueError("words: %s: %s: more than %d words" % (name, entry, MAX_PHRASE))
                    if " ".join(phrase) not in exceptions:
                        phrases.setdefault(phrase, set()).add(name + form)
    return Lexicon(phrases, endings, {key: tuple(value.split()) for key, value in spellings.items()})


def _entries(name: str, words: Mapping[str, Sequence[str]], parents: tuple[str, ...]) -> Iterator[str]:
    """Yield the entries of a class and of the classes that it includes."""
    if name in parents:
        raise ValueError("words: %s includes itself" % name)
    for entry in words[name]:
        if entry.startswith("{") and entry.endswith("}"):
            yield from _entries(entry[1:-1], words, (*parents, name))
        elif entry.strip(" !*"):
            yield entry.lower()


def _forms(entry: str, irregular: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield a phrase in all its forms, each with the suffix of its class."""
    words = entry.replace("-", " ").split()
    inflected = next((at for at, word in enumerate(words) if word[-2:] in ("~v", "~n")), None)
    if inflected is None:
        yield tuple(words), ""
        return
    word, kind = words[inflected][:-2], words[inflected][-1]
    forms = _verb_forms(word, irregular) if kind == "v" else [(word, ""), (_plural(word), "")]
    for form, suffix in forms:
        yield (*words[:inflected], form, *words[inflected + 1 :]), suffix


def _verb_forms(word: str, irregular: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the forms of a verb with their suffixes; irregular forms replace the regular ones of the same ending."""
    irregular_forms = irregular.get(word, "").split()
    third = [form for form in irregular_forms if form.endswith("s")] or [_plural(word)]
    participles = [form for form in irregular_forms if form.endswith("ing")] or [_present_participle(word)]
    past = [form for form in irregular_forms if form not in (*third, *participles)] or [_past(word)]
    by_suffix = (([word], ""), (third, "-S"), (past, "-ED"), (participles, "-ING"))
    return [(form, suffix) for forms, suffix in by_suffix for form in forms]


def _present_participle(word: str) -> str:
    return word[:-2] + "ying" if word.endswith("ie") else _stem(word) + "ing"


def _past(word: str) -> str:
    if word.endswith("e"):
        return word + "d"
    return word[:-1] + "ied" if _ends_in_y(word) else _stem(word) + "ed"


def _stem(word: str) -> str:
    """Return a verb before "ing" and "ed": with a doubled consonant, or without a silent e."""
    if _SHORT.match(word):
        return word + word[-1]
    return word[:-1] if word.endswith("e") and not word.endswith(("ee", "oe", "ye")) else word


def _plural(word: str) -> str:
    if _ends_in_y(word):
        return word[:-1] + "ies"
    return word + ("es" if _SIBILANT.search(word) or word.endswith("o") else "s")


def _ends_in_y(word: str) -> bool:
    return word.endswith("y") and word[-2:-1] not in tuple("aeiou")
