"""Apply one event to an interview, and decide on the next question or on the end of the interview.

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

ANSWER, DEEPER, RESUME, WRAP_UP = "answer", "deeper", "resume", "wrap_up"
_MAX_AVOIDED = 6  # earlier questions that Claude is told not to repeat
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
    """Return the state of a new interview and its first decision; `covered` maps already known elements to their source."""
    state = new_state(covered)
    return state, _decide(state, setup, "", [])


def apply_event(state: dict[str, Any], setup: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    """Apply an event to the state in place and return the decision. Raises InterviewError if the interview has ended."""
    if event["kind"] == RESUME:
        state["more"] += event["more"]
        return _decide(state, setup, RESUME, [])
    if state["next"] is None:
        raise InterviewError("this interview has ended; `memory interview resume` opens it again")
    if event["kind"] == ANSWER:
        dropped = apply_answer(state, setup, event["given"])
        return _decide(state, setup, event["given"]["wish"], dropped)
    return _decide(state, setup, "stop" if event["kind"] == WRAP_UP else event["kind"], [])


def _decide(state: dict[str, Any], setup: dict[str, Any], wish: str, dropped: list[str]) -> dict[str, Any]:
    now = Situation(state, setup, QuestionSimilarity(setup["redundancy"]), wish)
    reason = ""
    if wish == "stop":
        reason = "asked"
    elif wish not in (DEEPER, RESUME):
        reason = stop_reason(now)
    decision: dict[str, Any] = {"turn": len(now.turns) + 1, "phase": now.phase, "progress": progress(now)}
    if reason:
        state["next"] = None
        deferred = [element["label"] for element in now.uncovered]
        decision.update(stop=True, reason=reason, why=STOP_REASONS[reason], deferred=deferred)
    else:
        decision.update(stop=False, **_question(now, select_question(now)))
        state["next"] = {key: decision[key] for key in ("strategy", "focus", "probe")}
    if dropped:
        decision["dropped"] = dropped
    return decision


def _question(now: Situation, choice: QuestionChoice) -> dict[str, Any]:
    """Return the fields of a decision that asks a question."""
    chosen, limits = choice.chosen, now.scoring["alternatives"]
    entry = next(entry for entry in now.scoring["strategies"] if entry["id"] == chosen.strategy)
    texts = texts_for(entry, chosen.focus)
    values = (chosen.focus.label, now.setup["topic"], recent_labels(now))
    runners_up = [candidate for candidate in choice.runners_up if candidate.score >= limits["least"]]
    return {
        "strategy": chosen.strategy,
        "focus": chosen.focus.record(),
        "why": choice.fallback_reason or fill_template(texts["why"], *values),
        "intent": fill_template(texts["intent"], *values),
        "probe": chosen.probe,
        "avoid": [turn["question"] for turn in now.turns[-_MAX_AVOIDED:]],
        "chosen": chosen.record(),
        "runners_up": [candidate.record() for candidate in runners_up[: limits["count"]]],
        "vetoed": [candidate.record() for candidate in choice.vetoed],
        "measures": _measures(now),
    }


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


def stop_reason(now: Situation) -> str:
    """Return why the interview ends after the last answer (a key of STOP_REASONS), or "" if it continues."""
    turns, rules = now.turns, now.scoring["stop"]
    if not turns:
        return ""
    last = turns[-1]
    if last["wish"] == "stop" or wants_to_stop(last["answer"], now.setup["patterns"]):
        return "asked"
    if last["strategy"] == "closing" and last["wish"] != "skip":
        return "closed"
    low_answers = rules["low_answers"]
    if len(turns) >= low_answers and all(turn["low"] for turn in turns[-low_answers:]):
        return "nothing_said"
    if len(turns) >= now.budget:
        return "budget"
    return _early_stop_reason(now, rules) if len(turns) >= rules["least_turns"] else ""


def _early_stop_reason(now: Situation, rules: dict[str, Any]) -> str:
    """Return why the interview ends before its budget is used up, or ""."""
    turns = now.turns
    is_covered = now.setup["elements"] and now.breadth >= now.setup["target_coverage"]
    if is_covered and now.state["rate"] < rules["information_rate"]:
        return "covered"
    has_new = any(turn["new"] for turn in turns[-rules["rate_answers"] :])
    mentions = sum(node["mentions"] for node in now.graph.nodes)
    if mentions >= rules["least_mentions"] and now.saturation >= rules["saturation"] and not has_new:
        return "saturated"
    moods = [turn["sentiment"] for turn in turns[-rules["falling"] :]]
    is_falling = len(moods) == rules["falling"] and all(mood > after for mood, after in zip(moods, moods[1:]))
    return "mood" if is_falling and now.setup["close_when_falling"] else ""


def progress(now: Situation) -> dict[str, Any]:
    """Return the numbers of asked questions, gaps and questions still needed (an estimate), and a line for the user."""
    asked, gaps = len(now.turns), len(now.uncovered)
    allowed_gaps = int(len(now.setup["elements"]) * (1 - now.setup["target_coverage"]) + 1e-9)
    needed = max(0, gaps - allowed_gaps)
    covered = sum(1 for entry in now.state["covered"].values() if entry["turn"])
    per_question = max(1.0, covered / asked) if asked else 1.0
    budget = max(0, now.budget - asked)
    # At least 1 while the budget lasts, because there is a next question until the interview stops.
    left = min(budget, max(1, -int(-needed // per_question)))
    line = "asked %d, %d gap%s left, about %d more" % (asked, gaps, "" if gaps == 1 else "s", left)
    return {"asked": asked, "gaps": gaps, "left": left, "line": line}
