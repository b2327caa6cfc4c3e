"""Apply one answer to an interview's state: find its signals, add its concepts to the graph, mark elements as covered, append a turn."""

from __future__ import annotations

from typing import Any

from ..kernel.context import Context
from .answer_input import check_signals
from .graph import LEADS_TO, REVISES, Graph, node_index
from .interview_store import Interview
from .wording import contains_run, content_stems, count_phrases, normalize

_EXCLUDING = ("apart from", "besides", "other than", "except", "aside from", "beyond")
_JUDGE_SECONDS = 3.0
_MAX_TURNS, _MAX_CHARACTERS = 10, 800  # of the excerpt for a judge


def signals_by_rule(
    answer: str, patterns: dict[str, list[str]], *, has_concepts: bool = True
) -> dict[str, dict[str, Any]]:
    """Return the signals found by phrases in an answer.

    An answer without concepts that ends in a question mark is a question in return.
    """
    text = normalize(answer)
    found = {name: count_phrases(text, phrases) for name, phrases in patterns.items()}
    signals: dict[str, dict[str, Any]] = {}
    is_exploratory = bool(found["exploratory"])
    if found["terminal"]:
        response = "exploratory" if is_exploratory else "terminal"
        signals["knowledge_ceiling"] = {"terminal": not is_exploratory, "response": response}
    is_plain = not has_concepts and not is_exploratory and not found["terminal"]
    if found["confused"] or (is_plain and answer.rstrip().endswith("?")):
        signals["uncertainty"] = {"type": "conceptual_clarity", "severity": 0.6}
    elif found["terminal"]:
        signals["uncertainty"] = {"type": "knowledge_gap", "severity": 0.4 if is_exploratory else 0.9}
    elif found["hedge"] >= 2:
        signals["uncertainty"] = {
            "type": "confidence_qualification",
            "severity": min(1.0, found["hedge"] / 4),
        }
    if found["causal"]:
        signals["reasoning"] = {"quality": "causal"}
    if found["reversal"]:
        signals["contradiction"] = {"present": True, "kind": "stance_reversal"}
    if found["positive"] != found["negative"]:
        is_strong = max(found["positive"], found["negative"]) >= 2 or found["intensifier"]
        direction = "positive" if found["positive"] > found["negative"] else "negative"
        signals["emotional"] = {"intensity": ("high_" if is_strong else "moderate_") + direction}
    return signals


def wants_to_stop(answer: str, patterns: dict[str, list[str]]) -> bool:
    """Return whether an answer only asks to stop, unlike "stop the build when a test fails"."""
    text = normalize(answer)
    has_phrase = False
    # The longest phrase first, because removing "stop" alone would leave the rest of "let's stop here".
    for phrase in sorted(patterns["stop"], key=len, reverse=True):
        if " %s " % phrase in text:
            text, has_phrase = text.replace(" %s " % phrase, "  "), True
    return has_phrase and all(word in patterns["filler"] for word in text.split())


def is_terminal(signals: dict[str, dict[str, Any]]) -> bool:
    """Return whether the user does not know and has no more to say, unlike "not sure yet, maybe ..."."""
    ceiling = signals.get("knowledge_ceiling", {})
    return bool(ceiling.get("terminal")) and ceiling.get("response", "terminal") == "terminal"


def judge_signals(
    interview: Interview, answer: str, context: Context
) -> tuple[dict[str, dict[str, Any]] | None, str]:
    """Ask a judge for the signals of an answer; return them, or None and the name of the failure.

    The caller has checked that a judge is configured and that the project may use one.
    """
    from ..kernel.judge.asking import Judge  # imports the network
    from ..kernel.judge.question import Question, excerpt, load_rubric

    asked = interview.question or (interview.state["next"] or {}).get("probe", "")
    data = {
        "before": [
            {name: excerpt(turn[name], _MAX_CHARACTERS) for name in ("question", "answer")}
            for turn in interview.state["turns"][-_MAX_TURNS:]
        ],
        "question": excerpt(asked, _MAX_CHARACTERS),
        "answer": excerpt(answer, _MAX_CHARACTERS),
    }
    table = interview.setup["signals"]
    question = Question(load_rubric("interview/signals"), data, lambda reply: read_signals(reply, table))
    verdict = Judge("interview", context).ask(question, context.deadline.within(_JUDGE_SECONDS))
    return None if verdict.values is None else verdict.values["signals"], verdict.failure


def read_signals(reply: dict[str, Any], table: dict[str, Any]) -> dict[str, Any] | None:
    """Return the valid signals of a judge's reply, possibly an empty object; None for a reply that is not about signals.

    If the reply names signals and all are null, the answer has none.
    """
    valid, invalid = check_signals(reply, table)
    has_none = not invalid and any(name in table["signals"] for name in reply)
    return {"signals": valid} if valid or has_none else None


def new_state(covered: dict[str, str]) -> dict[str, Any]:
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


