"""Apply one answer to the state of an interview: add nodes and edges for its concepts, mark elements as covered, and add a turn."""

from __future__ import annotations

from .answer_signals import check_signals, is_terminal, sentiment, signals_by_rule
from .graph import LEADS_TO, REVISES, Graph
from .wording import contains_phrase, contains_run, content_stems, count_phrases, normalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]

__all__ = ["apply_answer", "new_state"]

_BY_ANSWER, _BY_NAME = "answered", "named"
_EXCLUDING = ("apart from", "besides", "other than", "except", "aside from", "beyond")


def new_state(covered: dict[str, str]) -> State:
    """Return the state of an interview before its first question; `covered` maps elements that are known already to their source."""
    known = {name: {"turn": 0, "by": source} for name, source in covered.items()}
    return {
        "nodes": [],
        "edges": [],
        "turns": [],
        "covered": known,
        "skipped": [],
        "rate": 1.0,
        "more": 0,
        "next": None,
    }


def apply_answer(state: State, setup: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """Apply an answer to the question in `state["next"]`, changing the state; return descriptions of dropped parts."""
    found, invalid = check_signals(given["signals"], setup["signals"])
    by_rule = signals_by_rule(given["answer"], setup["patterns"], said_something=bool(given["concepts"]))
    answer = _Answer(state, setup, given, dict(by_rule, **found))
    # The order counts: relations may name concepts of this same answer, and link what the question has not linked.
    answer.add_concepts()
    answer.link_to_question()
    dropped = ["signals.%s: not of the expected form" % name for name in invalid] + answer.add_relations()
    turn = answer.turn(by_rule)
    if turn["wish"] == "skip":
        state["skipped"].append(answer.asked["focus"]["key"])
    answer.cover(turn)
    weight = setup["scoring"]["stop"]["rate_weight"]
    state["rate"] = round((1 - weight) * state["rate"] + weight * answer.new, 6)
    state["turns"].append(turn)
    return dropped


class _Answer:
    """An answer while it is applied; `nodes` are the graph's nodes that it names, `new` is how many of them are new."""

    def __init__(
        self, state: State, setup: dict[str, Any], given: dict[str, Any], signals: dict[str, Any]
    ) -> None:
        self.state, self.setup, self.given, self.signals = state, setup, given, signals
        self.asked: dict[str, Any] = state["next"]
        self.number = len(state["turns"]) + 1
        self.graph = Graph(state, setup["pack"])
        self.idle = frozenset(setup["redundancy"]["function_words"])
        self.nodes: list[int] = []
        self.new = 0

    def _find(self, text: str, stance: int = 0) -> int:
        return self.graph.find(content_stems(text, self.idle), stance)

    def add_concepts(self) -> None:
        """Add the concepts to the graph, or count one more mention of those it has."""
        for concept in self.given["concepts"]:
            at = self._find(concept["text"], concept["stance"])
            if at < 0:
                at = self._add(concept)
            elif not self.graph.nodes[at]["stance"]:
                self.graph.nodes[at]["stance"] = concept["stance"]
            for alias in concept["aliases"]:
                self.graph.add_name(at, content_stems(alias, self.idle))
            if at not in self.nodes:
                self.graph.mention(at, self.number, concept["quote"], concept["confidence"])
                self.nodes.append(at)

    def _add(self, concept: dict[str, Any]) -> int:
        """Add a node; link it to the one it revises, and mark that one superseded where the user took it back."""
        graph, stems = self.graph, content_stems(concept["text"], self.idle)
        earlier = graph.find_opposite(stems, concept["stance"])
        at = graph.add(concept["text"], concept["type"], stems, concept["stance"], concept["confidence"])
        self.new += 1
        if concept["revises"]:
            earlier = self._find(concept["revises"])
        if 0 <= earlier != at:
            graph.link(at, earlier, REVISES, self.number)
            contradiction = self.signals.get("contradiction", {})
            reversed_ = contradiction.get("present") and contradiction.get("kind") == "stance_reversal"
            if concept["revises"] or reversed_:
                graph.nodes[earlier]["superseded_by"] = graph.nodes[at]["id"]
        return at

    def link_to_question(self) -> None:
        """Link the concept that was asked about to the answer: "why does X matter?" answered with Y means that X leads to Y."""
        if self.asked["strategy"] != "deepen":
            return
        source = int(self.asked["focus"]["key"][1:]) - 1
        for target in self.nodes:
            if target != source and self.graph.climbs(source, target, len(self.graph.ladder)):
                self.graph.link(source, target, LEADS_TO, self.number)

    def add_relations(self) -> list[str]:
        """Add the relations that climb one step of the ladder; return descriptions of the dropped ones."""
        dropped = []
        for at, (source, target) in enumerate(map(self._find, ends) for ends in self.given["relations"]):
            if source < 0 or target < 0:
                dropped.append("relations.%d: no such concept" % at)
            elif not self.graph.climbs(source, target):
                dropped.append("relations.%d: not one step up the ladder" % at)
            else:
                self.graph.link(source, target, LEADS_TO, self.number)
        return dropped

    def turn(self, by_rule: dict[str, Any]) -> dict[str, Any]:
        """Return the turn as it is stored, but for its elements."""
        given, asked, patterns = self.given, self.asked, self.setup["patterns"]
        said = normalize(given["answer"])
        words, terminal = len(said.split()), is_terminal(self.signals)
        unclear = self.signals.get("uncertainty", {}).get("type") == "conceptual_clarity"
        unanswered = not self.nodes and unclear
        short = words <= self.setup["scoring"]["stop"]["low_words"]
        low = not self.new and short and not terminal and not unanswered and given["wish"] != "skip"
        return {
            "number": self.number,
            "strategy": asked["strategy"],
            "focus": asked["focus"],
            "question": given["question"] or asked.get("question") or asked["probe"],
            "answer": given["answer"],
            "words": words,
            "elaborations": count_phrases(said, patterns["elaboration"]),
            "enthusiasm": count_phrases(said, patterns["enthusiasm"]),
            "hedges": count_phrases(said, patterns["hedge"]),
            "wish": given["wish"],
            "signals": self.signals,
            "by_rule": by_rule,
            "terminal": terminal,
            "sentiment": sentiment(self.signals, self.setup["signals"]),
            "concepts": ["n%d" % (at + 1) for at in self.nodes],
            "new": self.new,
            "unanswered": unanswered,
            "low": low,
        }

    def cover(self, turn: dict[str, Any]) -> None:
        """Mark elements as covered: asked about and answered, settled by Claude, or named in the answer."""
        covered = self.state["covered"]
        named = _named(self.setup, content_stems(self.given["answer"], self.idle))
        settled = list(self.given["covered"])
        if self.nodes and not turn["terminal"] and not turn["wish"]:
            settled += [e["id"] for e in self.setup["elements"] if e["id"] == turn["focus"]["key"]]
            settled += self._asked_for()
        for name in settled:
            covered.setdefault(name, {"turn": self.number, "by": _BY_ANSWER})
        if not turn["terminal"] and not turn["unanswered"]:
            for name in named:
                covered.setdefault(name, {"turn": self.number, "by": _BY_NAME})
        turn["elements"] = sorted({*named, *self.given["covered"]})
        about = turn["elements"] + ([turn["focus"]["key"]] if turn["focus"]["kind"] == "uncovered" else [])
        for at in self.nodes:
            node = self.graph.nodes[at]
            node["elements"] = sorted({*node["elements"], *_elements_of(node, self.setup, about)})

    def _asked_for(self) -> list[str]:
        """Return the elements that Claude's own question names, without those that the topic names or the question excludes."""
        question = self.given["question"]
        if question in ("", self.asked["probe"]) or contains_phrase(normalize(question), _EXCLUDING):
            return []
        always = _named(self.setup, content_stems(self.setup["topic"], self.idle))
        return [n for n in _named(self.setup, content_stems(question, self.idle)) if n not in always]


def _named(setup: dict[str, Any], stems: list[str]) -> list[str]:
    """Return the elements that a text names."""
    return [e["id"] for e in setup["elements"] if any(contains_run(part, stems) for part in e["stems"])]


def _elements_of(node: dict[str, Any], setup: dict[str, Any], about: list[str]) -> list[str]:
    """Return the elements that a node belongs to: those in its name, else the one that the turn was about."""
    named = [
        element["id"]
        for element in setup["elements"]
        if any(contains_run(part, name) for part in element["stems"] for name in node["names"])
    ]
    return named or about[:1]
