"""What the user marked as private, left out.  Runs on every prompt, so it does without `re`.

Entities for text between tags, apart from `clean` so that a prompt loads no regular expressions for it.
"""

from __future__ import annotations

__all__ = ["escape_content", "without_private"]

_NAME = "private"
_SPACE = " \t\r\n\f\v"
_CONTENT_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def without_private(text: str) -> str:
    """Return the text without its `<private>…</private>` parts.

    Case does not count, tags may hold spaces and attributes, parts may be nested.  A part never closed reaches
    to the end of the text; `<private/>` opens one too, since leaving out too much is the safe error.
    A closing tag without an open part is dropped.
    """
    if "<" not in text:
        return text
    lower = text.replace(
        "\u0130", "i"
    ).lower()  # the one character that grows in lower case would shift all positions
    if _NAME not in lower:
        return text
    return _outside(text, lower)


def _outside(text: str, lower: str) -> str:
    kept: list[str] = []
    depth = position = 0
    at = lower.find("<")
    while at >= 0:
        after, closes = _tag(lower, at)
        if after < 0:
            at = lower.find("<", at + 1)
            continue
        if depth == 0:
            kept.append(text[position:at])
        depth = max(0, depth - 1) if closes else depth + 1
        if closes:
            end = lower.find(">", after)
            if end < 0:
                return "".join(kept)
            position = after = end + 1
        at = lower.find("<", after)
    if depth == 0:
        kept.append(text[position:])
    return "".join(kept)


def _tag(lower: str, at: int) -> tuple[int, bool]:
    """Return the position after the tag's name and whether the tag closes; -1 when no private tag begins at `at`."""
    position = _skip(lower, at + 1)
    closes = lower.startswith("/", position)
    if closes:
        position = _skip(lower, position + 1)
    if not lower.startswith(_NAME, position):
        return -1, closes
    position += len(_NAME)
    return (position, closes) if lower[position : position + 1] in _SPACE + "/>" else (-1, closes)


def _skip(lower: str, position: int) -> int:
    while lower[position : position + 1] in _SPACE and position < len(lower):
        position += 1
    return position


def escape_content(text: str) -> str:
    """Return the text as it may stand between tags: as `clean.escape`, but with its quotes, since Claude is to read it."""
    return text.translate(_CONTENT_ENTITIES)
