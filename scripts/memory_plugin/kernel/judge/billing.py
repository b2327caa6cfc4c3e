"""What calls to one model cost: at most, before they are made, and really, afterwards. All in US dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .prices import price_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .outcome import Outcome
    from .question import Question

__all__ = ["Billing"]

_OVERHEAD = 300  # tokens that a provider may add for the structured form
_BYTES_PER_TOKEN = 3  # at least, of the rubrics: English prose, counted with room to spare


class Billing:
    """The prices of one model, the user's `own` before all; a model whose price is unknown is billed at the assumed one."""

    __slots__ = ("_price",)

    def __init__(self, model: str, backend: str, own: Mapping[str, Sequence[float]]) -> None:
        self._price = price_of(model, backend, own)

    def highest(self, question: Question, most_out: int) -> float:
        """Return the most that a call can cost whose answer may have `most_out` tokens; of foreign text a token is at least a byte.

        A question that knows better how many tokens it has is taken at its word.
        """
        own, foreign = (
            len(text.encode("utf-8", "replace")) for text in (question.rubric.system, question.message)
        )
        foreign = foreign if question.most_in is None else min(foreign, question.most_in)
        return self._price.dollars(own // _BYTES_PER_TOKEN + foreign + _OVERHEAD, most_out)

    def spent(self, reserved: float, outcome: Outcome) -> float:
        """Return what counts against the caps: the real use; nothing for what was refused; else what was reserved."""
        if outcome.tokens_in is not None and outcome.tokens_out is not None:
            return self._price.dollars(outcome.tokens_in, outcome.tokens_out)
        if not outcome.sent or outcome.refused:
            return 0.0
        return reserved

    def cost(self, outcome: Outcome) -> float | None:
        """Return what a call cost as far as it is known; None where the price or the use is not."""
        if not outcome.sent or outcome.refused:
            return 0.0
        if outcome.tokens_in is None or outcome.tokens_out is None or not self._price.known:
            return None
        return self._price.dollars(outcome.tokens_in, outcome.tokens_out)
