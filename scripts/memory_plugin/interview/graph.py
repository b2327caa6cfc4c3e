"""Maintain the concept graph: nodes with stance and source, edges along the pack's ladder, and measures of both.

Different wordings of one concept share a node. Every mention is counted, because the number of concepts that were mentioned only once
tells how many remain to be found.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

LEADS_TO, REVISES = "leads_to", "revises"
_MIN_SHARED = 0.75  # two labels with at least this share of common stems are one concept
_MAX_MENTIONS = 12  # stored turns and quotes per node
_MAX_STEPS = 50_000  # bounds the time of the search for chains on a hostile graph


class Graph:
    """The graph in an interview's state. A node is identified by its index.

    `nodes` and `edges` (source, target, kind, turn) are the state's own lists.
    """

    def __init__(self, state: dict[str, Any], pack: dict[str, Any]) -> None:
        self.nodes: list[dict[str, Any]] = state["nodes"]
        self.edges: list[list[Any]] = state["edges"]
        self.ladder: list[str] = pack["ladder"]
        self.terminal: list[str] = pack["terminal"]

    def find(self, stems: list[str], stance: int) -> int:
        """Return the node whose name has these stems, or -1. A node of the opposite stance is a different concept."""
        best, best_share, wanted = -1, 0.0, set(stems)
        for index, node in enumerate(self.nodes):
            known = {stem for name in node["names"] for stem in name}
            share = len(wanted & known) / (len(wanted | known) or 1)
            if share > best_share and node["stance"] * stance >= 0 and not node["superseded_by"]:
                best, best_share = index, share
        return best if best_share >= _MIN_SHARED else -1

    def add(self, label: str, kind: str, stems: list[str], stance: int) -> int:
        """Add a node and return its index."""
        index = len(self.nodes)
        self.nodes.append(
            {
                "id": "n%d" % (index + 1),
                "label": label,
                "type": kind,
                "names": [stems],
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
        return [
            index
            for index, degree in enumerate(degrees)
            if 0 < degree < mean and not self.nodes[index]["superseded_by"]
        ]

    def recent(self, count: int) -> list[int]:
        """Return the last mentioned nodes, the latest first, without superseded ones."""
        current = [
            index for index, node in enumerate(self.nodes) if node["turns"] and not node["superseded_by"]
        ]
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


class ChainStats(NamedTuple):
    """The number of chains, how many of them reach a terminal type, and their longest and average length in edges."""

    number: int
    complete: int
    longest: int
    average: float


def measure_chains(graph: Graph) -> ChainStats:
    """Measure the chains from each root to each leaf by breadth-first search; a cycle ends where it closes.

    A root is a node that nothing leads to, or one of the ladder's first type. A root alone is not a chain.
    """
    successors: dict[int, list[int]] = {}
    for source, target, kind, _ in graph.edges:
        if kind == LEADS_TO:
            successors.setdefault(source, []).append(target)
    reached = {target for targets in successors.values() for target in targets}
    roots = [
        index for index in successors if index not in reached or graph.nodes[index]["type"] == graph.ladder[0]
    ]
    lengths: list[int] = []
    complete = steps = 0
    for root in roots or list(successors)[:1]:  # a graph that is one cycle has no root
        if steps > _MAX_STEPS:
            break
        seen, level, length = {root}, [root], 0
        while level:
            next_level: list[int] = []
            for index in level:
                unseen = [target for target in successors.get(index, ()) if target not in seen]
                is_terminal = graph.nodes[index]["type"] in graph.terminal
                if length and (not unseen or is_terminal):
                    lengths.append(length)
                    complete += is_terminal
                else:
                    seen.update(unseen)
                    next_level += dict.fromkeys(unseen)
            level, length = next_level, length + 1
        steps += len(seen)
    average = sum(lengths) / len(lengths) if lengths else 0.0
    return ChainStats(len(lengths), complete, max(lengths, default=0), average)


def diameter(graph: Graph, nodes: Iterable[int]) -> int:
    """Return the diameter in nodes of the subgraph of these nodes, ignoring direction; 1 if none are linked, 0 if there are none."""
    members = set(nodes)
    neighbors = graph.neighbors
    longest = 0
    for start in members:
        seen, level, length = {start}, {start}, 0
        while level:
            length += 1
            level = {target for index in level for target in neighbors[index] & members} - seen
            seen |= level
        longest = max(longest, length)
    return longest
