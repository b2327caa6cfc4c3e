"""What calls to one model cost: at most, before they are made, and really, afterwards. All in US dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .prices import price_of

if TYPE_CHECKING:
    from .outcome import Outcome
    from .question import Question

__all__ = ["ROOM", "Billing"]

ROOM = 4  # a plain request may be thought over first, which counts as output: so many times the room of the other
_OVERHEAD = 1000  # tokens that a provider may add for the structured form


class Billing:
    """The prices of one model; a model whose price is unknown is billed at the assumed one."""

    __slots__ = ("_price",)

    def __init__(self, model: str, backend: str) -> None:
        self._price = price_of(model, backend)

    def highest(self, question: Question, *, plain: bool = True) -> float:
        """The most that a call can cost: a token is at least one byte, and no answer is longer than was asked for."""
        given = len((question.rubric.system + question.message).encode("utf-8", "replace")) + _OVERHEAD
        return self._price.dollars(given, question.rubric.max_tokens * (ROOM if plain else 1))

    def spent(self, question: Question, outcome: Outcome) -> float:
        """What counts against the caps: the real use; nothing for what was refused; else the most it can have cost."""
        if outcome.tokens_in is not None and outcome.tokens_out is not None:
            return self._price.dollars(outcome.tokens_in, outcome.tokens_out)
        if not outcome.sent or outcome.refused:
            return 0.0
        return self.highest(question, plain=outcome.plain)

    def cost(self, outcome: Outcome) -> float | None:
        """What a call cost as far as it is known; None where the price or the use is not."""
        if not outcome.sent or outcome.refused:
            return 0.0
        if outcome.tokens_in is None or outcome.tokens_out is None or not self._price.known:
            return None
        return self._price.dollars(outcome.tokens_in, outcome.tokens_out)
