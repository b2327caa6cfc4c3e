"""A question to a model and what comes back: values, or the name of the reason why there are none."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING

from ..native import digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .rubric import Rubric

    Values = dict[str, Any]
    Reader = Callable[[Values], "Values | None"]

__all__ = ["Question", "Verdict", "sealed"]

_UNSEEN = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def sealed(data: object) -> str:
    """The data as JSON between tags that nothing inside can forge: its angle brackets are written as escapes.

    Raises TypeError and ValueError for what JSON cannot hold.
    """
    return "<data>\n%s\n</data>" % dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_UNSEEN)


class Question:
    """One question.

    `rubric` says what is asked, `data` holds what is judged (already redacted), `read` turns the JSON object of a
    reply into values that JSON can hold, or None when the reply has another shape.  `most_in` is the most tokens that
    the data can have, for a price to reserve; None: a token a byte, which is far too much for long texts.
    """

    __slots__ = ("message", "most_in", "read", "rubric")

    def __init__(self, rubric: Rubric, data: object, read: Reader, most_in: int | None = None) -> None:
        self.rubric = rubric
        self.most_in = most_in
        self.message = sealed(data) + "\n" + rubric.closing
        self.read = read

    def key(self, backend: str, model: str) -> str:
        """What tells this question to this model from all others; a digest, so that no text is in it."""
        parts = (backend, model, self.rubric.digest, self.message)
        return digest("\0".join(parts).encode("utf-8", "replace"))


class Verdict:
    """An answer, or why there is none.

    `values` is None exactly when `failure` names the reason; `detail` says more in words that hold no key and
    nothing of what was judged.  `ms` is the wait; tokens and `cost` (US dollars) are None where unknown.
    """

    __slots__ = ("cached", "cost", "detail", "failure", "ms", "tokens_in", "tokens_out", "values")

    def __init__(self, values: Values | None, failure: str = "", detail: str = "") -> None:
        self.values = values
        self.failure = failure
        self.detail = detail
        self.cached = False
        self.ms = 0.0
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.cost: float | None = None
