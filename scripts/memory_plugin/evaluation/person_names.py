"""Find full names of people in a text that no phrase introduces, by the lists of `config/evaluation/names.json`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ..kernel.data import load_data
from ..kernel.text.tokens import fold

_TITLES = frozenset(("Mr", "Mrs", "Ms", "Miss"))
_MAX_WORDS = 4
_WORD = r"(?:(?:Mrs?|Ms|[A-Z])\.|[^\W\d_a-z](?:[^\W\d_]|['\u2019-](?=[^\W\d_]{2}))*)"
_NAME = re.compile(_WORD)
# Words with a capital letter in a row, also with particles between them: "Anna K. de la Cruz".
_RUN = re.compile(r"(?<![\w'\u2019-])%s(?: (?:(?:al|bin|da|de|del|den|der|di|la|le|van|von) ){0,2}%s)+" % (_WORD, _WORD))


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(" ".join(load_data("evaluation", "names")[name]).split())


def find_full_names(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each full name: a known given name or a title, and what follows it with a capital letter."""
    for run in _RUN.finditer(text):
        matches = list(_NAME.finditer(text, *run.span()))
        words = [fold(match[0].rstrip(".")) for match in matches]
        for at, word in enumerate(words[:-1]):
            rest = words[at + 1 : at + _MAX_WORDS]
            if _is_name(word.partition("-")[0], rest) and _words("no_names").isdisjoint(words[at : at + _MAX_WORDS]):
                yield matches[at].start(), matches[at + len(rest)].end()
                break


def _is_name(first: str, rest: list[str]) -> bool:
    if first in _words("ambiguous"):
        return not _words("family").isdisjoint(rest)
    return (first in _TITLES or first in _words("given")) and any(len(word) > 1 for word in rest)
