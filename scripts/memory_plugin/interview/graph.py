"""The graph of concepts: nodes with stance and source, edges along the pack's ladder, and measures of both.

Concepts that are worded differently but mean the same share a node. Every mention is counted: the fewer new concepts appear among the
mentions, the fewer remain to be found.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Node = dict[str, Any]

__all__ = ["LEADS_TO", "REVISES", "Chains", "Graph", "chao1", "longest_path", "measure_chains"]

LEADS_TO, REVISES = "leads_to", "revises"
_SAME = 0.75  # two labels with at least this share of common stems are one concept
_KEPT = 12  # mentions and quotes kept of a node
_MAX_STEPS = 50_000  # of the search for chains, so that a hostile graph takes bounded time


class Graph:
    """The graph in an interview's state; a node is known by its index.

    `nodes` and `edges` (source, target, kind, turn) are the state's own lists.
    """

    __slots__ = ("_by_stem", "_neighbors", "edges", "ladder", "nodes", "terminal")

    def __init__(self, state: dict[str, Any], pack: dict[str, Any]) -> None:
        self.nodes: list[Node] = state["nodes"]
        self.edges: list[list[Any]] = state["edges"]
        self.ladder: list[str] = pack["ladder"]
        self.terminal: list[str] = pack["terminal"]
        self._neighbors: list[set[int]] | None = None
        self._by_stem: dict[str, list[int]] | None = None

    def find(self, stems: list[str], stance: int) -> int:
        """Return the node that these stems name, or -1. A node of the opposite stance is a different concept."""
        if self._by_stem is None:
            self._by_stem = {}
            for at, node in enumerate(self.nodes):
                self._index(at, node)
        counts: dict[int, int] = {}
        wanted = set(stems)
        for word in sorted(wanted):
            for at in self._by_stem.get(word, ()):
                counts[at] = counts.get(at, 0) + 1
        best, most = -1, 0.0
        for at in sorted(counts):
            node = self.nodes[at]
            share = counts[at] / len(wanted.union(*node["names"]))
            share = max(share, 1.0 if any(wanted == set(name) for name in node["names"]) else 0.0)
            if share > most and node["stance"] * stance >= 0 and not node["superseded_by"]:
                best, most = at, share
        return best if most >= _SAME else -1

    def find_opposite(self, stems: list[str], stance: int) -> int:
        """Return the node with the same name and the opposite stance, or -1."""
        return self.find(stems, -stance) if stance else -1

    def add(self, label: str, kind: str, stems: list[str], stance: int, confidence: float) -> int:
        """Add a node and return its index."""
        node: Node = {
            "id": "n%d" % (len(self.nodes) + 1),
            "label": label,
            "type": kind,
            "names": [stems],
            "stance": stance,
            "confidence": confidence,
            "mentions": 0,
            "turns": [],
            "quotes": [],
            "superseded_by": "",
            "elements": [],
        }
        self.nodes.append(node)
        if self._by_stem is not None:
            self._index(len(self.nodes) - 1, node)
        self._neighbors = None
        return len(self.nodes) - 1

    def mention(self, at: int, turn: int, quote: str, confidence: float) -> None:
        """Count one more mention of a node, with its source."""
        node = self.nodes[at]
        node["mentions"] += 1
        node["confidence"] = confidence
        node["turns"] = [*node["turns"], turn][-_KEPT:]
        if quote:
            node["quotes"] = [*node["quotes"], [turn, quote]][-_KEPT:]

    def add_name(self, at: int, stems: list[str]) -> None:
        """Add another name to a node."""
        if stems and stems not in self.nodes[at]["names"]:
            self.nodes[at]["names"].append(stems)
            if self._by_stem is not None:
                self._index(at, self.nodes[at])

    def _index(self, at: int, node: Node) -> None:
        assert self._by_stem is not None
        for word in sorted({word for name in node["names"] for word in name}):
            numbers = self._by_stem.setdefault(word, [])
            if at not in numbers[-1:]:
                numbers.append(at)

    def climbs(self, source: int, target: int, most: int = 1) -> bool:
        """Return whether one node is at the same step of the ladder as another or at most `most` steps below it."""
        levels = [self.level(at) for at in (source, target)]
        return min(levels) >= 0 and 0 <= levels[1] - levels[0] <= most

    def level(self, at: int) -> int:
        """Return a node's step on the ladder, from 0; -1 for a type that is not on it."""
        kind = self.nodes[at]["type"]
        return self.ladder.index(kind) if kind in self.ladder else -1

    def link(self, source: int, target: int, kind: str, turn: int) -> bool:
        """Add an edge. Return False when it exists already or would link a node to itself."""
        if source == target or (kind == LEADS_TO and target in self.targets(source)):
            return False
        self.edges.append([source, target, kind, turn])
        self._neighbors = None
        return True

    def targets(self, source: int) -> list[int]:
        """Return the nodes that a node leads to."""
        return [edge[1] for edge in self.edges if edge[0] == source and edge[2] == LEADS_TO]

    def neighbors(self) -> list[set[int]]:
        """Return the neighbors of each node, in both directions."""
        if self._neighbors is None:
            self._neighbors = [set() for _ in self.nodes]
            for source, target, _, _ in self.edges:
                self._neighbors[source].add(target)
                self._neighbors[target].add(source)
        return self._neighbors

    def density(self, at: int) -> float:
        """Return the share of possible edges that exist among a node and its neighbors, 0 to 1; 0 for an isolated node."""
        around = self.neighbors()
        group = around[at] | {at}
        if len(group) < 2:
            return 0.0
        edges = sum(len(around[node] & group) for node in group) / 2
        return edges / (len(group) * (len(group) - 1) / 2)

    def peripheral(self) -> list[int]:
        """Return the nodes that have edges, but fewer than the average node."""
        degrees = [len(neighbors) for neighbors in self.neighbors()]
        mean = sum(degrees) / len(degrees) if degrees else 0.0
        return [
            at
            for at, degree in enumerate(degrees)
            if 0 < degree < mean and not self.nodes[at]["superseded_by"]
        ]

    def recent(self, most: int) -> list[int]:
        """Return the nodes named last, the latest first, without superseded ones."""
        current = [at for at, node in enumerate(self.nodes) if node["turns"] and not node["superseded_by"]]
        return sorted(current, key=lambda at: (-self.nodes[at]["turns"][-1], -at))[:most]

    def opposites(self, most: int) -> list[tuple[int, int]]:
        """Return pairs of nodes with opposite stances, the latest first: pairs where one revises the other, then any two recent ones."""
        recent = self.recent(most)
        stances = [self.nodes[at]["stance"] for at in recent]
        return self.contradictions() + [
            (node, other)
            for first, node in enumerate(recent)
            for second, other in enumerate(recent[first + 1 :], first + 1)
            if stances[first] and stances[first] == -stances[second]
        ]

    def contradictions(self) -> list[tuple[int, int]]:
        """Return pairs of nodes of which one revises the other while neither is superseded, the latest first."""
        revised = [(node, other) for node, other, kind, _ in reversed(self.edges) if kind == REVISES]
        return [pair for pair in revised if self.contrary(*pair)]

    def contrary(self, node: int, other: int) -> bool:
        """Return whether two nodes are both current and of opposite stance."""
        first, second = self.nodes[node], self.nodes[other]
        return first["stance"] * second["stance"] < 0 and not (
            first["superseded_by"] or second["superseded_by"]
        )


