"""Numbers with their nouns."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 memory`, `2 memories` or `3 files`."""
    return inflected(number, noun, noun[:-1] + "ies" if noun.endswith("ry") else noun + "s")


def inflected(number: int, singular: str, plural: str) -> str:
    """Return a number with a phrase that agrees with it, such as `1 title is` or `2 titles are`."""
    return "%d %s" % (number, singular if number == 1 else plural)
