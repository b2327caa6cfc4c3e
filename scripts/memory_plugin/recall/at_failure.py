"""Recall after a failed command, from top to bottom: failure, lookup, confidence, choice, block, record."""

from __future__ import annotations

from math import log

from ..kernel.data import load_data
from ..kernel.text.stem import form
from ..kernel.text.tokens import tokenize
from .at_tool import fill_in
from .confidence import logistic
from .decision import apply_feedback
from .history import FAILURE, RecallHistory, remaining_for_tools
from .lookup import Lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from .answer import Answer
    from .ranking import Hit

MAX_EXAMINED = 3
_MAX_COMMAND = 1000
_MAX_ERROR = 2000  # characters; the cause is usually at the end of an error
_EXIT_CODE = "Exit code "
_COLOR = "\x1b["
_MAX_LEAD = 3.0
_TINY = 1e-9
_OF_MATCH = ("answers", "concerns", "title_held", "pairs", "unasked")
_FIXING = ("RUNBOOK", "TECH_DEBT", "CONSTRAINT")

_POOL = 15
_SECONDS = 2.0
# Errors that the client reports although nothing failed: the user or a hook stopped the command.
_REFUSED = (
    "The user doesn't want",
    "The user does not want",
    "[Request interrupted",
    "Permission to use",
    "Permission for this",
    "The project's memory holds this call back",
)


class FailedCommand:
    """The head of a command, and the tail of its error without colors and the exit code."""

    __slots__ = ("command", "error")

    def __init__(self, command: str, error: str) -> None:
        self.command = command[:_MAX_COMMAND]
        self.error = _without_colors(_without_exit_code(error)[-2 * _MAX_ERROR :])[-_MAX_ERROR:]

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
    first, *colored = text.split(_COLOR)
    return first + "".join(part.lstrip("0123456789;?")[1:] for part in colored)


def failure_signals(failed: FailedCommand, hits: list[Hit]) -> list[dict[str, float]]:
    """Return the signals of the first few matches of a failed command, best match first.

    spoken, number: log of the weight, and of the number, of the words that a match shares with the text outside paths
    commanded: log of the weight of the words that it shares with the command
    over: its score over that of the best other match
    fixing: 1 for the categories that say what to do about a failure
    The others are signals of a match (`signals.py`).
    """
    spoken = _stems(" ".join(word for word in failed.text.split() if "/" not in word))
    commanded = _stems(failed.command)
    rows = []
    for hit in hits[:MAX_EXAMINED]:
        terms: dict[str, float] = hit.parts["terms"]  # type: ignore[assignment]
        best_other = max((other.score for other in hits if other is not hit), default=0.0)
        rows.append(
            {
                **{name: hit.signals[name] for name in _OF_MATCH},
                "spoken": log(1 + sum(part for term, part in terms.items() if term in spoken)),
                "number": log(1 + sum(term in spoken for term in terms)),
                "commanded": log(1 + sum(part for term, part in terms.items() if term in commanded)),
                "over": min(_MAX_LEAD, hit.score / (best_other + _TINY)),
                "fixing": float(hit.category in _FIXING),
            }
        )
    return rows


def _stems(text: str) -> set[str]:
    return {form(word).partition("~")[0] for word in tokenize(text)}


def grade(failed: FailedCommand, hits: list[Hit]) -> list[Hit]:
    """Return the first few hits with the confidences of the failure model, the most confident first."""
    model = {name: entry["value"] for name, entry in load_data("recall", "failures")["entries"].items()}
    examined = hits[:MAX_EXAMINED]
    for hit, signals in zip(examined, failure_signals(failed, hits)):
        hit.signals = {**hit.signals, **signals}
        hit.confidence = logistic(signals, model["injects"])
        hit.pointer_confidence = logistic(signals, model["points"])
    return sorted(examined, key=lambda hit: -hit.pointer_confidence)


def failed_command(payload: dict[str, object]) -> FailedCommand | None:
    """Return the command that failed and its error; None if it was interrupted or refused, or the tool runs no command."""
    tool_input = payload.get("tool_input")
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    error = payload.get("error")
    if payload.get("is_interrupt") is True or not isinstance(command, str) or not isinstance(error, str):
        return None
    if not error.strip() or error.lstrip().startswith(_REFUSED):
        return None
    return FailedCommand(command, error)


def recall_at_failure(answer: Answer, failed: FailedCommand, agent: str, context: Context) -> bool:
    """Fill in the answer to a failed command; return whether the index needs a refresh in the background."""
    paths, settings = context.paths, context.settings
    if not remaining_for_tools(RecallHistory(paths, context.session, FAILURE, agent), settings):
        return False
    lookup = Lookup(context.within(_SECONDS))
    try:
        hits = grade(failed, lookup.best(failed.text, "", _POOL))
        apply_feedback(hits, context)
        answer.record.update(
            answered_by=lookup.answered_by,
            found=len(hits),
            inject_threshold=settings.number("retrieval.inject_threshold"),
            pointer_threshold=settings.number("retrieval.pointer_threshold"),
        )
        fill_in(answer, hits, {}, agent, context)
        return lookup.needs_refresh
    finally:
        lookup.close()
