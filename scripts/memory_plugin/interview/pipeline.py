"""Run an interview: apply an event to the state, and decide on the next question or on the end of the interview.

Rules find an answer's signals; a judge is asked only if the user configured one and Claude sent none. Vetoes remove candidates; weighted
scores, times the multiplier of the phase, rank the rest. The decision reads no clock, no file and no random number, so the same events
always give the same decisions. Every function that advances an interview stores event, decision and state in one transaction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..kernel.context import Context
from ..kernel.paths import load_data
from .criteria import SCORERS, VETOES, QuestionCandidate
from .graph import apply_answer, new_state
from .inputs import judge_signals, parse_answer
from .interview_store import FINISHED, Decision, Interview, InterviewError, InterviewStore, Setup, State
from .situation import FOCUSES, Focus, Params, Situation
from .wording import find_repeated, wants_to_stop

START, ANSWER, DEEPER, RESUME, WRAP_UP = "start", "answer", "deeper", "resume", "wrap_up"
_MORE_QUESTIONS = 5  # after an interview was resumed
_MAX_AVOIDED = 6  # earlier questions that Claude is told not to repeat
_MAX_ALTERNATIVES = 3
# Parts of a decision that Claude does not need.
_EXPLAINED = ("probe", "chosen", "runners_up", "vetoed", "measures")
_PENDING = ("strategy", "focus", "probe")
_DIGITS = 6
_DEEPER_CATEGORIES = ("depth", "contrast", "clarification")


def start(store: InterviewStore, setup: Setup, covered: dict[str, str]) -> tuple[Interview, Decision]:
    """Store a new interview; return it and its first decision. `covered` maps elements that are known already to their source."""
    state, decision = begin(setup, covered)
    interview = Interview.new(setup, state, store.project, store.session)
    store.save(interview, ({"kind": START, "covered": covered}, decision))
    return interview, decision


def answer(
    store: InterviewStore, interview: Interview, data: Mapping[str, object], judge: Context | None = None
) -> Decision:
    """Apply an answer and return the next decision; its `dropped` lists the unused parts of the input.

    `judge` is the context of a configured judge, which is asked for the signals of an answer without any. If it fails, the decision's
    `judge` is the failure's name. Raises InvalidAnswer without any change.
    """
    failure = ""
    text = data.get("answer")
    if judge and "signals" not in data and isinstance(text, str) and text.strip():
        signals, failure = judge_signals(interview, text, judge)
        data = {**data, "signals": signals}
    given, dropped = parse_answer(data, interview.setup)
    decision = advance(store, interview, {"kind": ANSWER, "given": given})
    decision = {**decision, "dropped": dropped + decision.get("dropped", [])}
    return {**decision, "judge": failure} if failure else decision


def advance(store: InterviewStore, interview: Interview, event: dict[str, Any]) -> Decision:
    """Apply an event, such as the user's request for DEEPER or WRAP_UP, and return the next decision."""
    decision = apply_event(interview.state, interview.setup, event)
    store.save(interview, (event, decision))
    return decision


def resume(store: InterviewStore, interview: Interview) -> Decision:
    """Return the pending decision, or for an ended interview a new one, with some questions added to its budget."""
    interview.session = store.session or interview.session
    if interview.status == FINISHED:
        raise InterviewError("%s is finished: its memories are written; start a new one" % interview.id)
    if interview.state["next"]:
        store.save(interview)
        return store.events(interview.id)[-1][1]
    return advance(store, interview, {"kind": RESUME, "more": _MORE_QUESTIONS})


def check_question(interview: Interview, question: str) -> tuple[str, float]:
    """Return the recent question that a question repeats, empty if none, and how similar they are."""
    vetoes = {entry["id"]: entry["params"] for entry in interview.setup["scoring"]["vetoes"]}
    turns = interview.state["turns"][-vetoes["recent_redundancy"]["lookback"] :]
    return find_repeated(question, [turn["question"] for turn in turns])


def with_best_alternatives(decision: Decision) -> Decision:
    """Return a decision with the best alternatives only, of all that are stored."""
    return {**decision, "runners_up": decision.get("runners_up", [])[:_MAX_ALTERNATIVES]}


def decision_brief(interview: Interview, decision: Decision) -> dict[str, Any]:
    """Return the part of a decision that Claude needs; `explain` shows all of it."""
    hidden = _EXPLAINED if decision.get("dropped") else (*_EXPLAINED, "dropped")
    brief = {name: value for name, value in decision.items() if name not in hidden}
    if decision["turn"] == 1 and not decision["stop"]:
        elements = [element["id"] for element in interview.setup["elements"]]
        brief["elements"] = [element for element in elements if element not in interview.state["covered"]]
    runners_up = [
        {"strategy": other["strategy"], "focus": other["focus"]["label"], "score": other["score"]}
        for other in with_best_alternatives(decision)["runners_up"]
    ]
    return {"interview": interview.id, **brief, "runners_up": runners_up}


