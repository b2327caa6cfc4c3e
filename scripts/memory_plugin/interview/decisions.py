"""Apply one event to an interview and decide: what to ask next and why, or that the interview ends.

Nothing here reads a clock, a file or a random number, so the same events always give the same decisions.
"""

from __future__ import annotations

from .answer_signals import wants_to_stop
from .answers import apply_answer, new_state
from .exceptions import InterviewError
from .selection import fill_template, recent_labels, select_question, texts_for
from .situation import Situation
from .wording import QuestionSimilarity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .selection import QuestionChoice

__all__ = [
    "ANSWER",
    "DEEPER",
    "RESUME",
    "STOP_REASONS",
    "WRAP_UP",
    "apply_event",
    "begin",
    "progress",
    "stop_reason",
]

ANSWER, DEEPER, RESUME, WRAP_UP = "answer", "deeper", "resume", "wrap_up"
_AVOIDED = 6
# Stored with each decision and compared by `memory interview replay`, so the texts stay as they are.
STOP_REASONS = {
    "asked": "you said that it is enough",
    "nothing_said": "the last answers brought nothing",
    "closed": "the last question was answered",
    "budget": "the agreed number of questions is asked",
    "covered": "all that matters was covered, and little new comes",
    "saturated": "the same things come up again",
    "mood": "the mood has fallen with each of the last answers",
}


def begin(setup: dict[str, Any], covered: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the state of a new interview and its first decision; `covered` maps elements that are known already to their source."""
    state = new_state(covered)
    return state, _decide(state, setup, "", [])


def apply_event(state: dict[str, Any], setup: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    """Apply an event to the state, which is changed, and return the decision. Raises InterviewError when the interview has ended."""
    if event["kind"] == RESUME:
        state["more"] += event["more"]
        return _decide(state, setup, RESUME, [])
    if state["next"] is None:
        raise InterviewError("this interview has ended; `memory interview resume` opens it again")
    notes: list[str] = []
    if event["kind"] == ANSWER:
        notes = apply_answer(state, setup, event["given"])
        return _decide(state, setup, event["given"]["wish"], notes)
    if event["kind"] == WRAP_UP:
        return _decide(state, setup, "stop", notes)
    return _decide(state, setup, event["kind"], notes)


def _decide(state: dict[str, Any], setup: dict[str, Any], wish: str, notes: list[str]) -> dict[str, Any]:
    now = Situation(state, setup, QuestionSimilarity(setup["redundancy"]), wish)
    reason = "asked" if wish == "stop" else "" if wish in (DEEPER, RESUME) else stop_reason(now)
    decision: dict[str, Any] = {"turn": len(now.turns) + 1, "phase": now.phase, "progress": progress(now)}
    if reason:
        state["next"] = None
        decision.update(stop=True, reason=reason, why=STOP_REASONS[reason], deferred=_deferred(now))
    else:
        decision.update(stop=False, **_question(now, select_question(now)))
        state["next"] = {key: decision[key] for key in ("strategy", "focus", "probe")}
    if notes:
        decision["dropped"] = notes
    return decision


def _question(now: Situation, choice: QuestionChoice) -> dict[str, Any]:
    chosen, rules = choice.chosen, now.scoring["alternatives"]
    entry = next(e for e in now.scoring["strategies"] if e["id"] == chosen.strategy)
    words, about = (
        texts_for(entry, chosen.focus),
        (chosen.focus.label, now.setup["topic"], recent_labels(now)),
    )
    others = [
        candidate.record(whole=True) for candidate in choice.others if candidate.score >= rules["least"]
    ]
    found: dict[str, Any] = {
        "strategy": chosen.strategy,
        "focus": chosen.focus.record(),
        "why": choice.forced or fill_template(words["why"], *about),
        "intent": fill_template(words["intent"], *about),
        "probe": chosen.probe,
        "avoid": [turn["question"] for turn in now.turns[-_AVOIDED:]],
        "chosen": chosen.record(whole=True),
        "runners_up": others[: rules["count"]],
        "vetoed": [candidate.record(whole=False) for candidate in choice.vetoed],
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
    """Return the labels of the elements that are still open."""
    return [element["label"] for element in now.uncovered]


def stop_reason(now: Situation) -> str:
    """Return why the interview ends after the last answer, a key of STOP_REASONS; empty when it goes on."""
    turns, rules = now.turns, now.scoring["stop"]
    if not turns:
        return ""
    last = turns[-1]
    if last["wish"] == "stop" or wants_to_stop(last["answer"], now.setup["patterns"]):
        return "asked"
    return "closed" if last["strategy"] == "closing" and last["wish"] != "skip" else _spent(now, rules)


def _spent(now: Situation, rules: dict[str, Any]) -> str:
    turns, lows = now.turns, rules["low_answers"]
    if len(turns) >= lows and all(turn["low"] for turn in turns[-lows:]):
        return "nothing_said"
    if len(turns) >= now.budget:
        return "budget"
    return _enough(now, rules) if len(turns) >= rules["least_turns"] else ""


def _enough(now: Situation, rules: dict[str, Any]) -> str:
    turns = now.turns
    wide = now.setup["elements"] and now.breadth >= now.setup["target_coverage"]
    if wide and now.state["rate"] < rules["information_rate"]:
        return "covered"
    fruitless = not any(turn["new"] for turn in turns[-rules["rate_answers"] :])
    named = sum(node["mentions"] for node in now.graph.nodes)
    if named >= rules["least_mentions"] and now.saturation >= rules["saturation"] and fruitless:
        return "saturated"
    moods = [turn["sentiment"] for turn in turns[-rules["falling"] :]]
    falls = len(moods) == rules["falling"] and all(a > b for a, b in zip(moods, moods[1:]))
    return "mood" if falls and now.setup["close_when_falling"] else ""


def progress(now: Situation) -> dict[str, Any]:
    """Return how many questions were asked, how many gaps are left, an estimate of the questions still needed, and a line for the user."""
    asked, gaps = len(now.turns), len(now.uncovered)
    total = len(now.setup["elements"])
    still = max(0, gaps - int(total * (1 - now.setup["target_coverage"]) + 1e-9))
    found = sum(1 for covered in now.state["covered"].values() if covered["turn"])
    each = max(1.0, found / asked) if asked else 1.0
    room = max(0, now.budget - asked)
    left = min(room, max(1 if room else 0, -int(-still // each)))
    line = "asked %d, %d gap%s left, about %d more" % (asked, gaps, "" if gaps == 1 else "s", left)
    return {"asked": asked, "gaps": gaps, "left": left, "line": line}
