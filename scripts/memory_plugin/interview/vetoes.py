"""First tier: what must not be asked now. Each veto gives a reason, or an empty text when it has nothing against the question."""

from __future__ import annotations

from .wording import content_stems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .focuses import Candidate
    from .situation import Situation

__all__ = ["VETOES"]


def _knowledge_ceiling(asked: Candidate, now: Situation, values: dict[str, Any]) -> str:
    """No depth where the user does not know; after so many such answers in a row nothing but what is exempt."""
    row = values["terminal_in_a_row"]
    if len(now.turns) >= row and all(now.ignorant(turn, values) for turn in now.turns[-row:]):
        return "%d answers in a row were that they do not know" % row
    if asked.category not in values["depth_categories"]:
        return ""
    for turn in now.turns[-values["lookback"] :]:
        if now.ignorant(turn, values) and _shares(asked, turn, now):
            return "they do not know about %s" % asked.focus.label
    return ""


def _shares(asked: Candidate, turn: dict[str, Any], now: Situation) -> bool:
    """Whether a turn was about what a question would be about: the same focus, or one of its words in question and answer."""
    if turn["focus"]["key"] == asked.focus.key:
        return True
    said = set(content_stems(turn["question"], now.idle) + content_stems(turn["answer"], now.idle))
    return any(said.issuperset(name) for at in asked.focus.nodes for name in now.graph.nodes[at]["names"])


def _clarification_first(asked: Candidate, now: Situation, values: dict[str, Any]) -> str:
    signal = now.signals(values).get("uncertainty", {})
    if signal.get("type") != "conceptual_clarity" or signal.get("severity", 1.0) <= values["severity"]:
        return ""
    return "the last question was not understood" if asked.category in values["categories"] else ""


def _element_exhausted(asked: Candidate, now: Situation, values: dict[str, Any]) -> str:
    """What was named in most of the last turns, with several concepts about it, is not asked about again."""
    mentions = now.mentions(asked.focus.label, values["lookback"])
    if asked.focus.kind == "open" or mentions < values["mentions"]:
        return ""
    wanted = set(content_stems(asked.focus.label, now.idle))
    related = sum(
        any(wanted.intersection(name) for name in now.graph.nodes[at]["names"]) for at in now.recent
    )
    return "%s was named in %d turns" % (asked.focus.label, mentions) if related >= values["related"] else ""


def _recent_redundancy(asked: Candidate, now: Situation, values: dict[str, Any]) -> str:
    recent = [turn["question"] for turn in now.turns[-values["lookback"] :]]
    earlier, score = now.likeness.repeated(asked.probe, recent)
    return "asked already: %s (%.2f)" % (earlier, score) if earlier else ""


VETOES: dict[str, Callable[[Candidate, Situation, dict[str, Any]], str]] = {
    "knowledge_ceiling": _knowledge_ceiling,
    "clarification_first": _clarification_first,
    "element_exhausted": _element_exhausted,
    "recent_redundancy": _recent_redundancy,
}
