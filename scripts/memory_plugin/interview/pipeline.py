"""Run an interview from start to finish: clean and check the input, apply it to the state, and return the next decision.

Every function that changes an interview stores event, decision and state in one transaction.
"""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.fastjson import dumps, loads
from ..kernel.text.clean import plain
from ..kernel.text.tags import without_private
from .answer_input import parse_answer
from .answer_signals import judge_signals
from .decisions import ANSWER, RESUME, apply_event, begin
from .exceptions import InterviewError
from .interview_store import ENDED, FINISHED, OPEN, Interview
from .wording import QuestionSimilarity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context
    from .answer_input import Clean
    from .interview_store import InterviewStore

    Decision = dict[str, Any]

__all__ = [
    "NewInterview",
    "answer",
    "check_question",
    "clean_text",
    "decision_brief",
    "ledger_fields",
    "load_decision",
    "replay",
    "resume",
    "start",
    "steer",
]

START = "start"
_LOOKBACK_VETO = "recent_redundancy"


class NewInterview:
    """Project, session, what is known beforehand (element to source), and whether the user asked for the interview."""

    __slots__ = ("approved", "covered", "project", "session")

    def __init__(self, project: str, session: str, covered: dict[str, str], *, approved: bool) -> None:
        self.project, self.session, self.covered, self.approved = project, session, covered, approved


def clean_text(text: str, limit: int) -> str:
    """Return a text as it may be stored: without private passages and secrets, on one line, at most `limit` characters."""
    from ..kernel.hygiene import redact  # not needed for most commands

    line = _one_line(without_private(text), 4 * len(text) + 1)
    return _one_line(redact(line, "memory").text, limit)


def _one_line(text: str, limit: int) -> str:
    """Return what `plain` returns. Most texts are plain already, and compiling its patterns takes milliseconds."""
    line = " ".join(text.split())
    return line if line.isascii() and line.isprintable() and len(line) <= limit else plain(text, limit)


def start(store: InterviewStore, setup: dict[str, Any], new: NewInterview) -> tuple[Interview, Decision]:
    """Store a new interview; return it and its first decision."""
    state, decision = begin(setup, new.covered)
    times = (now_iso(), "")
    row = (_new_id(setup["topic"]), new.project, new.session, OPEN, setup["topic"], new.approved, *times)
    interview = Interview((*row, dumps(setup), dumps(state), "", 0))
    store.add(interview, {"kind": START, "covered": new.covered}, decision)
    return interview, decision


def answer(
    store: InterviewStore,
    interview: Interview,
    data: dict[str, Any],
    clean: Clean = clean_text,
    judge: Context | None = None,
) -> Decision:
    """Apply an answer; return the next decision, with what was dropped from the input under `dropped`.

    With `judge`, a judge is asked for the signals of an answer that comes without them; `judge` of the decision then names a failure.
    Raises InvalidAnswer, with nothing changed.
    """
    failure = ""
    said = data.get("answer")
    if judge and "signals" not in data and isinstance(said, str) and said.strip():
        verdict = judge_signals(interview, said, judge)
        failure = verdict.failure
        if verdict.values is not None:
            data = dict(data, signals=verdict.values["signals"])
    given, dropped = parse_answer(data, interview.setup, clean)
    given["question"] = given["question"] or interview.question
    decision = _step(store, interview, {"kind": ANSWER, "given": given}, dropped)
    return dict(decision, judge=failure) if failure else decision


def steer(store: InterviewStore, interview: Interview, kind: str) -> Decision:
    """Return the decision after the user asked for DEEPER or WRAP_UP."""
    return _step(store, interview, {"kind": kind}, [])


def resume(store: InterviewStore, interview: Interview, session: str, more: int) -> Decision:
    """Return the pending question; for an ended interview a new one, with `more` questions added to its budget."""
    interview.session = session or interview.session
    if interview.status == FINISHED:
        raise InterviewError("%s is finished: its memories are written; start a new one" % interview.id)
    if interview.status == OPEN:
        decisions = store.events(interview.id)
        store.touch(interview)
        return load_decision(decisions[-1][1])
    interview.status = OPEN
    return _step(store, interview, {"kind": RESUME, "more": more}, [])


