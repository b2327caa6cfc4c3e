"""Maintain the concept graph: nodes with stance and source, edges along the pack's ladder, and measures of both; apply answers to it.

Different wordings of one concept share a node. Every mention is counted, because the number of concepts that were mentioned only once
tells how many remain to be found.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ..kernel.paths import load_data
from .interview_store import Given, Setup, Signals, State, Turn
from .wording import contains_run, content_stems, is_terminal, normalize, signals_by_rule, was_unclear

LEADS_TO, REVISES = "leads_to", "revises"
_MIN_SHARED = 0.75  # two labels with at least this share of common stems are one concept
_MAX_MENTIONS = 12  # stored turns and quotes per node
_MAX_STEPS = 50_000  # bounds the time of the search for chains on a hostile graph


class Graph:
    """The graph in an interview's state. A node is identified by its index.

    `nodes` and `edges` (source, target, kind, turn) are the state's own lists.
    """

    def __init__(self, state: State, pack: Mapping[str, Any]) -> None:
        self.nodes = state["nodes"]
        self.edges = state["edges"]
        self.ladder: list[str] = pack["ladder"]
        self.terminal: list[str] = pack["terminal"]

    def find(self, label: str, stance: int) -> int:
        """Return the node of a concept, or -1. A node of the opposite stance is a different concept."""
        best, best_share, wanted = -1, 0.0, set(content_stems(label))
        for index, node in enumerate(self.nodes):
            known = set(content_stems(node["label"]))
            share = len(wanted & known) / (len(wanted | known) or 1)
            if share > best_share and node["stance"] * stance >= 0 and not node["superseded_by"]:
                best, best_share = index, share
        return best if best_share >= _MIN_SHARED else -1

    def add(self, label: str, kind: str, stance: int) -> int:
        """Add a node and return its index."""
        index = len(self.nodes)
        self.nodes.append(
            {
                "id": "n%d" % (index + 1),
                "label": label,
                "type": kind,
                "stance": stance,
                "confidence": 0.0,
                "mentions": 0,
                "turns": [],
                "quotes": [],
                "superseded_by": "",
                "elements": [],
            }
        )
        return index

    def mention(self, index: int, turn: int, quote: str, confidence: float) -> None:
        """Count one more mention of a node, with its turn and quote."""
        node = self.nodes[index]
        node["mentions"] += 1
        node["confidence"] = confidence
        node["turns"] = [*node["turns"], turn][-_MAX_MENTIONS:]
        if quote:
            node["quotes"] = [*node["quotes"], [turn, quote]][-_MAX_MENTIONS:]

    def climbs(self, source: int, target: int, max_steps: int = 1) -> bool:
        """Return whether `target` is on the ladder 0 to `max_steps` steps above `source`."""
        low, high = self.level(source), self.level(target)
        return low >= 0 and high >= 0 and 0 <= high - low <= max_steps

    def level(self, index: int) -> int:
        """Return a node's step on the ladder, from 0; -1 for a type that is not on it."""
        kind = self.nodes[index]["type"]
        return self.ladder.index(kind) if kind in self.ladder else -1

    def link(self, source: int, target: int, kind: str, turn: int) -> None:
        """Add an edge, unless it exists already or would link a node to itself."""
        if source != target and (kind != LEADS_TO or target not in self.targets(source)):
            self.edges.append([source, target, kind, turn])

    def targets(self, source: int) -> list[int]:
        """Return the nodes that a node leads to."""
        return [edge[1] for edge in self.edges if edge[0] == source and edge[2] == LEADS_TO]

    @cached_property
    def neighbors(self) -> list[set[int]]:
        """The neighbors of each node, in both directions, as they are at the first use."""
        neighbors: list[set[int]] = [set() for _ in self.nodes]
        for source, target, _, _ in self.edges:
            neighbors[source].add(target)
            neighbors[target].add(source)
        return neighbors

    def density(self, index: int) -> float:
        """Return the share of possible edges that exist among a node and its neighbors, 0 to 1; 0 for an isolated node."""
        neighbors = self.neighbors
        group = neighbors[index] | {index}
        if len(group) < 2:
            return 0.0
        edges = sum(len(neighbors[node] & group) for node in group) / 2
        return edges / (len(group) * (len(group) - 1) / 2)

    def peripheral(self) -> list[int]:
        """Return the nodes that have edges, but fewer than the average node."""
        degrees = [len(neighbors) for neighbors in self.neighbors]
        mean = sum(degrees) / len(degrees) if degrees else 0.0
        few = (index for index, degree in enumerate(degrees) if 0 < degree < mean)
        return [index for index in few if not self.nodes[index]["superseded_by"]]

    def recent(self, count: int) -> list[int]:
        """Return the last mentioned nodes, the latest first, without superseded ones."""
        numbered = enumerate(self.nodes)
        current = [index for index, node in numbered if node["turns"] and not node["superseded_by"]]
        return sorted(current, key=lambda index: (-self.nodes[index]["turns"][-1], -index))[:count]

    def opposites(self, count: int) -> list[tuple[int, int]]:
        """Return pairs of nodes with opposite stances: contradictions first, then pairs among the last `count` nodes."""
        recent = self.recent(count)
        pairs = [(node, other) for rank, node in enumerate(recent) for other in recent[rank + 1 :]]
        return self.contradictions() + [pair for pair in pairs if self.are_opposed(*pair)]

    def contradictions(self) -> list[tuple[int, int]]:
        """Return pairs of nodes of which one revises the other while neither is superseded, the latest first."""
        revised = [(node, other) for node, other, kind, _ in reversed(self.edges) if kind == REVISES]
        return [pair for pair in revised if self.are_opposed(*pair)]

    def are_opposed(self, index: int, other: int) -> bool:
        """Return whether two nodes have opposite stances and neither is superseded."""
        first, second = self.nodes[index], self.nodes[other]
        superseded = first["superseded_by"] or second["superseded_by"]
        return first["stance"] * second["stance"] < 0 and not superseded


