"""The interview from start to finish: what came in -> cleaned -> taken into the state -> the next question -> stored, in one turn.

Every function returns the decision and stores event, decision and state in one transaction.
"""

from __future__ import annotations

import os

from ..kernel.clock import now_iso
from ..kernel.native import dumps, loads
from .deciding import ANSWER, RESUME, apply, begun
from .errors import InterviewError
from .intake import intake
from .redundancy import Likeness
from .store import ENDED, FINISHED, OPEN, Interview

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .intake import Clean
    from .store import Store

    Decision = dict[str, Any]

__all__ = [
    "Begin",
    "answer",
    "brief",
    "check_question",
    "parsed_decision",
    "record",
    "replay",
    "resume",
    "start",
    "wish",
]

START = "start"
_LOOKBACK = "recent_redundancy"


class Begin:
    """Whose interview it is: project, the client's session, whether the user asked for it, and what is known beforehand."""

    __slots__ = ("covered", "project", "session", "word")

    def __init__(self, project: str, session: str, covered: dict[str, str], *, word: bool) -> None:
        self.project, self.session, self.covered, self.word = project, session, covered, word


def start(store: Store, setup: dict[str, Any], begin: Begin) -> tuple[Interview, Decision]:
    """A new interview and its first decision."""
    state, decision = begun(setup, begin.covered)
    row = (
        _new_id(setup["topic"]),
        begin.project,
        begin.session,
        OPEN,
        setup["topic"],
        begin.word,
        now_iso(),
        "",
    )
    interview = Interview((*row, dumps(setup), dumps(state), "", 0))
    store.add(interview, {"kind": START, "covered": begin.covered}, decision)
    return interview, decision


def answer(store: Store, interview: Interview, data: dict[str, Any], clean: Clean) -> Decision:
    """The decision after an answer; what of the input was dropped is in it. Raises BadInput, with nothing changed."""
    given, dropped = intake(data, interview.setup, clean)
    given["question"] = given["question"] or interview.question
    return _step(store, interview, {"kind": ANSWER, "given": given}, dropped)


def wish(store: Store, interview: Interview, kind: str) -> Decision:
    """The decision after `deeper` or `wrap_up`."""
    return _step(store, interview, {"kind": kind}, [])


def resume(store: Store, interview: Interview, session: str, more: int) -> Decision:
    """The question that waits for an answer; of an ended interview a new one, with `more` questions added to its budget."""
    interview.session = session or interview.session
    if interview.status == FINISHED:
        raise InterviewError("%s is finished: its memories are written; start a new one" % interview.id)
    if interview.status == OPEN:
        decisions = store.events(interview.id)
        store.touch(interview)
        return parsed_decision(decisions[-1][1])
    interview.status = OPEN
    return _step(store, interview, {"kind": RESUME, "more": more}, [])


def parsed_decision(text: str) -> Decision:
    """A decision as it is stored."""
    value = loads(text)
    assert isinstance(value, dict)
    return value


def _step(store: Store, interview: Interview, event: dict[str, Any], dropped: list[str]) -> Decision:
    decision = apply(interview.state, interview.setup, event)
    interview.question = ""
    interview.status = ENDED if decision["stop"] else OPEN
    store.put(interview, event, decision)
    return dict(decision, dropped=dropped + decision.get("dropped", []))


def check_question(store: Store, interview: Interview, question: str) -> dict[str, Any]:
    """Whether the question that is really to be asked repeats an earlier one; one that does not is kept as the question asked."""
    vetoes = interview.setup["scoring"]["vetoes"]
    lookback = next(
        (e["params"]["lookback"] for e in vetoes if e["id"] == _LOOKBACK), len(interview.state["turns"])
    )
    recent = [turn["question"] for turn in interview.state["turns"][-lookback:]]
    likeness = Likeness(interview.setup["redundancy"])
    earlier, score = likeness.repeated(question, recent)
    if not earlier:
        interview.question = question
        store.touch(interview)
    return {"ok": not earlier, "repeats": earlier, "likeness": round(score, 3)}


def replay(store: Store, interview: Interview) -> dict[str, Any]:
    """The interview decided once more from its events: how many decisions there are, and the numbers of those that differ."""
    differ: list[int] = []
    events = store.events(interview.id)
    state: dict[str, Any] = {}
    for number, (event, decision) in enumerate(events):
        if event["kind"] == START:
            state, found = begun(interview.setup, event["covered"])
        else:
            found = apply(state, interview.setup, event)
        if dumps(found) != decision:
            differ.append(number)
    same_state = dumps(state) == dumps(interview.state)
    return {"interview": interview.id, "decisions": len(events), "differ": differ, "same_state": same_state}


def brief(interview: Interview, decision: Decision) -> dict[str, Any]:
    """What Claude needs of a decision; all of it is kept for `explain`."""
    found = {
        "interview": interview.id,
        "turn": decision["turn"],
        "stop": decision["stop"],
        "phase": decision["phase"],
    }
    names = ("reason", "strategy", "focus", "why", "intent", "avoid", "deferred")
    found.update({name: decision[name] for name in names if name in decision})
    if decision["turn"] == 1 and not decision["stop"]:
        covered = interview.state["covered"]
        found["elements"] = [e["id"] for e in interview.setup["elements"] if e["id"] not in covered]
    found["progress"] = decision["progress"]
    found["runners_up"] = [
        {"strategy": one["strategy"], "focus": one["focus"]["label"], "score": one["score"]}
        for one in decision.get("runners_up", ())
    ]
    if decision.get("dropped"):
        found["dropped"] = decision["dropped"]
    return found


def record(interview: Interview, decision: Decision) -> dict[str, object]:
    """What the ledger keeps of a decision: no text of the user's."""
    names = ("turn", "phase", "strategy", "stop", "reason")
    found: dict[str, object] = {name: decision[name] for name in names if name in decision}
    score = decision.get("chosen", {}).get("score")
    return {"interview": interview.id, **found, "score": score, "gaps": decision["progress"]["gaps"]}


def _new_id(topic: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in topic.lower())
    name = "-".join(part for part in kept.split("-") if part)[:30].strip("-")
    return "%s-%s" % (name or "interview", os.urandom(3).hex())