def apply_answer(state: dict[str, Any], setup: dict[str, Any], fields: dict[str, Any]) -> list[str]:
    """Apply an answer to the question in `state["next"]`, changing the state; return descriptions of dropped parts.

    `fields` are the parts of the answer from `parse_answer`.
    """
    by_rule = signals_by_rule(fields["answer"], setup["patterns"], has_concepts=bool(fields["concepts"]))
    answer = _Answer(state, setup, fields, {**by_rule, **(fields["signals"] or {})})
    # Relations come last, because they may name concepts of this same answer, and repeat a link of the question.
    answer.add_concepts()
    answer.link_to_question()
    dropped = answer.add_relations()
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
        self, state: dict[str, Any], setup: dict[str, Any], fields: dict[str, Any], signals: dict[str, Any]
    ) -> None:
        self.state, self.setup, self.fields, self.signals = state, setup, fields, signals
        self.question: dict[str, Any] = state["next"]
        self.number = len(state["turns"]) + 1
        self.graph = Graph(state, setup["pack"])
        self.function_words = frozenset(setup["redundancy"]["function_words"])
        self.nodes: list[int] = []
        self.new = 0

    def add_concepts(self) -> None:
        """Add the new concepts to the graph, and count one more mention of the others."""
        for concept in self.fields["concepts"]:
            stems = content_stems(concept["text"], self.function_words)
            index = self.graph.find(stems, concept["stance"])
            if index < 0:
                index = self._add_concept(concept, stems)
            elif not self.graph.nodes[index]["stance"]:
                self.graph.nodes[index]["stance"] = concept["stance"]
            if index not in self.nodes:
                self.graph.mention(index, self.number, concept["quote"], concept["confidence"])
                self.nodes.append(index)

    def _add_concept(self, concept: dict[str, Any], stems: list[str]) -> int:
        """Add a node. Link it to the one of the opposite stance, which is superseded if the user took it back."""
        graph, stance = self.graph, concept["stance"]
        opposite = graph.find(stems, -stance) if stance else -1
        index = graph.add(concept["text"], concept["type"], stems, stance)
        self.new += 1
        if opposite >= 0:
            graph.link(index, opposite, REVISES, self.number)
            contradiction = self.signals.get("contradiction", {})
            if contradiction.get("present") and contradiction.get("kind") == "stance_reversal":
                graph.nodes[opposite]["superseded_by"] = graph.nodes[index]["id"]
        return index

    def link_to_question(self) -> None:
        """Link the question's concept to the answer: "why does X matter?" answered with Y means that X leads to Y."""
        if self.question["strategy"] == "deepen":
            source = node_index(self.question["focus"]["key"])
            for target in self.nodes:
                if self.graph.climbs(source, target, len(self.graph.ladder)):
                    self.graph.link(source, target, LEADS_TO, self.number)

    def add_relations(self) -> list[str]:
        """Add the relations that climb one step of the ladder; return descriptions of the dropped ones."""
        dropped = []
        for number, ends in enumerate(self.fields["relations"]):
            source, target = (self.graph.find(content_stems(end, self.function_words), 0) for end in ends)
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
        intensity = self.signals.get("emotional", {}).get("intensity", "neutral")
        return {
            "number": self.number,
            "strategy": question["strategy"],
            "focus": question["focus"],
            "question": fields["question"] or question["probe"],
            "answer": fields["answer"],
            "words": words,
            "elaborations": count_phrases(text, patterns["elaboration"]),
            "enthusiasm": count_phrases(text, patterns["enthusiasm"]),
            "hedges": count_phrases(text, patterns["hedge"]),
            "wish": fields["wish"],
            "signals": self.signals,
            "by_rule": by_rule,
            "terminal": terminal,
            "sentiment": self.setup["signals"]["sentiment"][intensity],
            "concepts": [self.graph.nodes[index]["id"] for index in self.nodes],
            "new": self.new,
            "unanswered": unanswered,
            "low": low,
        }

    def cover_elements(self, turn: dict[str, Any]) -> None:
        """Mark elements as covered, and set those of the turn and of its nodes.

        An element is covered if a question about it was answered, if Claude says that it is settled, or if the answer mentions it.
        """
        covered, focus = self.state["covered"], turn["focus"]
        mentioned = self._elements_in(self.fields["answer"])
        settled = list(self.fields["covered"])
        if self.nodes and not turn["terminal"] and not turn["wish"]:
            settled += [element["id"] for element in self.setup["elements"] if element["id"] == focus["key"]]
            settled += self._elements_in_question()
        for element in settled:
            covered.setdefault(element, {"turn": self.number, "by": "answered"})
        if not turn["terminal"] and not turn["unanswered"]:
            for element in mentioned:
                covered.setdefault(element, {"turn": self.number, "by": "named"})
        turn["elements"] = sorted({*mentioned, *self.fields["covered"]})
        about = turn["elements"] + ([focus["key"]] if focus["kind"] == "uncovered" else [])
        for index in self.nodes:
            node = self.graph.nodes[index]
            # A node without an element in its name belongs to the element that the turn was about.
            elements = self._elements_named(node["names"]) or about[:1]
            node["elements"] = sorted({*node["elements"], *elements})

    def _elements_in_question(self) -> list[str]:
        """Return the elements that Claude's own question mentions, without those that the topic mentions or the question excludes."""
        question = self.fields["question"]
        if question in ("", self.question["probe"]) or count_phrases(normalize(question), _EXCLUDING):
            return []
        in_topic = self._elements_in(self.setup["topic"])
        return [element for element in self._elements_in(question) if element not in in_topic]

    def _elements_in(self, text: str) -> list[str]:
        return self._elements_named([content_stems(text, self.function_words)])

    def _elements_named(self, texts: list[list[str]]) -> list[str]:
        """Return the elements with a label or alias in one of some texts, which are lists of stems."""
        return [
            element["id"]
            for element in self.setup["elements"]
            if any(contains_run(name, stems) for name in element["stems"] for stems in texts)
        ]
