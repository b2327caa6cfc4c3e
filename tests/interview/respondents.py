"""Simulated respondents: thirteen kinds of people who always answer in the same way."""

# ruff: noqa: ARG002 (each kind is given the decision, whether it listens or not)
from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from memory_plugin.interview.answer_input import parse_answer
from memory_plugin.interview.decisions import ANSWER, apply_event, begin
from memory_plugin.interview.pack import find_pack, read_pack
from memory_plugin.interview.setup import InterviewLimits, new_setup

KINDS = (
    "steady", "brief", "chatty", "fatiguing", "hedging", "contradicting", "fixated", "ignorant", "confused", "souring",
    "leaving", "weaving", "harping",
)  # fmt: skip
LADDER = ["risk", "constraint", "decision", "behaviour", "goal"]
# What a respondent can say about each element of the pack `requirements`, in words that name no other element.
KNOWN = {
    "goal": ["less typing for clerks", "fewer phone calls"],
    "users": ["clerks in accounting", "auditors"],
    "main_flow": ["pick a month then press go", "preview before sending"],
    "scope": ["no printing", "no mobile client"],
    "data": ["invoices with totals", "currency per line"],
    "interfaces": ["ledger of the bank", "mail gateway"],
    "errors": ["broken lines are listed", "half written files vanish"],
    "security": ["only managers open it", "names are masked"],
    "performance": ["done within one minute", "ten people at once"],
    "operation": ["runs on the old cluster", "nightly copy elsewhere"],
    "constraints": ["ready before april", "no cloud allowed"],
    "success": ["zero corrections in may", "clerks recommend it"],
}
WHY = [
    "keeps trust",
    "saves evenings",
    "avoids fines",
    "calms the team",
    "pleases partners",
    "frees money",
    "wins time",
]

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


