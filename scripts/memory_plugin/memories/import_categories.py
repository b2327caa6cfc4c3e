"""Choose the category of an imported text by its content and the heading above it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from ..kernel.data import load_data
from .import_titles import first_sentence, without_markdown
from .record import categories

__all__ = ["Sign", "category_for", "category_of", "signs"]

_LONGEST = 600
_PROCEDURE = "runbook"


class Sign(NamedTuple):
    """A pattern that indicates a category, with its weight."""

    category: str
    weight: float
    pattern: re.Pattern[str]


def category_of(text: str, heading: str = "", above: str = "", procedure: bool = False) -> str:
    """Return the category with the highest total weight of signs in the text, its heading and the heading above."""
    first = first_sentence(text)
    rest = without_markdown(text)[len(first) : _LONGEST].lstrip(" .:;!?")
    weights = dict.fromkeys(categories(), 0.0)
    for sign in signs():
        if sign.pattern.search(first):
            weights[sign.category] += sign.weight
        elif rest and sign.pattern.search(rest):
            weights[sign.category] += sign.weight * float(_table()["rest"])
    for line, share in ((heading, 1.0), (above, 0.6)):
        named, weight = _heading(line)
        if named:
            weights[named] += weight * share
    if procedure:
        weights[_PROCEDURE] += float(_table()["procedure"])
    best = max(weights, key=lambda name: weights[name])
    return best if weights[best] > 0 else str(_words()[""])


def _heading(heading: str) -> tuple[str, float]:
    """Return the category that a heading indicates, and its weight."""
    named = category_for(heading)
    weak = _table()["weak_headings"]
    words = re.findall(r"\w+", heading.lower())
    clear = any(_words().get(word) == named and word not in weak for word in words)
    clear = clear or any(phrase in heading.lower() for phrase, _ in _phrases())
    weight = _table()["clear_headings"].get(named, _table()["heading"]) if clear else _table()["weak_heading"]
    return named, float(weight)


def category_for(text: str, otherwise: bool = False) -> str:
    """Return the category of a word or a heading, or `otherwise` if there is none."""
    table = _words()
    for phrase, category in _phrases():
        if phrase in text.lower():
            return category
    for word in re.findall(r"\w+", text.lower()):
        if word in table:
            return table[word]
    whole = "_".join(re.findall(r"\w+", text.lower()))
    if whole in categories():
        return whole
    return table[""] if otherwise else ""


@cache
def signs() -> tuple[Sign, ...]:
    """Return the signs in their order."""
    table = _table()
    return tuple(
        Sign(
            sign["category"],
            float(sign["weight"]),
            re.compile(
                re.sub(r"\{(\w+)\}", lambda part: "(?:%s)" % table["parts"][part[1]], sign["pattern"]),
                re.IGNORECASE,
            ),
        )
        for sign in table["signs"]
    )


@cache
def _phrases() -> list[tuple[str, str]]:
    return [(phrase, category) for phrase, category in _named()["phrases"]]


@cache
def _words() -> dict[str, str]:
    table = _named()
    words = {word: category for category, words in table["words"].items() for word in words}
    return {**words, "": table["otherwise"]}


@cache
def _named() -> dict[str, Any]:
    return load_data("memories", "importing")


@cache
def _table() -> dict[str, Any]:
    return load_data("memories", "import_signs")
