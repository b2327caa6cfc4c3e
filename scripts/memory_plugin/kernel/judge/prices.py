"""Prices in US dollars: from the user's setting `judge.prices`, else from `config/judges/models.json`.

`Billing` computes the highest possible cost of a call in advance, and the actual cost afterwards. The cost of a model without a known
price is unknown, not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .models import model_table, priced_family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .calls import CallOutcome
    from .question import Question

_MILLION = 1_000_000
_DATE = 8  # digits of a date such as 20251001
_USER_PRICE = "your own settings"
_OVERHEAD = 300  # tokens that a provider may add for structured output
_BYTES_PER_TOKEN = 3  # a safe lower bound for rubrics, which are English prose


class Price(NamedTuple):
    """US dollars per million tokens: tiers of (maximum prompt tokens or None, in, out).

    `known` is False for an assumed price; `as_of` is the date of the price, or says that it is the user's own.
    """

    tiers: Sequence[tuple[int | None, float, float]]
    known: bool
    as_of: str

    def dollars(self, tokens_in: int, tokens_out: int) -> float:
        """Return the estimated price of a call."""
        for max_tokens_in, price_in, price_out in self.tiers:
            if max_tokens_in is None or tokens_in <= max_tokens_in:
                return (tokens_in * price_in + tokens_out * price_out) / _MILLION
        raise ValueError("the last tier has a limit, so longer prompts have no price")


def price_of(model: str, backend: str = "", own: Mapping[str, Sequence[float]] | None = None) -> Price:
    """Return the price of a model: the user's own, else its family's, else a high assumed one that keeps the caps safe.

    `own` is the setting `judge.prices`: a model's name, with or without a date at its end, to [in, out].
    """
    table = model_table()
    if backend == "scripted":
        return Price(((None, 0.0, 0.0),), True, table["as_of"])
    for name, (price_in, price_out) in (own or {}).items():
        if _is_named(model, name):
            return Price(((None, price_in, price_out),), True, _USER_PRICE)
    family = priced_family(model, backend)
    if family is not None and family.price is not None:
        return Price(family.price, True, family.as_of)
    unknown = table["unknown"]
    return Price(((None, unknown["in"], unknown["out"]),), False, table["as_of"])


def _is_named(model: str, name: str) -> bool:
    """Return whether a model has this name, with or without a date at its end."""
    if not model.startswith(name):
        return False
    rest = model[len(name) :]
    return not rest or (rest[0] == "-" and len(rest) == 1 + _DATE and rest[1:].isdigit())


class Billing:
    """The costs of calls to one model; `own` are the user's prices, and a model without a known price is billed at the assumed one."""

    __slots__ = ("_price",)

    def __init__(self, model: str, backend: str, own: Mapping[str, Sequence[float]]) -> None:
        self._price = price_of(model, backend, own)

    def highest(self, question: Question, max_out: int) -> float:
        """Return the highest possible cost of a call whose answer may have `max_out` tokens.

        A question's data counts as one token per byte, the safe bound for any text, unless the question states a lower `max_in`.
        """
        rubric, data = (
            len(text.encode("utf-8", "replace")) for text in (question.rubric.system, question.message)
        )
        data = data if question.max_in is None else min(data, question.max_in)
        return self._price.dollars(rubric // _BYTES_PER_TOKEN + data + _OVERHEAD, max_out)

    def spent(self, reserved: float, outcome: CallOutcome) -> float:
        """Return what counts against the caps: the actual cost, 0 for a refused call, else what was reserved."""
        if outcome.tokens_in is not None and outcome.tokens_out is not None:
            return self._price.dollars(outcome.tokens_in, outcome.tokens_out)
        if not outcome.sent or outcome.refused:
            return 0.0
        return reserved

    def cost(self, outcome: CallOutcome) -> float | None:
        """Return what a call cost; None if the price or the number of tokens is unknown."""
        if not outcome.sent or outcome.refused:
            return 0.0
        if outcome.tokens_in is None or outcome.tokens_out is None or not self._price.known:
            return None
        return self._price.dollars(outcome.tokens_in, outcome.tokens_out)
