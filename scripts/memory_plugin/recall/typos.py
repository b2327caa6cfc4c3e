"""The word of the store that a mistyped word stands for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.sqlite import Connection

# A shorter word has too many neighbours that are words of their own.
SHORTEST = 5


def corrected(connection: Connection, stem: str) -> str:
    """The stem most documents hold among those one edit away, or "" when there is none.

    One edit is a letter more, less or other, or two neighbours swapped (F. J. Damerau, 1964).  Words that differ before their third letter
    are found only where the first two are swapped: people rarely miss a word's beginning, and the search has to stay short.
    """
    if len(stem) < SHORTEST or not (stem.isascii() and stem.isalpha()):
        return ""
    near: list[tuple[int, str]] = []
    for start in (stem[:2], stem[1] + stem[0]):
        near += connection.execute(
            "SELECT -strong - weak, term FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ? "
            "AND strong + weak > 0",
            (start, start + "{", len(stem) - 1, len(stem) + 1),
        )
    return next((term for _, term in sorted(near) if one_edit(stem, term)), "")


def one_edit(left: str, right: str) -> bool:
    """True when one edit makes one word of the other."""
    if len(left) > len(right):
        left, right = right, left
    at = 0
    while at < len(left) and left[at] == right[at]:
        at += 1
    if len(left) < len(right):
        return len(right) - len(left) == 1 and left[at:] == right[at + 1 :]
    swapped = left[at : at + 2] == right[at : at + 2][::-1] and left[at + 2 :] == right[at + 2 :]
    return left != right and (left[at + 1 :] == right[at + 1 :] or swapped)
