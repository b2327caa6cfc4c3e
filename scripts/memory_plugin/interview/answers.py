"""Apply one answer to an interview's state: add its concepts to the graph, mark elements as covered, and append a turn."""

from __future__ import annotations

from .answer_signals import check_signals, is_terminal, sentiment, signals_by_rule
from .graph import LEADS_TO, REVISES, Graph, node_index
from .wording import contains_phrase, contains_run, content_stems, count_phrases, normalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    State = dict[str, Any]

_BY_ANSWER, _BY_NAME = "answered", "named"
_EXCLUDING = ("apart from", "besides", "other than", "except", "aside from", "beyond")


def new_state(covered: dict[str, str]) -> State:
    """Return the state of an interview before its first question; `covered` maps elements that are known already to their source.

    `rate` is a moving average of new concepts per answer, and `more` is the number of questions added by resuming.
    """
    return {
        "nodes": [],
        "edges": [],
        "turns": [],
        "covered": {name: {"turn": 0, "by": source} for name, source in covered.items()},
        "skipped": [],
        "rate": 1.0,
        "more": 0,
        "next": None,
    }


def apply_answer(state: State, setup: dict[str, Any], fields: dict[str, Any]) -> list[str]:
    """Apply an answer to the question in `state["next"]`, changing the state; return descriptions of dropped parts.

    `fields` are the parts of the answer from `parse_answer`.
    """
    valid, invalid = check_signals(fields["signals"], setup["signals"])
    by_rule = signals_by_rule(fields["answer"], setup["patterns"], has_concepts=bool(fields["concepts"]))
    answer = _Answer(state, setup, fields, {**by_rule, **valid})
    # Relations come last, because they may name concepts of this same answer, and repeat a link of the question.
    answer.add_concepts()
    answer.link_to_question()
    dropped = ["signals.%s: not of the expected form" % name for name in invalid] + answer.add_relations()
    turn = answer.turn(by_rule)
    if turn["wish"] == "skip":
        state["skipped"].append(answer.question["focus"]["key"])
    answer.cover_elements(turn)
    weight = setup["scoring"]["stop"]["rate_weight"]
    state["rate"] = round((1 - weight) * state["rate"] + weight * answer.new, 6)
    state["turns"].append(turn)
    return dropped


