"""The lexicon: words and phrases by class, with their forms, and sentences tagged with them for frames.

An entry is a word or phrase. `~v` on a word adds its verb forms, `~n` its plural. `*oxetine` accepts every longer word with that ending,
`!word` removes a word from a class, `{OTHER}` includes another class. A verb's forms have classes of their own: `STOP` holds "stop",
`STOP-S` "stops", `STOP-ED` "stopped", `STOP-ING` "stopping".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "BREAK",
    "FORMS",
    "MANY",
    "MAX_PHRASE",
    "NUMBER",
    "PUNCTUATION",
    "Lexicon",
    "TaggedSentence",
    "build_lexicon",
]

NUMBER, MANY, BREAK, PUNCTUATION = "NUMBER", "MANY", "BREAK", "PUNCT"
FORMS = ("", "-S", "-ED", "-ING")
MAX_PHRASE = 8  # words
_MAX_WORD = 40  # characters; the rest of a longer one is ignored
_MIN_STEM = 2
_MOST_KNOWN = 20_000  # words
_TOKEN = re.compile(r"\d+(?:[.,/]\d+)*|[a-z]+(?:'[a-z]+)*|'[a-z]+|[^\w\s]|[^\W\d]+", re.IGNORECASE)
_JOINED = "-/"
_CLITIC = re.compile(r"(?<=[a-z])'(?:s|re|ve|ll|d|m)$")
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh)$")
_SHORT = re.compile(r"^(?:qu|[^aeiou])*[aeiou][^aeiouwxy]$")


class TaggedSentence(NamedTuple):
    """A sentence with the classes that begin at each word; a phrase's class has its length: `|blood|DRUG:2| |thinner| `.

    `classes` are all words and classes in it, `spans` the place of each word in the sentence.
    """

    text: str
    classes: frozenset[str]
    spans: tuple[tuple[int, int], ...]


class Lexicon:
    """Classes of words and phrases. `spellings` are other ways to write words: "dont" for "do not"."""

    __slots__ = ("_any_ending", "_endings", "_known", "_longest", "_phrases", "_spellings")

    def __init__(
        self,
        phrases: Mapping[tuple[str, ...], set[str]],
        endings: Sequence[tuple[str, str, frozenset[str]]],
        spellings: Mapping[str, tuple[str, ...]],
    ) -> None:
        """Set the classes by phrase, the endings with their class and its exceptions, and the spellings."""
        self._phrases = phrases
        self._endings = endings
        self._any_ending = tuple({ending for ending, _, _ in endings})
        self._known: dict[str, tuple[str, ...]] = {}
        self._spellings = spellings
        self._longest: dict[str, int] = {}
        for phrase in phrases:
            self._longest[phrase[0]] = max(len(phrase), self._longest.get(phrase[0], 0))

    def tag(self, sentence: str) -> TaggedSentence:
        """Return the sentence, tagged word by word."""
        words = list(self._words(sentence.lower()))
        parts: list[str] = []
        seen: set[str] = set()
        for at, (word, _, _) in enumerate(words):
            names = list(self._classes(word))
            seen.update(names)
            for length in range(2, min(self._longest.get(word, 1), len(words) - at) + 1):
                found = self._phrases.get(tuple([word for word, _, _ in words[at : at + length]]), ())
                seen.update(found)
                names += ["%s:%d" % (name, length) for name in found]
            parts.append("|%s| " % "|".join(names))
        return TaggedSentence(
            "".join(parts), frozenset(seen), tuple([(start, end) for _, start, end in words])
        )

    def _words(self, sentence: str) -> Iterator[tuple[str, int, int]]:
        for match in _TOKEN.finditer(sentence):
            token, start, end = match[0], match.start(), match.end()
            if (
                token in _JOINED
                and start
                and sentence[start - 1].isalpha()
                and sentence[end : end + 1].isalpha()
            ):
                continue
            spelled = self._spellings.get(token)
            clitic = None if spelled else _CLITIC.search(token)
            if spelled:
                yield from ((word, start, end) for word in spelled)
            elif clitic:
                yield from (
                    (word, start, end)
                    for word in self._spellings.get(token[: clitic.start()], (token[: clitic.start()],))
                )
                yield from ((word, start, end) for word in self._spellings.get(clitic[0], (clitic[0],)))
            elif len(token) > 3 and token.endswith("n't"):
                yield token[:-3], start, end
                yield "not", start, end
            else:
                yield token, start, end

    def _classes(self, word: str) -> tuple[str, ...]:
        """Return a word, cut to 40 characters, and the classes that it belongs to by itself; those of the last words are kept."""
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[word] = tuple(self._find_classes(word))
        return known

    def _find_classes(self, word: str) -> list[str]:
        classes = sorted(self._phrases.get((word,), ()))
        if word[0].isdigit():
            classes += [NUMBER, MANY] if len(word) > 1 and word.isdigit() else [NUMBER]
        elif not word[0].isalpha() and word[0] != "'":
            classes += [BREAK, PUNCTUATION]
        for ending, name, exceptions in self._endings if word.endswith(self._any_ending) else ():
            if word.endswith(ending) and len(word) >= len(ending) + _MIN_STEM and word not in exceptions:
                classes.append(name)
        return [word[:_MAX_WORD], *classes]


def build_lexicon(
    words: Mapping[str, Sequence[str]], irregular: Mapping[str, str], spellings: Mapping[str, str]
) -> Lexicon:
    """Return the lexicon of a pack's `words`.

    Raises KeyError for an unknown class, ValueError for one that includes itself and for a phrase that is too long.
    """
    phrases: dict[tuple[str, ...], set[str]] = {}
    endings: list[tuple[str, str, frozenset[str]]] = []
    for name in words:
        entries = list(_entries(name, words, ()))
        without = frozenset(entry[1:] for entry in entries if entry[0] == "!")
        for entry in entries:
            if entry[0] == "*":
                endings += [(form, name, without) for form in (entry[1:], entry[1:] + "s")]
            elif entry[0] != "!":
                for phrase, form in _forms(entry, irregular):
                    if len(phrase) > MAX_PHRASE:
                        raise ValueError("words: %s: %s: more than %d words" % (name, entry, MAX_PHRASE))
                    if " ".join(phrase) not in without:
                        phrases.setdefault(phrase, set()).add(name + form)
    return Lexicon(phrases, endings, {key: tuple(value.split()) for key, value in spellings.items()})


def _entries(name: str, words: Mapping[str, Sequence[str]], inside: tuple[str, ...]) -> Iterator[str]:
    if name in inside:
        raise ValueError("words: %s includes itself" % name)
    for entry in words[name]:
        if entry.startswith("{") and entry.endswith("}"):
            yield from _entries(entry[1:-1], words, (*inside, name))
        elif entry.strip(" !*"):
            yield entry.lower()


def _forms(entry: str, irregular: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield a phrase in all its forms, each with the suffix of its class."""
    plain = entry.replace("-", " ").split()
    marked = next((place for place, word in enumerate(plain) if word[-2:] in ("~v", "~n")), None)
    if marked is None:
        yield tuple(plain), ""
        return
    word, kind = plain[marked][:-2], plain[marked][-1]
    forms = _verb(word, irregular) if kind == "v" else [(word, ""), (_plural(word), "")]
    for form, suffix in forms:
        yield (*plain[:marked], form, *plain[marked + 1 :]), suffix


def _verb(word: str, irregular: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the forms of a verb; given irregular forms replace the regular ones of the same ending."""
    stem = word[:-1] if word.endswith("e") and not word.endswith(("ee", "oe", "ye")) else word
    doubled = word + word[-1] if _SHORT.match(word) else stem
    given = irregular.get(word, "").split()
    third = [form for form in given if form.endswith("s")] or [_plural(word)]
    going = [form for form in given if form.endswith("ing")]
    going = going or [word[:-2] + "ying" if word.endswith("ie") else doubled + "ing"]
    past = [form for form in given if form not in (*third, *going)]
    past = past or [
        word + "d" if word.endswith("e") else word[:-1] + "ied" if _ends_in_y(word) else doubled + "ed"
    ]
    forms = (([word], ""), (third, "-S"), (past, "-ED"), (going, "-ING"))
    return [(form, suffix) for some, suffix in forms for form in some]


def _plural(word: str) -> str:
    if _ends_in_y(word):
        return word[:-1] + "ies"
    return word + ("es" if _SIBILANT.search(word) or word.endswith("o") else "s")


def _ends_in_y(word: str) -> bool:
    return word.endswith("y") and word[-2:-1] not in tuple("aeiou")
