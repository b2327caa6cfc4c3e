"""Maintain the concept graph: nodes with stance and source, edges along the pack's ladder, and measures of both.

Different wordings of one concept share a node. Every mention is counted, because the number of concepts that were mentioned only once
tells how many remain to be found.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Node = dict[str, Any]

LEADS_TO, REVISES = "leads_to", "revises"
_MIN_SHARED = 0.75  # two labels with at least this share of common stems are one concept
_MAX_MENTIONS = 12  # stored turns and quotes per node
_MAX_STEPS = 50_000  # bounds the time of the search for chains on a hostile graph


class Graph:
    """The graph in an interview's state. A node is identified by its index.

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
        """Return the node whose name has these stems, or -1. A node of the opposite stance is a different concept."""
        if self._by_stem is None:
            self._by_stem = {}
            for index, node in enumerate(self.nodes):
                self._index_stems(index, {stem for name in node["names"] for stem in name})
        shared: dict[int, int] = {}
        wanted = set(stems)
        for stem in sorted(wanted):
            for index in self._by_stem.get(stem, ()):
                shared[index] = shared.get(index, 0) + 1
        best, best_share = -1, 0.0
        for index in sorted(shared):
            node = self.nodes[index]
            same_name = any(wanted == set(name) for name in node["names"])
            share = 1.0 if same_name else shared[index] / len(wanted.union(*node["names"]))
            if share > best_share and node["stance"] * stance >= 0 and not node["superseded_by"]:
                best, best_share = index, share
        return best if best_share >= _MIN_SHARED else -1

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
            self._index_stems(len(self.nodes) - 1, set(stems))
        self._neighbors = None
        return len(self.nodes) - 1

    def mention(self, index: int, turn: int, quote: str, confidence: float) -> None:
        """Count one more mention of a node, with its turn and quote."""
        node = self.nodes[index]
        node["mentions"] += 1
        node["confidence"] = confidence
        node["turns"] = [*node["turns"], turn][-_MAX_MENTIONS:]
        if quote:
            node["quotes"] = [*node["quotes"], [turn, quote]][-_MAX_MENTIONS:]

    def add_name(self, index: int, stems: list[str]) -> None:
        """Add another name to a node."""
        names = self.nodes[index]["names"]
        if stems and stems not in names:
            indexed = {stem for name in names for stem in name}
            names.append(stems)
            if self._by_stem is not None:
                self._index_stems(index, set(stems) - indexed)

    def _index_stems(self, index: int, stems: set[str]) -> None:
        """Add a node to the index under stems that it is not yet listed under; `find` counts each entry."""
        assert self._by_stem is not None
        for stem in sorted(stems):
            self._by_stem.setdefault(stem, []).append(index)

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
        if source == target or (kind == LEADS_TO and target in self.targets(source)):
            return
        self.edges.append([source, target, kind, turn])
        self._neighbors = None

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

    def density(self, index: int) -> float:
        """Return the share of possible edges that exist among a node and its neighbors, 0 to 1; 0 for an isolated node."""
        neighbors = self.neighbors()
        group = neighbors[index] | {index}
        if len(group) < 2:
            return 0.0
        edges = sum(len(neighbors[node] & group) for node in group) / 2
        return edges / (len(group) * (len(group) - 1) / 2)

    def peripheral(self) -> list[int]:
        """Return the nodes that have edges, but fewer than the average node."""
        degrees = [len(neighbors) for neighbors in self.neighbors()]
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


class ChainStats:
    """Longest and average chain length in edges, the number of chains, and how many of them reach a terminal type."""

    __slots__ = ("average", "complete", "count", "longest")

    def __init__(self, lengths: list[int], complete: int) -> None:
        self.count = len(lengths)
        self.longest = max(lengths, default=0)
        self.average = sum(lengths) / len(lengths) if lengths else 0.0
        self.complete = complete


def measure_chains(graph: Graph) -> ChainStats:
    """Measure the chains from each root to each leaf by breadth-first search; a cycle ends where it closes.

    A root is a node that nothing leads to, or one of the ladder's first type. A root alone is not a chain.
    """
    successors: dict[int, list[int]] = {}
    reached: set[int] = set()
    for source, target, kind, _ in graph.edges:
        if kind == LEADS_TO:
            successors.setdefault(source, []).append(target)
            reached.add(target)
    first_type = graph.ladder[0]
    roots = [
        index for index in successors if index not in reached or graph.nodes[index]["type"] == first_type
    ]
    lengths: list[int] = []
    complete = steps = 0
    for root in roots or list(successors)[:1]:  # a graph that is one cycle has no root
        leaves, visited = _leaves(root, successors, graph)
        lengths += [length for _, length in leaves]
        complete += sum(graph.nodes[leaf]["type"] in graph.terminal for leaf, _ in leaves)
        steps += visited
        if steps > _MAX_STEPS:
            break
    return ChainStats(lengths, complete)


def _leaves(root: int, successors: dict[int, list[int]], graph: Graph) -> tuple[list[tuple[int, int]], int]:
    """Return the leaves reachable from a root with their distance, and the number of visited nodes."""
    seen, level = {root}, [root]
    leaves: list[tuple[int, int]] = []
    length = 0
    while level:
        next_level: list[int] = []
        for index in level:
            unseen = [target for target in successors.get(index, ()) if target not in seen]
            if length and (not unseen or graph.nodes[index]["type"] in graph.terminal):
                leaves.append((index, length))
                continue
            seen.update(unseen)
            next_level += dict.fromkeys(unseen)
        level, length = next_level, length + 1
    return leaves, len(seen)


def diameter(graph: Graph, nodes: Iterable[int]) -> int:
    """Return the diameter in nodes of the subgraph of these nodes, ignoring direction; 1 if none are linked, 0 if there are none."""
    members = set(nodes)
    neighbors = graph.neighbors()
    longest = 0
    for start in sorted(members):
        seen, level, length = {start}, {start}, 0
        while level:
            length += 1
            level = {target for index in level for target in neighbors[index] & members} - seen
            seen |= level
        longest = max(longest, length)
    return longest
