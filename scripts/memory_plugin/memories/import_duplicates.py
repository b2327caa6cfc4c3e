"""Find statements that occur more than once in an import: the same text, or nearly the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .record import categories

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NEAR", "SAME", "repeats"]

SAME, NEAR = "same text", "near duplicate"
_WORD = re.compile(r"[^\W_]+")
_SHARED = 0.7  # of all words of both
_FEWEST = 5
_MAX_COMPARED = 1000


def repeats(many: Sequence[dict[str, Any]]) -> dict[int, tuple[int, str]]:
    """Return index of a repeated memory -> index of the earlier one and whether the text is the same or nearly the same."""
    found: dict[int, tuple[int, str]] = {}
    first: dict[tuple[str, str], int] = {}
    before: list[tuple[int, frozenset[str]]] = []
    for at, data in enumerate(many):
        words = _WORD.findall(_text(data).casefold())
        title = " ".join(_WORD.findall(str(data["title"]).casefold()))
        earlier = first.setdefault((title, " ".join(words)), at)
        terms = frozenset(words)
        if earlier != at:
            found[at] = (earlier, SAME)
        elif len(terms) >= _FEWEST and at < _MAX_COMPARED:
            near = next(
                (earlier for earlier, earlier_terms in before if _is_near(terms, earlier_terms)), None
            )
            if near is None:
                before.append((at, terms))
            else:
                found[at] = (near, NEAR)
    return found


def _text(data: dict[str, Any]) -> str:
    content = data["content"].get(categories()[data["category"]].primary, "")
    return "\n".join(map(str, content)) if isinstance(content, list) else str(content)


def _is_near(terms: frozenset[str], other: frozenset[str]) -> bool:
    if {word for word in terms ^ other if word.isdigit()}:
        return False  # another limit or version
    return len(terms & other) >= _SHARED * len(terms | other)
