"""Find statements that occur more than once in an import: the same text, or nearly the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .record import categories

if TYPE_CHECKING:
    from collections.abc import Sequence

SAME, NEAR = "same text", "near duplicate"
_WORD = re.compile(r"[^\W_]+")
_MIN_OVERLAP = 0.7  # Jaccard index of the words
_MIN_WORDS = 5
_MAX_COMPARED = 1000


def repeats(many: Sequence[dict[str, Any]]) -> dict[int, tuple[int, str]]:
    """Map the index of each repeated memory to that of the earlier one and SAME or NEAR."""
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
        elif len(terms) >= _MIN_WORDS and at < _MAX_COMPARED:
            duplicates = (index for index, other in before if _is_near(terms, other))
            duplicate_of = next(duplicates, None)
            if duplicate_of is None:
                before.append((at, terms))
            else:
                found[at] = (duplicate_of, NEAR)
    return found


def _text(data: dict[str, Any]) -> str:
    content = data["content"].get(categories()[data["category"]].primary, "")
    return "\n".join(map(str, content)) if isinstance(content, list) else str(content)


def _is_near(terms: frozenset[str], other: frozenset[str]) -> bool:
    if {word for word in terms ^ other if word.isdigit()}:
        return False  # another limit or version
    return len(terms & other) >= _MIN_OVERLAP * len(terms | other)