def begin(setup: Setup, covered: dict[str, str]) -> tuple[State, Decision]:
    """Return the state of a new interview and its first decision; `covered` maps already known elements to their source."""
    state = new_state(covered)
    return state, _decide(state, setup, "", [])


def apply_event(state: State, setup: Setup, event: dict[str, Any]) -> Decision:
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


def _decide(state: State, setup: Setup, wish: str, dropped: list[str]) -> Decision:
    now = Situation(state, setup, wish)
    reason = stop_reason(now)
    decision: Decision = {"turn": len(now.turns) + 1, "phase": now.phase, "progress": progress(now)}
    if reason:
        state["next"] = None
        deferred = [element["label"] for element in now.uncovered]
        why = load_data("interview", "stops")["reasons"][reason]
        decision.update({"stop": True, "reason": reason, "why": why, "deferred": deferred})
    else:
        question = _question(now)
        decision.update(question)
        state["next"] = {name: value for name, value in question.items() if name in _PENDING}
    if dropped:
        decision["dropped"] = dropped
    return decision


def _question(now: Situation) -> Decision:
    """Return the fields of a decision that asks a question."""
    chosen, records = select_question(now)
    texts = _texts_for(chosen.entry, chosen.focus)
    has_scores = records["chosen"]["scorers"]
    why = _filled(texts["why"], chosen.focus, now) if has_scores else "nothing else may be asked"
    return {
        "stop": False,
        "strategy": chosen.strategy,
        "focus": chosen.focus.record(),
        "why": why,
        "intent": _filled(texts["intent"], chosen.focus, now),
        "probe": chosen.probe,
        "avoid": [turn["question"] for turn in now.turns[-_MAX_AVOIDED:]],
        **records,
        "measures": {
            "breadth": round(now.breadth, 4),
            "saturation": round(now.saturation, 4),
            "rate": now.state["rate"],
            **now.chains,
            "peripheral": len(now.peripheral),
        },
    }


def select_question(now: Situation) -> tuple[QuestionCandidate, Decision]:
    """Return the best question to ask now, and the records of this one, of the next best, and of the vetoed ones.

    If nothing else may be asked, it is the closing question, without scorers.
    """
    candidates = [
        _candidate(entry, focus, now)
        for entry in now.scoring["strategies"]
        if entry["enabled"]
        for focus in FOCUSES[entry["focus"]](now, entry["id"])
    ]
    rated = [(candidate, _rated(candidate, now)) for candidate in candidates]
    vetoed = [record for _, record in rated if "veto" in record]
    allowed = [pair for pair in rated if "veto" not in pair[1]]
    ranked = [pair for pair in allowed if pair[1]["score"] > 0]
    if now.wish == DEEPER:
        ranked = [pair for pair in allowed if pair[0].category in _DEEPER_CATEGORIES] or ranked
    if not ranked:  # the closing question may always be asked
        entry = next(entry for entry in now.scoring["strategies"] if entry["focus"] == "closing")
        closing = _candidate(entry, Focus("closing", "closing", now.setup["topic"]), now)
        return closing, {"chosen": _score_record(closing, [], 0.0), "runners_up": [], "vetoed": vetoed}
    ranked.sort(key=lambda pair: (-pair[1]["score"], -pair[0].entry["priority_base"]))
    (chosen, record), *others = ranked + [pair for pair in allowed if pair[1]["score"] <= 0]
    return chosen, {"chosen": record, "runners_up": [other for _, other in others], "vetoed": vetoed}


def _candidate(entry: Params, focus: Focus, now: Situation) -> QuestionCandidate:
    probe = _filled(_texts_for(entry, focus)["probe"], focus, now)
    return QuestionCandidate(entry, entry["id"], entry["category"], focus, probe)


def _rated(candidate: QuestionCandidate, now: Situation) -> dict[str, Any]:
    """Return the record of a candidate: with the first veto, or with its scores."""
    for entry in now.scoring["vetoes"]:
        if entry["enabled"] and candidate.strategy not in entry["exempt"]:
            why = VETOES[entry["id"]](candidate, now, entry["params"])
            if why:
                focus = candidate.focus.record()
                return {"strategy": candidate.strategy, "focus": focus, "veto": "%s: %s" % (entry["id"], why)}
    scorers: list[dict[str, Any]] = []
    for entry in now.scoring["scorers"]:
        if entry["enabled"]:
            raw, why, signals = SCORERS[entry["id"]](candidate, now, entry["params"])
            weight = entry["weight"]
            scorers.append({"id": entry["id"], "raw": raw, "weight": weight, "why": why, "signals": signals})
    return _score_record(candidate, scorers, now.scoring["multipliers"][now.phase][candidate.strategy])


