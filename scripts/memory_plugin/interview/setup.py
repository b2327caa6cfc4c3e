"""What an interview is started with, frozen: topic, pack and tables, so that a later change of them changes no talk under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.text.clean import plain
from .redundancy import prepared_table
from .tables import load_table, with_pack
from .wording import content_stems

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Terms", "new_setup"]

MAX_TOPIC = 200


class Terms(NamedTuple):
    """What the user's settings say: most questions, share of elements that is enough, whether a falling mood ends the talk."""

    max_turns: int
    target_coverage: float
    close_when_falling: bool


def new_setup(topic: str, pack: Mapping[str, Any], place: str, terms: Terms) -> dict[str, Any]:
    """The frozen set-up of an interview, JSON throughout. Raises ConfigError for a pack that names something unknown."""
    redundancy = prepared_table(load_table("redundancy"))
    idle = frozenset(redundancy["function_words"])
    patterns = {name: group["phrases"] for name, group in load_table("patterns")["groups"].items()}
    return {
        "topic": plain(topic, MAX_TOPIC),
        "pack": {key: pack[key] for key in ("id", "name", "types", "ladder", "terminal")},
        "elements": [
            dict(element, stems=_stems([element["label"], *element["aliases"]], idle))
            for element in pack["elements"]
        ],
        "scoring": with_pack(load_table("scoring"), dict(pack), place),
        "redundancy": redundancy,
        "patterns": {
            name: [_plain_words(phrase) for phrase in phrases] for name, phrases in patterns.items()
        },
        "signals": load_table("signals"),
        "max_turns": terms.max_turns,
        "target_coverage": terms.target_coverage,
        "close_when_falling": terms.close_when_falling,
    }


def _plain_words(phrase: str) -> str:
    from .wording import spoken

    return spoken(phrase).strip()


def _stems(texts: list[str], idle: frozenset[str]) -> list[list[str]]:
    found = [content_stems(text, idle) for text in texts]
    return [stems for at, stems in enumerate(found) if stems and stems not in found[:at]]
