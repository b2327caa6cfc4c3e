"""The word of the store that a mistyped word stands for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_plugin.kernel.sqlite import Connection

# A shorter word has too many neighbours that are words of their own.
SHORTEST = 5
_MOST_LOOKED_AT = 2000


def corrected(connection: Connection, stem: str) -> str:
    """The stem most documents hold among those one edit away and alike in the first letter, or "" when there is none.

    One edit is a letter more, less or other, or two neighbours swapped (F. J. Damerau, 1964).
    """
    if len(stem) < SHORTEST or not (stem.isascii() and stem.isalpha()):
        return ""
    rows = connection.execute(
        "SELECT term FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ? AND strong + weak > 0 "
        "ORDER BY strong + weak DESC, term LIMIT ?",
        (stem[0], chr(ord(stem[0]) + 1), len(stem) - 1, len(stem) + 1, _MOST_LOOKED_AT),
    )
    for (term,) in rows:
        if one_edit(stem, term):
            return str(term)
    return ""


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
