"""The word lists and numbers that the scoring works with, as the plugin ships them."""

from __future__ import annotations

from ..kernel.native import loads
from ..kernel.paths import data_path
from .phrases import Phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Lexicon", "load_lexicon", "load_table"]


def load_table(name: str) -> dict[str, Any]:
    """A file of `config/replies/`."""
    with open(data_path("replies", name + ".json"), encoding="utf-8") as handle:
        table = loads(handle.read())
    assert isinstance(table, dict)
    return table


class Lexicon:
    """What density and preamble need."""

    __slots__ = (
        "function_words",
        "language_share",
        "language_words",
        "lead_scopes",
        "leads",
        "minimum_words",
    )

    def __init__(self, density: dict[str, Any], preamble: dict[str, Any]) -> None:
        self.function_words = frozenset(density["function_words"].split())
        self.minimum_words: int = density["minimum_words"]
        self.language_words: int = density["language"]["least_words"]
        self.language_share: float = density["language"]["least_function_share"]
        classes = {name: frozenset(words.split()) for name, words in preamble["classes"].items()}
        pairs = [(pattern, lead["scope"]) for lead in preamble["leads"] for pattern in lead["patterns"]]
        self.leads = Phrases([pattern for pattern, _ in pairs], classes)
        self.lead_scopes = [scope for _, scope in pairs]


def load_lexicon() -> Lexicon:
    """The lexicon that the plugin ships with."""
    return Lexicon(load_table("density"), load_table("preamble"))
