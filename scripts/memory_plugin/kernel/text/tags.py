"""Tags in text: remove `<private>` parts, and escape characters that could forge tags.

Both run while a prompt waits, so neither uses `re`.
"""

from __future__ import annotations

_NAME = "private"
_SPACE = " \t\r\n\f\v"
_CONTENT_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def without_private(text: str) -> str:
    """Return the text without its `<private>…</private>` parts.

    Case is ignored, tags may contain spaces and attributes, and parts may be nested. An unclosed part extends to the end of the text.
    `<private/>` opens a part, too, because removing too much is the safe error. A closing tag without an open part is removed.
    """
    if "<" not in text:
        return text
    # U+0130 is the only character whose lower case is longer, which would shift all offsets.
    lower = text.replace("\u0130", "i").lower()
    if _NAME not in lower:
        return text
    return _outside(text, lower)


def _outside(text: str, lower: str) -> str:
    """Return the parts of a text outside private tags; `lower` is the text in lower case, with the same offsets."""
    outside: list[str] = []
    depth = position = 0
    at = lower.find("<")
    while at >= 0:
        after, closes = _tag(lower, at)
        if after < 0:
            at = lower.find("<", at + 1)
            continue
        if depth == 0:
            outside.append(text[position:at])
        depth = max(0, depth - 1) if closes else depth + 1
        if closes:
            end = lower.find(">", after)
            if end < 0:
                return "".join(outside)
            position = after = end + 1
        at = lower.find("<", after)
    if depth == 0:
        outside.append(text[position:])
    return "".join(outside)


def _tag(lower: str, at: int) -> tuple[int, bool]:
    """Return the offset after the tag's name, or -1 if no private tag begins at `at`, and whether the tag closes a part."""
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
    """Return the text with `& < >` as entities, so that it cannot forge a tag; quotes stay readable, unlike in `clean.escape`."""
    return text.translate(_CONTENT_ENTITIES)