def load_decision(text: str) -> Decision:
    """Return a decision from its stored JSON."""
    value = loads(text)
    assert isinstance(value, dict)
    return value


def _step(store: InterviewStore, interview: Interview, event: dict[str, Any], dropped: list[str]) -> Decision:
    decision = apply_event(interview.state, interview.setup, event)
    interview.question = ""
    interview.status = ENDED if decision["stop"] else OPEN
    store.put(interview, event, decision)
    return dict(decision, dropped=dropped + decision.get("dropped", []))


def check_question(store: InterviewStore, interview: Interview, question: str) -> dict[str, Any]:
    """Return whether a question repeats an earlier one; one that does not is stored as the question asked."""
    turns = interview.state["turns"]
    vetoes = {entry["id"]: entry["params"] for entry in interview.setup["scoring"]["vetoes"]}
    lookback = vetoes[_LOOKBACK_VETO]["lookback"] if _LOOKBACK_VETO in vetoes else len(turns)
    recent = [turn["question"] for turn in turns[-lookback:]]
    earlier, score = QuestionSimilarity(interview.setup["redundancy"]).find_repeated(question, recent)
    if not earlier:
        interview.question = question
        store.touch(interview)
    return {"ok": not earlier, "repeats": earlier, "likeness": round(score, 3)}


def replay(store: InterviewStore, interview: Interview) -> dict[str, Any]:
    """Recompute the decisions of an interview from its events; return their number, and the numbers of those that differ."""
    differ: list[int] = []
    events = store.events(interview.id)
    state: dict[str, Any] = {}
    for number, (event, decision) in enumerate(events):
        if event["kind"] == START:
            state, found = begin(interview.setup, event["covered"])
        else:
            found = apply_event(state, interview.setup, event)
        recorded: Any = loads(decision)
        if _without_signals(found) != _without_signals(recorded):
            differ.append(number)
    same_state = dumps(state) == dumps(interview.state)
    return {"interview": interview.id, "decisions": len(events), "differ": differ, "same_state": same_state}


def _without_signals(decision: dict[str, Any]) -> dict[str, Any]:
    """Return a decision without its scorers' signals, which explain it and which decisions of 0.1.0 lack."""
    found = dict(decision)
    for key in ("chosen", "runners_up"):
        if key in found:
            several = found[key] if isinstance(found[key], list) else [found[key]]
            found[key] = [
                {
                    **candidate,
                    "scorers": [
                        {k: v for k, v in row.items() if k != "signals"} for row in candidate["scorers"]
                    ],
                }
                for candidate in several
            ]
    return found


def decision_brief(interview: Interview, decision: Decision) -> dict[str, Any]:
    """Return the part of a decision that Claude needs; `explain` shows all of it."""
    found = {"interview": interview.id, **{name: decision[name] for name in ("turn", "stop", "phase")}}
    names = ("reason", "strategy", "focus", "why", "intent", "avoid", "deferred")
    found.update({name: decision[name] for name in names if name in decision})
    if decision["turn"] == 1 and not decision["stop"]:
        covered = interview.state["covered"]
        found["elements"] = [e["id"] for e in interview.setup["elements"] if e["id"] not in covered]
    found["progress"] = decision["progress"]
    found["runners_up"] = [
        {"strategy": other["strategy"], "focus": other["focus"]["label"], "score": other["score"]}
        for other in decision.get("runners_up", ())
    ]
    found.update({name: decision[name] for name in ("dropped", "judge") if decision.get(name)})
    return found


def ledger_fields(interview: Interview, decision: Decision) -> dict[str, object]:
    """Return what the ledger keeps of a decision: no text of the user."""
    names = ("turn", "phase", "strategy", "stop", "reason")
    found: dict[str, object] = {name: decision[name] for name in names if name in decision}
    score = decision.get("chosen", {}).get("score")
    return {"interview": interview.id, **found, "score": score, "gaps": decision["progress"]["gaps"]}


def _new_id(topic: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in topic.lower())
    name = "-".join(part for part in kept.split("-") if part)[:30].strip("-")
    return "%s-%s" % (name or "interview", os.urandom(3).hex())