class Respondent:
    """One person. `answer` returns what Claude would pass on after the question of a decision."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.told: dict[str, int] = {}
        self.whys = 0
        self.turn = 0
        self.last: dict[str, str] = {}

    def answer(self, decision: dict[str, Any]) -> dict[str, Any]:
        """Return the answer with its concepts."""
        self.turn += 1
        special = getattr(self, "_" + self.kind, None)
        found: dict[str, Any] | None = special(decision) if special else None
        return found or self._plain(decision)

    def _plain(self, decision: dict[str, Any]) -> dict[str, Any]:
        strategy, focus = decision["strategy"], decision["focus"]
        if strategy == "deepen":
            return self._why(focus["label"].strip('"'))
        if strategy in ("cover_element", "broaden", "ease", "closing", "reflection"):
            name = focus["key"] if focus["kind"] == "uncovered" else self._untold()
            return (
                self._about(name) if name else self._said("nothing comes to my mind about that right now", [])
            )
        if strategy == "bridge":
            return self._link(focus["label"].strip('"'))
        if strategy == "clarify":
            return self._said("I am sure of it, it is just as I told you before", [])
        return self._said("yes that is right, it is just as you put it", [])

    def _untold(self) -> str:
        return next((name for name in KNOWN if self.told.get(name, 0) < 2), "")

    def _about(self, name: str, prefix: str = "for us it is") -> dict[str, Any]:
        at = self.told.get(name, 0)
        self.told[name] = at + 1
        label = KNOWN[name][at % 2]
        kind = LADDER[(list(KNOWN).index(name) + at) % 3]
        self.last[label] = kind
        concept = {"text": label, "type": kind, "stance": 1 if at else 0, "quote": label}
        return self._said("%s %s and nothing less" % (prefix, label), [concept])

    def _why(self, label: str) -> dict[str, Any]:
        reason = "%s %s" % (WHY[self.whys % 7], ("daily", "weekly", "monthly", "yearly")[self.whys // 7 % 4])
        self.whys += 1
        kind = LADDER[min(4, LADDER.index(self.last.get(label, "decision")) + 1)]
        self.last[reason] = kind
        concept = {"text": reason, "type": kind, "stance": 1, "quote": reason}
        return self._said("because it %s in the end for all of us" % reason, [concept])

    def _link(self, label: str) -> dict[str, Any]:
        others = [name for name, kind in self.last.items() if name != label and kind == self.last.get(label)]
        relations = [{"source": label, "target": others[0]}] if others else []
        return dict(self._said("that hangs together with the other one I named", []), relations=relations)

    @staticmethod
    def _said(text: str, concepts: list[dict[str, Any]]) -> dict[str, Any]:
        return {"answer": text, "concepts": concepts}

    def _brief(self, decision: dict[str, Any]) -> dict[str, Any]:
        found = self._plain(decision)
        found["answer"] = found["concepts"][0]["text"] if found["concepts"] else "Hm, as before I would say."
        return found

    def _chatty(self, decision: dict[str, Any]) -> dict[str, Any]:
        found, name = self._plain(decision), self._untold()
        if name:
            more = self._about(name, "I really love to add, for example, that it is")
            found["answer"] += ". " + more["answer"]
            found["concepts"] = found["concepts"] + more["concepts"]
        return found

    def _fatiguing(self, decision: dict[str, Any]) -> dict[str, Any] | None:
        if self.turn < 8:
            return None
        return self._said(["Fine.", "Sure.", "Yes."][self.turn % 3], [])

    def _hedging(self, decision: dict[str, Any]) -> dict[str, Any]:
        found = self._plain(decision)
        if self.turn % 3 == 0 and decision["strategy"] != "clarify":
            found["answer"] = "maybe, I guess it might be " + found["answer"]
            for concept in found["concepts"]:
                concept["confidence"] = 0.4
        return found

    def _contradicting(self, decision: dict[str, Any]) -> dict[str, Any]:
        found = self._plain(decision)
        if self.turn % 3 == 0 and found["concepts"]:
            for concept in found["concepts"]:
                concept["stance"] = -1
        return found

    def _fixated(self, decision: dict[str, Any]) -> dict[str, Any]:
        concept = {
            "text": "the blue button on top",
            "type": "behaviour",
            "stance": 1,
            "quote": "the blue button",
        }
        return self._said("what counts is the blue button on top, whatever you ask me", [concept])

    def _ignorant(self, decision: dict[str, Any]) -> dict[str, Any] | None:
        return None if self.turn == 1 else self._said("Sorry, I don't know.", [])

    def _confused(self, decision: dict[str, Any]) -> dict[str, Any] | None:
        puzzled = self.turn in (3, 6) and decision["strategy"] != "clarify"
        return self._said("What do you mean by that, please?", []) if puzzled else None

    def _souring(self, decision: dict[str, Any]) -> dict[str, Any] | None:
        found = self._plain(decision)
        moods = {
            5: "very good, it helps and I love it",
            6: "so far neither here nor there for me",
            7: "that is annoying",
        }
        found["answer"] += ", " + moods[self.turn] if self.turn in moods else ""
        return found

    def _weaving(self, decision: dict[str, Any]) -> dict[str, Any]:
        """Link everything to the same concept, so that the rest has few links."""
        found = self._plain(decision) if decision["strategy"] == "cover_element" else self._said("", [])
        outcome = "%s %s" % (WHY[self.turn % 7], ("always", "mostly", "soon", "later")[self.turn // 7 % 4])
        hub = {"text": "one shared calendar", "type": "behaviour", "quote": "the calendar"}
        new = {"text": outcome, "type": "goal", "stance": 1, "quote": outcome}
        found["answer"] += " and with one shared calendar it %s for the whole department" % outcome
        found["concepts"] = [hub, new]
        found["relations"] = [{"source": hub["text"], "target": outcome}]
        return found

    def _harping(self, decision: dict[str, Any]) -> dict[str, Any]:
        """Come back to one subject with each answer, always from another side."""
        outcome = "tidy paperwork that %s" % WHY[self.turn % 7]
        old = {"text": "tidy paperwork", "type": "constraint", "stance": 1, "quote": "tidy paperwork"}
        new = {"text": outcome, "type": "goal", "stance": 1, "quote": outcome}
        return self._said("it comes down to %s" % outcome, [old, new] if self.turn <= 7 else [old])

    def _leaving(self, decision: dict[str, Any]) -> dict[str, Any] | None:
        return self._said("No, that's all, thanks.", []) if self.turn == 5 else None


def setup_for(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 (any term)
    """Return the setup of an interview with the pack `requirements`."""
    path = find_pack("requirements", "")
    terms = {"max_turns": 24, "target_coverage": 0.8, "close_when_falling": True, **changes}
    return new_setup("the billing export", read_pack(path), path, InterviewLimits(**terms))


def talk(
    kind: str, setup: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]:
    """Return all decisions of an interview, its last state, and its answers."""
    person = Respondent(kind)
    state, decision = begin(setup, {})
    decisions, answers = [decision], []
    while not decision["stop"]:
        given, _ = parse_answer(person.answer(decision), setup, lambda text, limit: text[:limit])
        answers.append(given)
        decision = apply_event(state, setup, {"kind": ANSWER, "given": given})
        decisions.append(decision)
    return decisions, state, answers
