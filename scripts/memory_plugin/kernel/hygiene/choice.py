"""The user's choice of rules, for this process; apart from the rules, so that a hook can set it without them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_allowed: set[str] = set()
_packs: list[str] = []


def choose(allow: Iterable[str], packs: Iterable[str]) -> None:
    """Set both parts of the choice: the rules whose findings are allowed, and the additional packs."""
    _allowed.clear()
    _allowed.update(allow)
    _packs[:] = packs


def allowed(rule: str) -> bool:
    """Return whether the user allows the findings of a rule."""
    return rule in _allowed


def chosen_packs() -> tuple[str, ...]:
    """Return the names of the additional packs."""
    return tuple(_packs)


def chosen_rules() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the allowed rule ids and the packs in use, as a cache key: the same text redacts differently under another choice."""
    return frozenset(_allowed), tuple(_packs)


def rules_checksum() -> int:
    """Return a checksum of the choice below 2**23, 0 for no choice: a change means that stored redactions are out of date."""
    from zlib import crc32

    chosen = "\0".join([*sorted(_allowed), "", *sorted(_packs)])
    return crc32(chosen.encode("utf-8")) & 0x7FFFFF if _allowed or _packs else 0