def _score_record(
    candidate: QuestionCandidate, scorers: list[dict[str, Any]], multiplier: float
) -> dict[str, Any]:
    total, score = combine_scores([(scorer["raw"], scorer["weight"]) for scorer in scorers], multiplier)
    return {
        "strategy": candidate.strategy,
        "focus": candidate.focus.record(),
        "sum": total,
        "multiplier": multiplier,
        "score": score,
        "scorers": scorers,
    }


def combine_scores(raw_and_weight: Sequence[tuple[float, float]], multiplier: float) -> tuple[float, float]:
    """Return the weighted sum of the raw scores, each clamped to 0 to 2, and that sum times the phase's multiplier.

    The weights are not normalized. With the shipped weights, a candidate that is neutral everywhere has a sum of 1.34.
    """
    total = sum((max(0.0, min(2.0, raw)) * weight for raw, weight in raw_and_weight), 0.0)
    return round(total, _DIGITS), round(total * multiplier, _DIGITS)


def _texts_for(entry: Params, focus: Focus) -> Params:
    """Return a strategy's texts for a focus (intent, why, probe), changed by the focus's variant or the pack."""
    if focus.variant:
        return {**entry, **entry.get("variants", {}).get(focus.variant, {})}
    return {**entry, "intent": focus.ask} if focus.ask else entry


def _filled(text: str, focus: Focus, now: Situation) -> str:
    """Return a strategy's text with focus, topic and the last two concepts inserted."""
    recent = " and ".join('"%s"' % now.graph.nodes[index]["label"] for index in now.recent[:2]) or "that"
    values = {"focus": focus.label, "topic": now.setup["topic"], "recent": recent}
    # One pass: braces in the user's words are not expanded in turn.
    return re.sub(r"\{(focus|topic|recent)\}", lambda name: values[name[1]], text)


def stop_reason(now: Situation) -> str:
    """Return why the interview ends after the last answer (a reason in `config/interview/stops.json`), or "" if it continues."""
    turns, rules = now.turns, now.scoring["stop"]
    if now.wish == "stop":
        return "asked"
    if not turns or now.wish in (DEEPER, RESUME):
        return ""
    last, last_low = turns[-1], turns[-rules["low_answers"] :]
    moods = [turn["sentiment"] for turn in turns[-rules["falling"] :]]
    has_new = any(turn["new"] for turn in turns[-rules["rate_answers"] :])
    mentions = sum(node["mentions"] for node in now.graph.nodes)
    may_end = len(turns) >= rules["least_turns"]
    is_covered = now.setup["elements"] and now.breadth >= rules["coverage"]
    is_saturated = mentions >= rules["least_mentions"] and now.saturation >= rules["saturation"]
    is_falling = len(moods) == rules["falling"] and all(mood > after for mood, after in zip(moods, moods[1:]))
    reasons = {
        "asked": wants_to_stop(last["answer"]),
        "closed": last["strategy"] == "closing" and last["wish"] != "skip",
        "nothing_said": len(last_low) == rules["low_answers"] and all(turn["low"] for turn in last_low),
        "budget": len(turns) >= now.budget,
        "covered": may_end and is_covered and now.state["rate"] < rules["information_rate"],
        "saturated": may_end and is_saturated and not has_new,
        "mood": may_end and is_falling,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def progress(now: Situation) -> dict[str, Any]:
    """Return the numbers of asked questions, gaps and questions still needed (an estimate), and a line for the user."""
    asked, gaps = len(now.turns), len(now.uncovered)
    allowed_gaps = int(len(now.setup["elements"]) * (1 - now.scoring["stop"]["coverage"]) + 1e-9)
    covered = sum(1 for entry in now.state["covered"].values() if entry["turn"])
    per_question = max(1.0, covered / asked) if asked else 1.0
    # At least 1 while the budget lasts, because there is a next question until the interview stops.
    needed = max(1, -int(-max(0, gaps - allowed_gaps) // per_question))
    left = min(max(0, now.budget - asked), needed)
    line = "asked %d, %d gap%s left, about %d more" % (asked, gaps, "" if gaps == 1 else "s", left)
    return {"asked": asked, "gaps": gaps, "left": left, "line": line}