def node_index(node_id: str) -> int:
    """Return the index of a node from its id: `n1` is the first."""
    return int(node_id[1:]) - 1


def chao1(mentions: list[int]) -> float:
    """Estimate the share of all concepts that has been mentioned, 0 to 1, from the mentions per concept; 0 for none.

    A. Chao, "Nonparametric estimation of the number of classes in a population", 1984. The bias-corrected form is used while no concept
    was mentioned twice.
    """
    seen = sum(count > 0 for count in mentions)
    once, twice = mentions.count(1), mentions.count(2)
    unseen = once * once / (2 * twice) if twice else once * (once - 1) / 2
    return seen / (seen + unseen) if seen else 0.0


def measure_chains(graph: Graph) -> dict[str, float]:
    """Measure the chains from each root to each leaf by breadth-first search; a cycle ends where it closes.

    Return the number of chains, how many of them reach a terminal type, and their longest and average length in edges.
    A root is a node that nothing leads to, or one of the ladder's first type. A root alone is not a chain.
    """
    successors: dict[int, list[int]] = {}
    for source, target, kind, _ in graph.edges:
        if kind == LEADS_TO:
            successors.setdefault(source, []).append(target)
    reached = {target for targets in successors.values() for target in targets}
    lowest = graph.ladder[0]
    roots = [index for index in successors if index not in reached or graph.nodes[index]["type"] == lowest]
    lengths: list[int] = []
    complete = steps = 0
    for root in roots or list(successors)[:1]:  # a graph that is one cycle has no root
        if steps > _MAX_STEPS:
            break
        depths, queue = {root: 0}, [root]
        for index in queue:  # which grows
            unseen = [target for target in successors.get(index, ()) if target not in depths]
            is_terminal = graph.nodes[index]["type"] in graph.terminal
            if depths[index] and (not unseen or is_terminal):
                lengths.append(depths[index])
                complete += is_terminal
            else:
                depths.update(dict.fromkeys(unseen, depths[index] + 1))
                queue += unseen
        steps += len(queue)
    average, longest = sum(lengths) / (len(lengths) or 1), max(lengths, default=0)
    return {"number": len(lengths), "complete": complete, "longest": longest, "average": average}


def new_state(covered: dict[str, str]) -> State:
    """Return the state of an interview before its first question; `covered` maps elements that are known already to their source."""
    return {
        "nodes": [],
        "edges": [],
        "turns": [],
        "covered": {name: {"turn": 0, "by": source} for name, source in covered.items()},
        "rate": 1.0,
        "more": 0,
        "next": None,
    }