class _Answer:
    """An answer that is being applied.

    `fields` are its parts, and `question` is the stored question. `nodes` are the indexes of the mentioned concepts, and `new` is the
    number of new ones.
    """

    def __init__(
        self, state: State, setup: dict[str, Any], fields: dict[str, Any], signals: dict[str, Any]
    ) -> None:
        self.state, self.setup, self.fields, self.signals = state, setup, fields, signals
        self.question: dict[str, Any] = state["next"]
        self.number = len(state["turns"]) + 1
        self.graph = Graph(state, setup["pack"])
        self.function_words = frozenset(setup["redundancy"]["function_words"])
        self.nodes: list[int] = []
        self.new = 0

    def _find(self, text: str, stance: int = 0) -> int:
        return self.graph.find(content_stems(text, self.function_words), stance)

    def add_concepts(self) -> None:
        """Add the new concepts to the graph, and count one more mention of the others."""
        for concept in self.fields["concepts"]:
            index = self._find(concept["text"], concept["stance"])
            if index < 0:
                index = self._add_concept(concept)
            elif not self.graph.nodes[index]["stance"]:
                self.graph.nodes[index]["stance"] = concept["stance"]
            for alias in concept["aliases"]:
                self.graph.add_name(index, content_stems(alias, self.function_words))
            if index not in self.nodes:
                self.graph.mention(index, self.number, concept["quote"], concept["confidence"])
                self.nodes.append(index)

    def _add_concept(self, concept: dict[str, Any]) -> int:
        """Add a node and link it to the one that it revises, which is marked as superseded if the user took it back."""
        graph, stems = self.graph, content_stems(concept["text"], self.function_words)
        earlier = graph.find_opposite(stems, concept["stance"])
        index = graph.add(concept["text"], concept["type"], stems, concept["stance"], concept["confidence"])
        self.new += 1
        if concept["revises"]:
            earlier = self._find(concept["revises"])
        if earlier >= 0 and earlier != index:
            graph.link(index, earlier, REVISES, self.number)
            contradiction = self.signals.get("contradiction", {})
            is_reversal = contradiction.get("present") and contradiction.get("kind") == "stance_reversal"
            if concept["revises"] or is_reversal:
                graph.nodes[earlier]["superseded_by"] = graph.nodes[index]["id"]
        return index

    def link_to_question(self) -> None:
        """Link the question's concept to the answer: "why does X matter?" answered with Y means that X leads to Y."""
        if self.question["strategy"] != "deepen":
            return
        source = node_index(self.question["focus"]["key"])
        for target in self.nodes:
            if self.graph.climbs(source, target, len(self.graph.ladder)):
                self.graph.link(source, target, LEADS_TO, self.number)

    def add_relations(self) -> list[str]:
        """Add the relations that climb one step of the ladder; return descriptions of the dropped ones."""
        dropped = []
        for number, (source_text, target_text) in enumerate(self.fields["relations"]):
            source, target = self._find(source_text), self._find(target_text)
            if source < 0 or target < 0:
                dropped.append("relations.%d: no such concept" % number)
            elif not self.graph.climbs(source, target):
                dropped.append("relations.%d: not one step up the ladder" % number)
            else:
                self.graph.link(source, target, LEADS_TO, self.number)
        return dropped

    def turn(self, by_rule: dict[str, Any]) -> dict[str, Any]:
        """Return the turn as it is stored, without its elements."""
        fields, question, patterns = self.fields, self.question, self.setup["patterns"]
        text = normalize(fields["answer"])
        words, terminal = len(text.split()), is_terminal(self.signals)
        misunderstood = self.signals.get("uncertainty", {}).get("type") == "conceptual_clarity"
        unanswered = not self.nodes and misunderstood
        is_short = words <= self.setup["scoring"]["stop"]["low_words"]
        low = not self.new and is_short and not terminal and not unanswered and fields["wish"] != "skip"
        return {
            "number": self.number,
            "strategy": question["strategy"],
            "focus": question["focus"],
            "question": fields["question"] or question.get("question") or question["probe"],
            "answer": fields["answer"],
            "words": words,
            "elaborations": count_phrases(text, patterns["elaboration"]),
            "enthusiasm": count_phrases(text, patterns["enthusiasm"]),
            "hedges": count_phrases(text, patterns["hedge"]),
            "wish": fields["wish"],
            "signals": self.signals,
            "by_rule": by_rule,
            "terminal": terminal,
            "sentiment": sentiment(self.signals, self.setup["signals"]),
            "concepts": [self.graph.nodes[index]["id"] for index in self.nodes],
            "new": self.new,
            "unanswered": unanswered,
            "low": low,
        }

    def cover_elements(self, turn: dict[str, Any]) -> None:
        """Mark elements as covered, and set those of the turn and of its nodes.

        An element is covered if a question about it was answered, if Claude says that it is settled, or if the answer mentions it.
        """
        covered = self.state["covered"]
        mentioned = self._elements_in(self.fields["answer"])
        settled = list(self.fields["covered"])
        if self.nodes and not turn["terminal"] and not turn["wish"]:
            elements = [element["id"] for element in self.setup["elements"]]
            settled += [element for element in elements if element == turn["focus"]["key"]]
            settled += self._elements_in_question()
        for element in settled:
            covered.setdefault(element, {"turn": self.number, "by": _BY_ANSWER})
        if not turn["terminal"] and not turn["unanswered"]:
            for element in mentioned:
                covered.setdefault(element, {"turn": self.number, "by": _BY_NAME})
        turn["elements"] = sorted({*mentioned, *self.fields["covered"]})
        is_element = turn["focus"]["kind"] == "uncovered"
        about = turn["elements"] + ([turn["focus"]["key"]] if is_element else [])
        for index in self.nodes:
            node = self.graph.nodes[index]
            # A node without an element in its name belongs to the element that the turn was about.
            elements = _elements_named(self.setup, node["names"]) or about[:1]
            node["elements"] = sorted({*node["elements"], *elements})

    def _elements_in_question(self) -> list[str]:
        """Return the elements that Claude's own question mentions, without those that the topic mentions or the question excludes."""
        question = self.fields["question"]
        if question in ("", self.question["probe"]) or contains_phrase(normalize(question), _EXCLUDING):
            return []
        in_topic = self._elements_in(self.setup["topic"])
        return [element for element in self._elements_in(question) if element not in in_topic]

    def _elements_in(self, text: str) -> list[str]:
        return _elements_named(self.setup, [content_stems(text, self.function_words)])


def _elements_named(setup: dict[str, Any], texts: list[list[str]]) -> list[str]:
    """Return the elements with a label or alias in one of some texts, which are lists of stems."""
    return [
        element["id"]
        for element in setup["elements"]
        if any(contains_run(name, stems) for name in element["stems"] for stems in texts)
    ]