def chao1(mentions: list[int]) -> float:
    """Return the estimated share of all concepts that were named, 0 to 1, from how many were named once and twice; 0 for none.

    A. Chao, "Nonparametric estimation of the number of classes in a population", 1984; the bias-corrected form where none was named twice.
    """
    seen = sum(count > 0 for count in mentions)
    once, twice = mentions.count(1), mentions.count(2)
    unseen = once * once / (2 * twice) if twice else once * (once - 1) / 2
    return seen / (seen + unseen) if seen else 0.0


class Chains:
    """Longest and average length of the chains in edges, their number, and how many of them reach a terminal type."""

    __slots__ = ("average", "complete", "count", "longest")

    def __init__(self, lengths: list[int], complete: int) -> None:
        self.count = len(lengths)
        self.longest = max(lengths, default=0)
        self.average = sum(lengths) / len(lengths) if lengths else 0.0
        self.complete = complete


def measure_chains(graph: Graph) -> Chains:
    """Measure the chains from each root to each leaf, by breadth-first search; a cycle ends where it closes.

    A root is a node that nothing leads to, or one of the ladder's first type. A root alone is not a chain.
    """
    ahead: dict[int, list[int]] = {}
    reached: set[int] = set()
    for source, target, kind, _ in graph.edges:
        if kind == LEADS_TO:
            ahead.setdefault(source, []).append(target)
            reached.add(target)
    first = graph.ladder[0]
    roots = [at for at in ahead if at not in reached or graph.nodes[at]["type"] == first]
    lengths: list[int] = []
    complete = steps = 0
    for root in roots or list(ahead)[:1]:  # a cycle alone has no root
        found, visited = _leaves(root, ahead, graph)
        lengths += [length for _, length in found]
        complete += sum(graph.nodes[leaf]["type"] in graph.terminal for leaf, _ in found)
        steps += visited
        if steps > _MAX_STEPS:
            break
    return Chains(lengths, complete)


def _leaves(root: int, ahead: dict[int, list[int]], graph: Graph) -> tuple[list[tuple[int, int]], int]:
    """Return the leaves reachable from a root with their distance, and how many nodes were visited."""
    seen, row, found = {root}, [root], []
    length = 0
    while row:
        below = []
        for at in row:
            on = [to for to in ahead.get(at, ()) if to not in seen]
            if length and (not on or graph.nodes[at]["type"] in graph.terminal):
                found.append((at, length))
                continue
            seen.update(on)
            below += list(dict.fromkeys(on))
        row, length = below, length + 1
    return found, len(seen)


def longest_path(graph: Graph, nodes: Iterable[int]) -> int:
    """Return the number of nodes on the longest shortest path among some nodes, in any direction; 1 where none are linked."""
    chosen = set(nodes)
    around = graph.neighbors()
    most = 0
    for start in sorted(chosen):
        seen, row, length = {start}, [start], 0
        while row:
            length += 1
            row = sorted({to for at in row for to in around[at] & chosen if to not in seen})
            seen.update(row)
        most = max(most, length)
    return most