def apply_answer(state: State, setup: Setup, fields: Given) -> list[str]:
    """Apply an answer to the question in `state["next"]`, changing the state; return descriptions of dropped parts.

    `fields` are the parts of the answer from `parse_answer`.
    """
    answer = _Answer(state, setup, fields)
    # Relations come last, because they may name concepts of this same answer, and repeat a link of the question.
    answer.add_concepts()
    answer.link_to_question()
    dropped = answer.add_relations()
    turn = answer.turn()
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

    def __init__(self, state: State, setup: Setup, fields: Given) -> None:
        self.question = state["next"] or {}  # there is one, as long as the interview is open
        self.state, self.setup, self.fields = state, setup, fields
        self.signals: Signals = {**signals_by_rule(fields["answer"]), **(fields["signals"] or {})}
        self.number = len(state["turns"]) + 1
        self.graph = Graph(state, setup["pack"])
        self.nodes: list[int] = []
        self.new = 0

    def add_concepts(self) -> None:
        """Add the new concepts to the graph, and count one more mention of the others."""
        for concept in self.fields["concepts"]:
            index = self.graph.find(concept["text"], concept["stance"])
            if index < 0:
                index = self._add_concept(concept)
            elif not self.graph.nodes[index]["stance"]:
                self.graph.nodes[index]["stance"] = concept["stance"]
            if index not in self.nodes:
                self.graph.mention(index, self.number, concept["quote"], concept["confidence"])
                self.nodes.append(index)

    def _add_concept(self, concept: dict[str, Any]) -> int:
        """Add a node. Link it to the one of the opposite stance, which is superseded if the user took it back."""
        graph, label, stance = self.graph, concept["text"], concept["stance"]
        opposite = graph.find(label, -stance) if stance else -1
        index = graph.add(label, concept["type"], stance)
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
            source, target = (self.graph.find(end, 0) for end in ends)
            if source < 0 or target < 0:
                dropped.append("relations.%d: no such concept" % number)
            elif not self.graph.climbs(source, target):
                dropped.append("relations.%d: not one step up the ladder" % number)
            else:
                self.graph.link(source, target, LEADS_TO, self.number)
        return dropped

    def turn(self) -> Turn:
        """Return the turn as it is stored."""
        fields, question = self.fields, self.question
        words = len(normalize(fields["answer"]).split())
        is_short = words <= self.setup["scoring"]["stop"]["low_words"]
        is_empty = not (self.new or is_terminal(self.signals) or was_unclear(self.signals))
        intensity = self.signals.get("emotional", {}).get("intensity", "neutral")
        return {
            "number": self.number,
            "strategy": question["strategy"],
            "focus": question["focus"],
            "question": fields["question"] or question["probe"],
            "answer": fields["answer"],
            "words": words,
            "wish": fields["wish"],
            "signals": self.signals,
            "sentiment": load_data("interview", "signals")["sentiment"][intensity],
            "concepts": [self.graph.nodes[index]["id"] for index in self.nodes],
            "new": self.new,
            "low": is_empty and is_short and fields["wish"] != "skip",
        }

    def cover_elements(self, turn: Turn) -> None:
        """Mark elements as covered, and set those of the nodes.

        An element is covered if a question about it was answered, if Claude says that it is settled, or if the answer mentions it.
        """
        covered, focus = self.state["covered"], turn["focus"]
        terminal = is_terminal(self.signals)
        mentioned = self._elements_in(self.fields["answer"])
        settled = list(self.fields["covered"])
        if self.nodes and not terminal and not turn["wish"]:
            settled += [element["id"] for element in self.setup["elements"] if element["id"] == focus["key"]]
        for element in settled:
            covered.setdefault(element, {"turn": self.number, "by": "answered"})
        if not terminal and not was_unclear(self.signals):
            for element in mentioned:
                covered.setdefault(element, {"turn": self.number, "by": "named"})
        about = sorted({*mentioned, *self.fields["covered"]})
        about += [focus["key"]] if focus["kind"] == "uncovered" else []
        for index in self.nodes:
            node = self.graph.nodes[index]
            # A node without an element in its name belongs to the element that the turn was about.
            elements = self._elements_in(node["label"]) or about[:1]
            node["elements"] = sorted({*node["elements"], *elements})

    def _elements_in(self, text: str) -> list[str]:
        """Return the elements whose label or alias occurs in a text."""
        stems = content_stems(text)
        return [
            one["id"]
            for one in self.setup["elements"]
            if any(contains_run(content_stems(name), stems) for name in (one["label"], *one["aliases"]))
        ]
