"""Excerpts of a text that may be sent to a judge: short, visible characters only, without private parts and secrets.

A text is redacted before it is cut, so that no part of a secret remains at a cut, and again in the form in which it is sent.
"""

from __future__ import annotations

from ..hygiene import redact
from ..text.clean import block, plain
from ..text.tags import without_private

# Characters that are redacted at each end: more than any secret that the rules find, PEM keys included.
_MARGIN = 10_000
_GAP = " [...] "


def excerpt(text: str, limit: int) -> str:
    """Return the head and the tail of a text, at most `limit` (> 20) characters in all; a short text is not cut."""
    text = without_private(text)
    if len(text) > 2 * _MARGIN:
        head, tail = _redacted(text[:_MARGIN]), _redacted(text[-_MARGIN:])
    else:
        head = tail = _redacted(text)
        if len(head) <= limit:
            return head
    half = (limit - len(_GAP)) // 2
    return head[:half] + _GAP + tail[-half:]


def _redacted(text: str) -> str:
    return redact(block(redact(text, "judge").text, 2 * _MARGIN + 1), "judge").text


def one_line(text: str, limit: int) -> str:
    """Return a short text such as a title on one line of at most `limit` characters."""
    first = redact(without_private(text), "judge").text
    line = plain(first, len(first) + 1)
    return plain(line if line == first else redact(line, "judge").text, limit)
