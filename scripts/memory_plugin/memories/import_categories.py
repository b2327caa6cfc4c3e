"""Choose the category of an imported text by its content and the heading above it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

from ..kernel.data import load_data
from .import_titles import first_sentence, without_markdown
from .record import categories

_MAX_TEXT = 600
_PROCEDURE = "runbook"


class Sign(NamedTuple):
    """A pattern that indicates a category, with its weight."""

    category: str
    weight: float
    pattern: re.Pattern[str]


def category_of(text: str, heading: str = "", above: str = "", procedure: bool = False) -> str:
    """Return the category with the highest total weight of signs in the text, its heading and the heading above."""
    first = first_sentence(text)
    rest = without_markdown(text)[len(first) : _MAX_TEXT].lstrip(" .:;!?")
    weights = dict.fromkeys(categories(), 0.0)
    for sign in signs():
        if sign.pattern.search(first):
            weights[sign.category] += sign.weight
        elif rest and sign.pattern.search(rest):
            weights[sign.category] += sign.weight * float(_table()["rest"])
    for line, share in ((heading, 1.0), (above, 0.6)):
        category, weight = _heading(line)
        if category:
            weights[category] += weight * share
    if procedure:
        weights[_PROCEDURE] += float(_table()["procedure"])
    best = max(weights, key=lambda name: weights[name])
    return best if weights[best] > 0 else str(_words()[""])


def _heading(heading: str) -> tuple[str, float]:
    """Return the category that a heading indicates, or "", and its weight."""
    category = category_for(heading)
    weak = _table()["weak_headings"]
    words = re.findall(r"\w+", heading.lower())
    is_clear = any(_words().get(word) == category and word not in weak for word in words)
    if is_clear or any(phrase in heading.lower() for phrase, _ in _phrases()):
        return category, float(_table()["clear_headings"].get(category, _table()["heading"]))
    return category, float(_table()["weak_heading"])


def category_for(text: str, otherwise: bool = False) -> str:
    """Return the category of a word or a heading; without one the default category (`otherwise`) or ""."""
    table = _words()
    for phrase, category in _phrases():
        if phrase in text.lower():
            return category
    words = re.findall(r"\w+", text.lower())
    for word in words:
        if word in table:
            return table[word]
    name = "_".join(words)
    if name in categories():
        return name
    return table[""] if otherwise else ""


@cache
def signs() -> tuple[Sign, ...]:
    """Return the signs in order. `{name}` in a pattern stands for the pattern of that name in `parts`."""
    parts = _table()["parts"]

    def compiled(pattern: str) -> re.Pattern[str]:
        expanded = re.sub(r"\{(\w+)\}", lambda name: "(?:%s)" % parts[name[1]], pattern)
        return re.compile(expanded, re.IGNORECASE)

    return tuple(
        Sign(sign["category"], float(sign["weight"]), compiled(sign["pattern"])) for sign in _table()["signs"]
    )


@cache
def _phrases() -> list[tuple[str, str]]:
    return [(phrase, category) for phrase, category in _names()["phrases"]]


@cache
def _words() -> dict[str, str]:
    table = _names()
    words = {word: category for category, words in table["words"].items() for word in words}
    return {**words, "": table["otherwise"]}


@cache
def _names() -> dict[str, Any]:
    return load_data("memories", "importing")


@cache
def _table() -> dict[str, Any]:
    return load_data("memories", "import_signs")
