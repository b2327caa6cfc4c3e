"""What a call costs: by the user's own prices, else by those in `config/judges/models.json`.

An unknown model's cost is unknown, not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .models import model_table, priced_family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Price", "price_of"]

_MILLION = 1_000_000
_DATE = 8  # digits of a date such as 20251001
_OWN = "your own settings"


class Price(NamedTuple):
    """US dollars per million tokens: (most prompt tokens or None, in, out) by size.

    `known` is False for a guess; `as_of` is the date of the price, or says that it is the user's own.
    """

    tiers: Sequence[tuple[int | None, float, float]]
    known: bool
    as_of: str

    def dollars(self, tokens_in: int, tokens_out: int) -> float:
        """Return the estimated price of a call."""
        for most, price_in, price_out in self.tiers:
            if most is None or tokens_in <= most:
                return (tokens_in * price_in + tokens_out * price_out) / _MILLION
        raise ValueError("the last tier has a bound")


def price_of(model: str, backend: str = "", own: Mapping[str, Sequence[float]] | None = None) -> Price:
    """Return the price of a model: the user's own, else that of its family, else the guess that keeps the caps safe.

    `own` is the setting `judge.prices`: a model's name, with or without a date behind it, to [in, out].
    """
    table = model_table()
    if backend == "scripted":
        return Price(((None, 0.0, 0.0),), True, table["as_of"])
    for name, (price_in, price_out) in (own or {}).items():
        if _is_named(model, name):
            return Price(((None, price_in, price_out),), True, _OWN)
    family = priced_family(model, backend)
    if family is not None and family.price is not None:
        return Price(family.price, True, family.as_of)
    unknown = table["unknown"]
    return Price(((None, unknown["in"], unknown["out"]),), False, table["as_of"])


def _is_named(model: str, name: str) -> bool:
    """Return whether a model has this name, with or without a date behind it."""
    if not model.startswith(name):
        return False
    rest = model[len(name) :]
    return not rest or (rest[0] == "-" and len(rest) == 1 + _DATE and rest[1:].isdigit())
