"""What the user chose of the hygiene rules, for this process: ids that are let through, packs that are read as well.

It stands outside the package `hygiene`, so that a hook can set it without the cost of the rules.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["allowed", "choose", "choose_packs", "chosen_packs", "mark"]

_allowed: set[str] = set()
_packs: list[str] = []


def choose(allow: Iterable[str], packs: Iterable[str]) -> None:
    """From now on findings of the rules `allow` are let through, and the rules of `packs` are used."""
    _allowed.clear()
    _allowed.update(allow)
    choose_packs(packs)


def choose_packs(packs: Iterable[str]) -> None:
    """From now on the rules of these packs are used too."""
    _packs[:] = packs


def allowed(rule: str) -> bool:
    """Whether the user lets the findings of a rule through."""
    return rule in _allowed


def chosen_packs() -> tuple[str, ...]:
    """The names of the packs that are used beside the rules that always are."""
    return tuple(_packs)


def mark() -> int:
    """A number below 2**23 that changes with the choice, 0 when nothing was chosen: what was redacted before may be so no more."""
    from zlib import crc32

    chosen = "\0".join([*sorted(_allowed), "", *sorted(_packs)])
    return crc32(chosen.encode("utf-8")) & 0x7FFFFF if _allowed or _packs else 0
