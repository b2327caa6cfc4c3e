"""The user's choice of hygiene rules, for this process: allowed rule ids and additional packs.

Outside the package `hygiene`, so that a hook can set it without importing the rules.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["allowed", "choose", "choose_packs", "chosen_packs", "mark"]

_allowed: set[str] = set()
_packs: list[str] = []


def choose(allow: Iterable[str], packs: Iterable[str]) -> None:
    """Allow the findings of some rules from now on, and use the rules of some packs too."""
    _allowed.clear()
    _allowed.update(allow)
    choose_packs(packs)


def choose_packs(packs: Iterable[str]) -> None:
    """Use the rules of these packs too from now on."""
    _packs[:] = packs


def allowed(rule: str) -> bool:
    """Return whether the user allows the findings of a rule."""
    return rule in _allowed


def chosen_packs() -> tuple[str, ...]:
    """Return the names of the packs that are used in addition to the default rules."""
    return tuple(_packs)


def mark() -> int:
    """Return a checksum of the choice below 2**23, 0 for no choice: a change means that stored redactions are out of date."""
    from zlib import crc32

    chosen = "\0".join([*sorted(_allowed), "", *sorted(_packs)])
    return crc32(chosen.encode("utf-8")) & 0x7FFFFF if _allowed or _packs else 0
