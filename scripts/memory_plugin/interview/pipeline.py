"""Run an interview: clean and validate the input, apply it to the state, and return the next decision.

Rules find an answer's signals; a judge is asked only if the user configured one and Claude sent none. Every function that advances an
interview stores event, decision and state in one transaction.
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

START = "start"
_REDUNDANCY_VETO = "recent_redundancy"


class NewInterview:
    """The terms of a new interview; `covered` maps elements that are known already to their source."""

    __slots__ = ("covered", "project", "session")

    def __init__(self, project: str, session: str, covered: dict[str, str]) -> None:
        self.project, self.session, self.covered = project, session, covered


def clean_text(text: str, limit: int) -> str:
    """Return a text as it may be stored: without private passages and secrets, on one line, at most `limit` characters."""
    from ..kernel.hygiene import redact  # not needed for most commands

    # Redacted before it is cut, because half a secret is not recognized.
    line = _one_line(without_private(text), 4 * len(text) + 1)
    return _one_line(redact(line, "memory").text, limit)


def _one_line(text: str, limit: int) -> str:
    """Return the same as `plain`, but without compiling its patterns (milliseconds) for a text in printable ASCII."""
    line = " ".join(text.split())
    return line if line.isascii() and line.isprintable() and len(line) <= limit else plain(text, limit)


def start(store: InterviewStore, setup: dict[str, Any], new: NewInterview) -> tuple[Interview, Decision]:
    """Store a new interview; return it and its first decision."""
    state, decision = begin(setup, new.covered)
    topic = setup["topic"]
    row = (
        _new_id(topic), new.project, new.session, OPEN, topic, now_iso(), "", dumps(setup), dumps(state), "", 0,
    )  # fmt: skip
    interview = Interview(row)
    store.add(interview, {"kind": START, "covered": new.covered}, decision)
    return interview, decision


def answer(
    store: InterviewStore,
    interview: Interview,
    data: dict[str, Any],
    clean: Clean = clean_text,
    judge: Context | None = None,
) -> Decision:
    """Apply an answer and return the next decision; its `dropped` lists the unused parts of the input.

    `judge` is the context of a configured judge, which is asked for the signals of an answer without any. If it fails, the decision's
    `judge` is the failure's name. Raises InvalidAnswer without any change.
    """
    failure = ""
    text = data.get("answer")
    if judge and "signals" not in data and isinstance(text, str) and text.strip():
        verdict = judge_signals(interview, text, judge)
        failure = verdict.failure
        if verdict.values is not None:
            data = dict(data, signals=verdict.values["signals"])
    fields, dropped = parse_answer(data, interview.setup, clean)
    fields["question"] = fields["question"] or interview.question
    decision = _advance(store, interview, {"kind": ANSWER, "given": fields}, dropped)
    return dict(decision, judge=failure) if failure else decision


def steer(store: InterviewStore, interview: Interview, kind: str) -> Decision:
    """Apply the user's request for DEEPER or WRAP_UP and return the next decision."""
    return _advance(store, interview, {"kind": kind}, [])


def resume(store: InterviewStore, interview: Interview, session: str, more: int) -> Decision:
    """Return the pending decision, or for an ended interview a new one, with `more` questions added to its budget."""
    interview.session = session or interview.session
    if interview.status == FINISHED:
        raise InterviewError("%s is finished: its memories are written; start a new one" % interview.id)
    if interview.status == OPEN:
        events = store.events(interview.id)
        store.update(interview)
        _, last_decision = events[-1]
        return load_decision(last_decision)
    interview.status = OPEN
    return _advance(store, interview, {"kind": RESUME, "more": more}, [])


def load_decision(text: str) -> Decision:
    """Return a decision from its stored JSON."""
    value = loads(text)
    assert isinstance(value, dict)
    return value


def _advance(
    store: InterviewStore, interview: Interview, event: dict[str, Any], dropped: list[str]
) -> Decision:
    decision = apply_event(interview.state, interview.setup, event)
    interview.question = ""
    interview.status = ENDED if decision["stop"] else OPEN
    store.add_event(interview, event, decision)
    return dict(decision, dropped=dropped + decision.get("dropped", []))


def check_question(store: InterviewStore, interview: Interview, question: str) -> dict[str, Any]:
    """Check whether a question repeats a recent one; if it does not, store it as the question that Claude asks."""
    turns = interview.state["turns"]
    vetoes = {entry["id"]: entry["params"] for entry in interview.setup["scoring"]["vetoes"]}
    lookback = vetoes[_REDUNDANCY_VETO]["lookback"] if _REDUNDANCY_VETO in vetoes else len(turns)
    recent = [turn["question"] for turn in turns[-lookback:]]
    earlier, score = QuestionSimilarity(interview.setup["redundancy"]).find_repeated(question, recent)
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
        if _without_signals(decision) != _without_signals(load_decision(recorded)):
            differ.append(number)
    same_state = dumps(state) == dumps(interview.state)
    return {"interview": interview.id, "decisions": len(events), "differ": differ, "same_state": same_state}


def _without_signals(decision: Decision) -> Decision:
    """Return a decision without its scorers' signals, which only explain it and are missing in decisions of 0.1.0."""
    stripped = dict(decision)
    if "chosen" in decision:
        stripped["chosen"] = _candidate_without_signals(decision["chosen"])
        stripped["runners_up"] = [_candidate_without_signals(other) for other in decision["runners_up"]]
    return stripped


def _candidate_without_signals(candidate: dict[str, Any]) -> dict[str, Any]:
    scorers = [
        {name: value for name, value in scorer.items() if name != "signals"}
        for scorer in candidate["scorers"]
    ]
    return {**candidate, "scorers": scorers}


def decision_brief(interview: Interview, decision: Decision) -> dict[str, Any]:
    """Return the part of a decision that Claude needs; `explain` shows all of it."""
    names = ("turn", "stop", "phase", "reason", "strategy", "focus", "why", "intent", "avoid", "deferred")
    brief: dict[str, Any] = {"interview": interview.id}
    brief.update({name: decision[name] for name in names if name in decision})
    if decision["turn"] == 1 and not decision["stop"]:
        covered = interview.state["covered"]
        elements = [element["id"] for element in interview.setup["elements"]]
        brief["elements"] = [element for element in elements if element not in covered]
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


def _new_id(topic: str) -> str:
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in topic.lower()).split()
    name = "-".join(words)[:30].strip("-")
    return "%s-%s" % (name or "interview", os.urandom(3).hex())
