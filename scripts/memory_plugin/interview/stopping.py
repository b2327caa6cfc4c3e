"""When it is enough, and how much is left."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .situation import Situation

from .signals import wants_to_stop

__all__ = ["REASONS", "progress", "stop_reason"]

REASONS = {
    "asked": "you said that it is enough",
    "nothing_said": "the last answers brought nothing",
    "closed": "the last question was answered",
    "budget": "the agreed number of questions is asked",
    "covered": "all that matters was covered, and little new comes",
    "saturated": "the same things come up again",
    "mood": "the mood has fallen with each of the last answers",
}


def stop_reason(now: Situation) -> str:
    """Why the interview ends here, a key of `REASONS`; empty when it goes on. Looks at the answer that was just given."""
    turns, values = now.turns, now.scoring["stop"]
    if not turns:
        return ""
    last = turns[-1]
    if last["wish"] == "stop" or wants_to_stop(last["answer"], now.setup["patterns"]):
        return "asked"
    return "closed" if last["strategy"] == "closing" and last["wish"] != "skip" else _spent(now, values)


def _spent(now: Situation, values: dict[str, Any]) -> str:
    turns, lows = now.turns, values["low_answers"]
    if len(turns) >= lows and all(turn["low"] for turn in turns[-lows:]):
        return "nothing_said"
    if len(turns) >= now.budget:
        return "budget"
    return _enough(now, values) if len(turns) >= values["least_turns"] else ""


def _enough(now: Situation, values: dict[str, Any]) -> str:
    turns = now.turns
    wide = now.setup["elements"] and now.breadth >= now.setup["target_coverage"]
    if wide and now.state["rate"] < values["information_rate"]:
        return "covered"
    barren = not any(turn["new"] for turn in turns[-values["rate_answers"] :])
    named = sum(node["mentions"] for node in now.graph.nodes)
    if named >= values["least_mentions"] and now.saturation >= values["saturation"] and barren:
        return "saturated"
    moods = [turn["sentiment"] for turn in turns[-values["falling"] :]]
    falls = len(moods) == values["falling"] and all(a > b for a, b in zip(moods, moods[1:]))
    return "mood" if falls and now.setup["close_when_falling"] else ""


def progress(now: Situation) -> dict[str, Any]:
    """How many questions were asked, how many gaps are left, about how many questions more it takes, and a line for the user."""
    asked, gaps = len(now.turns), len(now.uncovered)
    total = len(now.setup["elements"])
    still = max(0, gaps - int(total * (1 - now.setup["target_coverage"]) + 1e-9))
    found = sum(1 for covered in now.state["covered"].values() if covered["turn"])
    each = max(1.0, found / asked) if asked else 1.0
    room = max(0, now.budget - asked)
    left = min(room, max(1 if room else 0, -int(-still // each)))
    line = "asked %d, %d gap%s left, about %d more" % (asked, gaps, "" if gaps == 1 else "s", left)
    return {"asked": asked, "gaps": gaps, "left": left, "line": line}
