"""The JSON object in what a model wrote: alone, fenced, or in the midst of prose."""

from __future__ import annotations

from json import JSONDecoder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .question import Reader, Values

__all__ = ["read_reply", "selected"]

_LONGEST = 40_000  # characters; answers have a few hundred
_MOST_STARTS = 200
_DECODER = JSONDecoder()


def read_reply(text: str, read: Reader) -> Values | None:
    """The values in a model's reply; None when it holds no object of the right shape, or several that differ.

    Two different answers in one reply are none: one of them may be a quotation of what was judged.
    Never raises for any text.
    """
    found: list[Values] = []
    at, tried = text.find("{", 0, _LONGEST), 0
    while at >= 0 and tried < _MOST_STARTS:
        tried += 1
        value, end = _object(text[:_LONGEST], at)
        values = read(value) if value is not None else None
        if values is not None and values not in found:
            found.append(values)
        at = text.find("{", end if values is not None else at + 1, _LONGEST)
    return found[0] if len(found) == 1 else None


def _object(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at
    return (value, end) if isinstance(value, dict) else (None, at)


def selected(value: Values, key: str, offered: int) -> Values | None:
    """The choice under `key`: `chosen`, indices in [0, offered) in ascending order, and `dropped`, how many were none.

    None when there is no list under the key.  `true` is no index and neither is `1.0` or `"1"`; a second mention
    counts as dropped.
    """
    given = value.get(key)
    if not isinstance(given, list):
        return None
    chosen = {i for i in given if isinstance(i, int) and not isinstance(i, bool) and 0 <= i < offered}
    return {"chosen": sorted(chosen), "dropped": len(given) - len(chosen)}
