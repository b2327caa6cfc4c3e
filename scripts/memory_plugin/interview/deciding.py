"""One event taken into an interview, and the decision that follows: what to ask next and why, or that it is enough.

Nothing here reads a clock, a file or a random number, so the same events always give the same decisions.
"""

from __future__ import annotations

from .errors import InterviewError
from .listening import listen, new_state
from .redundancy import Likeness
from .selection import filled, recent_words, select, words_of
from .situation import Situation
from .stopping import REASONS, progress, stop_reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .selection import Choice

__all__ = ["ANSWER", "DEEPER", "RESUME", "WRAP_UP", "apply", "begun"]

ANSWER, DEEPER, RESUME, WRAP_UP = "answer", "deeper", "resume", "wrap_up"
_AVOIDED = 6


def begun(setup: dict[str, Any], covered: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state of a new interview and its first decision; `covered` maps elements known beforehand to where from."""
    state = new_state(covered)
    return state, _decide(state, setup, "", [])


def apply(state: dict[str, Any], setup: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    """Take an event into the state, which is changed, and decide. Raises InterviewError when the interview has ended."""
    if event["kind"] == RESUME:
        state["more"] += event["more"]
        return _decide(state, setup, RESUME, [])
    if state["next"] is None:
        raise InterviewError("this interview has ended; `memory interview resume` opens it again")
    notes: list[str] = []
    if event["kind"] == ANSWER:
        notes = listen(state, setup, event["given"])
        return _decide(state, setup, event["given"]["wish"], notes)
    if event["kind"] == WRAP_UP:
        return _decide(state, setup, "stop", notes)
    return _decide(state, setup, event["kind"], notes)


def _decide(state: dict[str, Any], setup: dict[str, Any], wish: str, notes: list[str]) -> dict[str, Any]:
    now = Situation(state, setup, Likeness(setup["redundancy"]), wish)
    reason = "asked" if wish == "stop" else "" if wish in (DEEPER, RESUME) else stop_reason(now)
    decision: dict[str, Any] = {"turn": len(now.turns) + 1, "phase": now.phase, "progress": progress(now)}
    if reason:
        state["next"] = None
        decision.update(stop=True, reason=reason, why=REASONS[reason], deferred=_deferred(now))
    else:
        decision.update(stop=False, **_question(now, select(now)))
        state["next"] = {key: decision[key] for key in ("strategy", "focus", "probe")}
    if notes:
        decision["dropped"] = notes
    return decision


def _question(now: Situation, choice: Choice) -> dict[str, Any]:
    chosen, rules = choice.chosen, now.scoring["alternatives"]
    entry = next(e for e in now.scoring["strategies"] if e["id"] == chosen.strategy)
    words, about = words_of(entry, chosen.focus), (chosen.focus.label, now.setup["topic"], recent_words(now))
    others = [one.record(whole=True) for one in choice.others if one.score >= rules["least"]]
    found: dict[str, Any] = {
        "strategy": chosen.strategy,
        "focus": chosen.focus.record(),
        "why": choice.forced or filled(words["why"], *about),
        "intent": filled(words["intent"], *about),
        "probe": chosen.probe,
        "avoid": [turn["question"] for turn in now.turns[-_AVOIDED:]],
        "chosen": chosen.record(whole=True),
        "runners_up": others[: rules["count"]],
        "vetoed": [one.record(whole=False) for one in choice.vetoed],
        "measures": _measures(now),
    }
    return found


def _measures(now: Situation) -> dict[str, float]:
    return {
        "breadth": round(now.breadth, 4),
        "saturation": round(now.saturation, 4),
        "rate": now.state["rate"],
        "chains": now.chains.count,
        "longest_chain": now.chains.longest,
        "average_chain": round(now.chains.average, 4),
        "complete_chains": now.chains.complete,
        "peripheral": len(now.peripheral),
    }


def _deferred(now: Situation) -> list[str]:
    """The elements that were left open, by their names."""
    return [element["label"] for element in now.uncovered]
