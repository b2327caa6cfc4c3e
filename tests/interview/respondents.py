"""Simulated respondents: thirteen kinds of people who always answer in the same way."""

# ruff: noqa: ARG002 (every kind has the same signature)
from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from memory_plugin.interview.inputs import new_setup, parse_answer, read_pack
from memory_plugin.interview.pipeline import ANSWER, apply_event, begin

KINDS = (
    "steady", "brief", "chatty", "fatiguing", "hedging", "contradicting", "fixated", "ignorant", "confused", "souring",
    "leaving", "weaving", "harping",
)  # fmt: skip
LADDER = ["risk", "constraint", "decision", "behaviour", "goal"]
# Two facts on each element of the pack `requirements`, in words that mention no other element.
FACTS = {
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
REASONS = [
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
    """A person. `answer` returns what Claude would pass on after a decision's question."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.facts_given: dict[str, int] = {}
        self.reasons_given = 0
        self.turn = 0
        self.types: dict[str, str] = {}  # label of a concept -> type

    def answer(self, decision: dict[str, Any]) -> dict[str, Any]:
        """Return the answer with its concepts."""
        self.turn += 1
        special = getattr(self, "_" + self.kind, None)
        answer: dict[str, Any] | None = special(decision) if special else None
        return answer or self._plain(decision)

    def _plain(self, decision: dict[str, Any]) -> dict[str, Any]:
        strategy, focus = decision["strategy"], decision["focus"]
        if strategy == "deepen":
            return self._give_reason(focus["label"].strip('"'))
        if strategy in ("cover_element", "broaden", "ease", "closing", "reflection"):
            element = focus["key"] if focus["kind"] == "uncovered" else self._next_element()
            return (
                self._give_fact(element)
                if element
                else reply("nothing comes to my mind about that right now")
            )
        if strategy == "bridge":
            return self._link(focus["label"].strip('"'))
        if strategy == "clarify":
            return reply("I am sure of it, it is just as I told you before")
        return reply("yes that is right, it is just as you put it")

    def _next_element(self) -> str:
        return next((element for element in FACTS if self.facts_given.get(element, 0) < 2), "")

    def _give_fact(self, element: str, prefix: str = "for us it is") -> dict[str, Any]:
        count = self.facts_given.get(element, 0)
        self.facts_given[element] = count + 1
        label = FACTS[element][count % 2]
        kind = LADDER[(list(FACTS).index(element) + count) % 3]
        self.types[label] = kind
        concept = {"text": label, "type": kind, "stance": 1 if count else 0, "quote": label}
        return reply("%s %s and nothing less" % (prefix, label), concept)

    def _give_reason(self, label: str) -> dict[str, Any]:
        rate = ("daily", "weekly", "monthly", "yearly")[self.reasons_given // 7 % 4]
        reason = "%s %s" % (REASONS[self.reasons_given % 7], rate)
        self.reasons_given += 1
        kind = LADDER[min(4, LADDER.index(self.types.get(label, "decision")) + 1)]
        self.types[reason] = kind
        concept = {"text": reason, "type": kind, "stance": 1, "quote": reason}
        return reply("because it %s in the end for all of us" % reason, concept)

    def _link(self, label: str) -> dict[str, Any]:
        same_type = [
            other for other, kind in self.types.items() if other != label and kind == self.types.get(label)
        ]
        relations = [{"source": label, "target": same_type[0]}] if same_type else []
        return dict(reply("that hangs together with the other one I named"), relations=relations)

    def _brief(self, decision: dict[str, Any]) -> dict[str, Any]:
        answer = self._plain(decision)
        answer["answer"] = (
            answer["concepts"][0]["text"] if answer["concepts"] else "Hm, as before I would say."
        )
        return answer

    def _chatty(self, decision: dict[str, Any]) -> dict[str, Any]:
        answer, element = self._plain(decision), self._next_element()
        if element:
            more = self._give_fact(element, "I really love to add, for example, that it is")
            answer["answer"] += ". " + more["answer"]
            answer["concepts"] = answer["concepts"] + more["concepts"]
        return answer

    def _fatiguing(self, decision: dict[str, Any]) -> dict[str, Any] | None:
        if self.turn < 8:
            return None
        return reply(["Fine.", "Sure.", "Yes."][self.turn % 3])

    def _hedging(self, decision: dict[str, Any]) -> dict[str, Any]:
        answer = self._plain(decision)
        if self.turn % 3 == 0 and decision["strategy"] != "clarify":
            answer["answer"] = "maybe, I guess it might be " + answer["answer"]
            for concept in answer["concepts"]:
                concept["confidence"] = 0.4
        return answer

    def _contradicting(self, decision: dict[str, Any]) -> dict[str, Any]:
        answer = self._plain(decision)
        if self.turn % 3 == 0:
            for concept in answer["concepts"]:
                concept["stance"] = -1
        return answer

    def _fixated(self, decision: dict[str, Any]) -> dict[str, Any]:
        concept = {
            "text": "the blue button on top",
            "type": "behaviour",
            "stance": 1,
            "quote": "the blue button",
        }
        return reply("what counts is the blue button on top, whatever you ask me", concept)

    def _ignorant(self, decision: dict[str, Any]) -> dict[str, Any] | None:
        return None if self.turn == 1 else reply("Sorry, I don't know.")

    def _confused(self, decision: dict[str, Any]) -> dict[str, Any] | None:
        is_confused = self.turn in (3, 6) and decision["strategy"] != "clarify"
        return reply("What do you mean by that, please?") if is_confused else None

    def _souring(self, decision: dict[str, Any]) -> dict[str, Any] | None:
        answer = self._plain(decision)
        moods = {
            5: "very good, it helps and I love it",
            6: "so far neither here nor there for me",
            7: "that is annoying",
        }
        if self.turn in moods:
            answer["answer"] += ", " + moods[self.turn]
        return answer

    def _weaving(self, decision: dict[str, Any]) -> dict[str, Any]:
        """Link everything to one concept, which leaves the others with few links."""
        answer = self._plain(decision) if decision["strategy"] == "cover_element" else reply("")
        rate = ("always", "mostly", "soon", "later")[self.turn // 7 % 4]
        outcome = "%s %s" % (REASONS[self.turn % 7], rate)
        hub = {"text": "one shared calendar", "type": "behaviour", "quote": "the calendar"}
        new = {"text": outcome, "type": "goal", "stance": 1, "quote": outcome}
        answer["answer"] += " and with one shared calendar it %s for the whole department" % outcome
        answer["concepts"] = [hub, new]
        answer["relations"] = [{"source": hub["text"], "target": outcome}]
        return answer

    def _harping(self, decision: dict[str, Any]) -> dict[str, Any]:
        """Come back to one subject in each answer, always from another side."""
        outcome = "tidy paperwork that %s" % REASONS[self.turn % 7]
        old = {"text": "tidy paperwork", "type": "constraint", "stance": 1, "quote": "tidy paperwork"}
        new = {"text": outcome, "type": "goal", "stance": 1, "quote": outcome}
        return reply("it comes down to %s" % outcome, *([old, new] if self.turn <= 7 else [old]))

    def _leaving(self, decision: dict[str, Any]) -> dict[str, Any] | None:
        return reply("No, that's all, thanks.") if self.turn == 5 else None


def reply(text: str, *concepts: dict[str, Any]) -> dict[str, Any]:
    """Return an answer with its concepts, as Claude passes it on."""
    return {"answer": text, "concepts": list(concepts)}


def setup_for(max_turns: int = 24) -> Any:  # noqa: ANN401 (JSON)
    """Return the setup of an interview with the pack `requirements`."""
    pack = read_pack("requirements")
    return new_setup("the billing export", pack, max_turns, {})


def hold_interview(kind: str, setup: Any) -> tuple[list[Any], Any, list[Any]]:  # noqa: ANN401 (JSON)
    """Return the decisions of an interview, its last state, and the answers."""
    person = Respondent(kind)
    decision: Any
    state, decision = begin(setup, {})
    decisions, answers = [decision], []
    while not decision["stop"]:
        given, _ = parse_answer(person.answer(decision), setup)
        answers.append(given)
        decision = apply_event(state, setup, {"kind": ANSWER, "given": given})
        decisions.append(decision)
    return decisions, state, answers


def after(*answers: dict[str, Any]) -> tuple[Any, Any]:
    """Return the state and the last decision after some answers, each as Claude passes it on."""
    setup = setup_for()
    state, decision = begin(setup, {})
    for data in answers:
        given, dropped = parse_answer(data, setup)
        assert dropped == []
        decision = apply_event(state, setup, {"kind": ANSWER, "given": given})
    return state, decision


def say(
    answer: str, *concepts: str, question: str = "", kind: str = "behaviour", stance: int = 0
) -> dict[str, Any]:
    """Return an answer with concepts."""
    entries = [{"type": kind, "text": text, "stance": stance, "quote": text} for text in concepts]
    return {"answer": answer, "question": question, "concepts": entries}
