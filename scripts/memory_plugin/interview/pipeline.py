"""Run an interview: apply the input to the state, and return the next decision.

Rules find an answer's signals; a judge is asked only if the user configured one and Claude sent none. Every function that advances an
interview stores event, decision and state in one transaction.
"""

from __future__ import annotations

import os
from typing import Any

from ..kernel.clock import now_iso
from ..kernel.context import Context
from ..kernel.fastjson import dumps
from .answer_input import parse_answer
from .answers import judge_signals
from .decisions import ANSWER, RESUME, apply_event, begin
from .interview_store import ENDED, FINISHED, OPEN, Interview, InterviewError, InterviewStore
from .wording import QuestionSimilarity

Decision = dict[str, Any]

START = "start"


def start(
    store: InterviewStore, setup: dict[str, Any], project: str, session: str, covered: dict[str, str]
) -> tuple[Interview, Decision]:
    """Store a new interview; return it and its first decision. `covered` maps elements that are known already to their source."""
    state, decision = begin(setup, covered)
    topic = setup["topic"]
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in topic.lower()).split()
    identity = "%s-%s" % ("-".join(words)[:30].strip("-") or "interview", os.urandom(3).hex())
    row = (identity, project, session, OPEN, topic, now_iso(), "", dumps(setup), dumps(state), "", 0)
    interview = Interview(row)
    store.add(interview, {"kind": START, "covered": covered}, decision)
    return interview, decision


def answer(
    store: InterviewStore, interview: Interview, data: dict[str, Any], judge: Context | None = None
) -> Decision:
    """Apply an answer and return the next decision; its `dropped` lists the unused parts of the input.

    `judge` is the context of a configured judge, which is asked for the signals of an answer without any. If it fails, the decision's
    `judge` is the failure's name. Raises InvalidAnswer without any change.
    """
    failure = ""
    text = data.get("answer")
    if judge and "signals" not in data and isinstance(text, str) and text.strip():
        signals, failure = judge_signals(interview, text, judge)
        data = dict(data, signals=signals)
    fields, dropped = parse_answer(data, interview.setup)
    fields["question"] = fields["question"] or interview.question
    decision = advance(store, interview, {"kind": ANSWER, "given": fields})
    decision = dict(decision, dropped=dropped + decision.get("dropped", []))
    return dict(decision, judge=failure) if failure else decision


def advance(store: InterviewStore, interview: Interview, event: dict[str, Any]) -> Decision:
    """Apply an event, such as the user's request for DEEPER or WRAP_UP, and return the next decision."""
    decision = apply_event(interview.state, interview.setup, event)
    interview.question = ""
    interview.status = ENDED if decision["stop"] else OPEN
    store.add_event(interview, event, decision)
    return decision


def resume(store: InterviewStore, interview: Interview, session: str, more: int) -> Decision:
    """Return the pending decision, or for an ended interview a new one, with `more` questions added to its budget."""
    interview.session = session or interview.session
    if interview.status == FINISHED:
        raise InterviewError("%s is finished: its memories are written; start a new one" % interview.id)
    if interview.status == OPEN:
        store.update(interview)
        return store.events(interview.id)[-1][1]
    return advance(store, interview, {"kind": RESUME, "more": more})


def check_question(store: InterviewStore, interview: Interview, question: str) -> dict[str, Any]:
    """Check whether a question repeats a recent one; if it does not, store it as the question that Claude asks."""
    vetoes = {entry["id"]: entry["params"] for entry in interview.setup["scoring"]["vetoes"]}
    turns = interview.state["turns"][-vetoes["recent_redundancy"]["lookback"] :]
    similarity = QuestionSimilarity(interview.setup["redundancy"])
    earlier, score = similarity.find_repeated(question, [turn["question"] for turn in turns])
    if not earlier:
        interview.question = question
        store.update(interview)
    return {"ok": not earlier, "repeats": earlier, "likeness": round(score, 3)}


def replay(store: InterviewStore, interview: Interview) -> dict[str, Any]:
    """Recompute an interview's decisions from its events; return their number, and which of them differ from the stored ones."""
    differ: list[int] = []
    events = store.events(interview.id)
    state: dict[str, Any] = {}
    for number, (event, recorded) in enumerate(events):
        if event["kind"] == START:
            state, decision = begin(interview.setup, event["covered"])
        else:
            decision = apply_event(state, interview.setup, event)
        if decision != recorded:
            differ.append(number)
    same_state = state == interview.state
    return {"interview": interview.id, "decisions": len(events), "differ": differ, "same_state": same_state}


def decision_brief(interview: Interview, decision: Decision) -> dict[str, Any]:
    """Return the part of a decision that Claude needs; `explain` shows all of it."""
    names = ("turn", "stop", "phase", "reason", "strategy", "focus", "why", "intent", "avoid", "deferred")
    brief: dict[str, Any] = {"interview": interview.id}
    brief.update({name: decision[name] for name in names if name in decision})
    if decision["turn"] == 1 and not decision["stop"]:
        elements = [element["id"] for element in interview.setup["elements"]]
        brief["elements"] = [element for element in elements if element not in interview.state["covered"]]
    brief["progress"] = decision["progress"]
    brief["runners_up"] = [
        {"strategy": other["strategy"], "focus": other["focus"]["label"], "score": other["score"]}
        for other in decision.get("runners_up", ())
    ]
    brief.update({name: decision[name] for name in ("dropped", "judge") if decision.get(name)})
    return brief


def ledger_fields(interview: Interview, decision: Decision) -> dict[str, object]:
    """Return a decision's fields for the ledger, without any text of the user."""
    names = ("turn", "phase", "strategy", "stop", "reason")
    return {
        "interview": interview.id,
        **{name: decision[name] for name in names if name in decision},
        "score": decision.get("chosen", {}).get("score"),
        "gaps": decision["progress"]["gaps"],
    }
