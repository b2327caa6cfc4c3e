"""Compute the confidence that a memory is relevant to a failed command, with a logistic model over the signals of the match.

A prompt says what the user wants, but an error contains much that is incidental: paths, versions, lines of code. So words that occur only
in paths are ignored here, and words of the command and the distance to the next match weigh more. The weights are in
`config/recall/failures.json`, fitted by `benchmarks/failure_train.py`.
"""

from __future__ import annotations

from math import log

from ..kernel.data import load_data
from ..kernel.text.stem import form
from ..kernel.text.tokens import words
from .confidence import logistic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .ranking import Hit

__all__ = ["LOOKED_AT", "FailedCommand", "failure_signals", "grade"]

LOOKED_AT = 3
_MAX_COMMAND = 1000
_TAIL = 2000  # characters; an error usually says at its end what went wrong
_EXIT_CODE = "Exit code "
_COLOR = "\x1b["
_FURTHEST = 3.0
_TINY = 1e-9
_FIXING = ("RUNBOOK", "TECH_DEBT", "CONSTRAINT")


class FailedCommand:
    """The head of a command, and the tail of its error without colors and the exit code."""

    __slots__ = ("command", "error")

    def __init__(self, command: str, error: str) -> None:
        self.command = command[:_MAX_COMMAND]
        self.error = _without_colors(_without_exit_code(error)[-2 * _TAIL :])[-_TAIL:]

    @property
    def text(self) -> str:
        """Return the text to look up."""
        return self.command + "\n" + self.error


def _without_exit_code(error: str) -> str:
    """Return an error without the exit code line that the client prepends."""
    first, _, rest = error.partition("\n")
    return rest if first.startswith(_EXIT_CODE) and first[len(_EXIT_CODE) :].strip().isdigit() else error


def _without_colors(text: str) -> str:
    """Return a text without terminal color sequences."""
    first, *others = text.split(_COLOR)
    return first + "".join(other.lstrip("0123456789;?")[1:] for other in others)


def failure_signals(failed: FailedCommand, hits: list[Hit]) -> list[dict[str, float]]:
    """Return the signals of the first few matches of a failed command, best match first.

    `spoken` is the log of the weight of the words that a match shares with the text outside paths, `number` that of their number,
    `commanded` that of the words of the command, `over` its score over the best other one, `fixing` is 1 for the categories that hold
    what to do about a failure; the others are signals of a match (`signals`).
    """
    spoken = _stems(" ".join(word for word in failed.text.split() if "/" not in word))
    commanded = _stems(failed.command)
    found = []
    for hit in hits[:LOOKED_AT]:
        terms = _terms(hit.parts)
        others = max((other.score for other in hits if other is not hit), default=0.0)
        found.append(
            {
                **{name: hit.signals[name] for name in ("answers", "concerns", "title_held", "pairs")},
                "spoken": log(1 + sum(part for term, part in terms.items() if term in spoken)),
                "number": log(1 + sum(term in spoken for term in terms)),
                "commanded": log(1 + sum(part for term, part in terms.items() if term in commanded)),
                "over": min(_FURTHEST, hit.score / (others + _TINY)),
                "fixing": float(hit.category in _FIXING),
            }
        )
    return found


def _terms(parts: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = parts["terms"]
    return found


def _stems(text: str) -> set[str]:
    return {form(word).partition("~")[0] for word in words(text)}


def grade(failed: FailedCommand, hits: list[Hit]) -> list[Hit]:
    """Return the first few hits with the confidences of the model for failures, the highest first."""
    model = {name: entry["value"] for name, entry in load_data("recall", "failures")["entries"].items()}
    first = hits[:LOOKED_AT]
    for hit, signals in zip(first, failure_signals(failed, hits)):
        hit.signals = {**hit.signals, **signals}
        hit.confidence = logistic(signals, model["injects"])
        hit.pointer_confidence = logistic(signals, model["points"])
    return sorted(first, key=lambda hit: -hit.pointer_confidence)
