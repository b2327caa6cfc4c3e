"""The graph of concepts: canonical nodes with stance and source, edges along the pack's ladder, and what can be measured on it.

Concepts that are written differently and mean the same are one node, and each further mention counts: how often things come up again
is what tells that little new is left.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]

__all__ = ["LEADS_TO", "REVISES", "Graph", "chao1"]

LEADS_TO, REVISES = "leads_to", "revises"
_LIKE = 0.75  # share of stems that two labels have in common from which they are one concept
_KEPT = 12


class Graph:
    """The graph in an interview's state; `nodes` and `edges` (source, target, kind, turn) are the state's own lists."""

    __slots__ = ("_around", "_by_stem", "edges", "ladder", "nodes", "terminal")

    def __init__(self, state: dict[str, Any], pack: dict[str, Any]) -> None:
        self.nodes: list[Node] = state["nodes"]
        self.edges: list[list[Any]] = state["edges"]
        self.ladder: list[str] = pack["ladder"]
        self.terminal: list[str] = pack["terminal"]
        self._around: list[set[int]] | None = None
        self._by_stem: dict[str, list[int]] | None = None

    def find(self, stems: list[str], stance: int) -> int:
        """The number of the node that these stems name; -1 for none. A node of the opposite stance is another one."""
        if self._by_stem is None:
            self._by_stem = {}
            for at, node in enumerate(self.nodes):
                self._index(at, node)
        counts: dict[int, int] = {}
        wanted = set(stems)
        for one in sorted(wanted):
            for at in self._by_stem.get(one, ()):
                counts[at] = counts.get(at, 0) + 1
        best, most = -1, 0.0
        for at in sorted(counts):
            node = self.nodes[at]
            share = counts[at] / len(wanted.union(*node["names"]))
            share = max(share, 1.0 if any(wanted == set(name) for name in node["names"]) else 0.0)
            if share > most and node["stance"] * stance >= 0 and not node["superseded_by"]:
                best, most = at, share
        return best if most >= _LIKE else -1

    def opposed(self, stems: list[str], stance: int) -> int:
        """The number of the node with the same name and the opposite stance; -1 for none."""
        return self.find(stems, -stance) if stance else -1

    def add(self, label: str, kind: str, stems: list[str], stance: int, confidence: float) -> int:
        """The number of a new node."""
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
        self._around = None
        return len(self.nodes) - 1

    def mention(self, at: int, turn: int, quote: str, confidence: float) -> None:
        """Count one more mention of a node, with its source."""
        node = self.nodes[at]
        node["mentions"] += 1
        node["confidence"] = confidence
        node["turns"] = [*node["turns"], turn][-_KEPT:]
        if quote:
            node["quotes"] = [*node["quotes"], [turn, quote]][-_KEPT:]

    def name(self, at: int, stems: list[str]) -> None:
        """Let a node be known by another name too."""
        if stems and stems not in self.nodes[at]["names"]:
            self.nodes[at]["names"].append(stems)
            if self._by_stem is not None:
                self._index(at, self.nodes[at])

    def _index(self, at: int, node: Node) -> None:
        assert self._by_stem is not None
        for one in sorted({one for name in node["names"] for one in name}):
            numbers = self._by_stem.setdefault(one, [])
            if at not in numbers[-1:]:
                numbers.append(at)

    def climbs(self, source: int, target: int, most: int = 1) -> bool:
        """Whether the ladder leads from one node to another: to its own step, or at most `most` steps up."""
        levels = [self.level(at) for at in (source, target)]
        return min(levels) >= 0 and 0 <= levels[1] - levels[0] <= most

    def level(self, at: int) -> int:
        """A node's step on the ladder, from 0; -1 for a type beside it."""
        kind = self.nodes[at]["type"]
        return self.ladder.index(kind) if kind in self.ladder else -1

    def link(self, source: int, target: int, kind: str, turn: int) -> bool:
        """Draw an edge; False when it is there already or would be a loop of one."""
        if source == target or (kind == LEADS_TO and target in self.targets(source)):
            return False
        self.edges.append([source, target, kind, turn])
        self._around = None
        return True

    def targets(self, source: int) -> list[int]:
        """Where the chain leads from a node."""
        return [edge[1] for edge in self.edges if edge[0] == source and edge[2] == LEADS_TO]

    def around(self) -> list[set[int]]:
        """The neighbours of each node, whatever the direction."""
        if self._around is None:
            self._around = [set() for _ in self.nodes]
            for source, target, _, _ in self.edges:
                self._around[source].add(target)
                self._around[target].add(source)
        return self._around

    def density(self, at: int) -> float:
        """The share of the possible edges among a node and its neighbours that there are, 0 to 1; 0 for a node alone."""
        around = self.around()
        group = around[at] | {at}
        if len(group) < 2:
            return 0.0
        edges = sum(len(around[one] & group) for one in group) / 2
        return edges / (len(group) * (len(group) - 1) / 2)

    def peripheral(self) -> list[int]:
        """The nodes that hang together with something, but with less than nodes do on average."""
        degrees = [len(neighbours) for neighbours in self.around()]
        mean = sum(degrees) / len(degrees) if degrees else 0.0
        return [
            at
            for at, degree in enumerate(degrees)
            if 0 < degree < mean and not self.nodes[at]["superseded_by"]
        ]

    def recent(self, most: int) -> list[int]:
        """The nodes named last, the latest first; what was taken back is left out."""
        standing = [at for at, node in enumerate(self.nodes) if node["turns"] and not node["superseded_by"]]
        return sorted(standing, key=lambda at: (-self.nodes[at]["turns"][-1], -at))[:most]

    def opposites(self, most: int) -> list[tuple[int, int]]:
        """Pairs of nodes with contrary stances, the latest first: those where one revises the other, then any two recent ones."""
        recent = self.recent(most)
        stances = [self.nodes[at]["stance"] for at in recent]
        return self.contradictions() + [
            (one, other)
            for first, one in enumerate(recent)
            for second, other in enumerate(recent[first + 1 :], first + 1)
            if stances[first] and stances[first] == -stances[second]
        ]

    def contradictions(self) -> list[tuple[int, int]]:
        """Pairs of nodes of which one revises the other though both still stand, the latest first."""
        revised = [(one, other) for one, other, kind, _ in reversed(self.edges) if kind == REVISES]
        return [pair for pair in revised if self._contrary(*pair)]

    def _contrary(self, one: int, other: int) -> bool:
        """Whether two nodes still stand, the one for and the other against."""
        first, second = self.nodes[one], self.nodes[other]
        return first["stance"] * second["stance"] < 0 and not (
            first["superseded_by"] or second["superseded_by"]
        )


def chao1(mentions: list[int]) -> float:
    """The share of all concepts there are that came up, 0 to 1, by how many were named once and twice; 0 for none.

    A. Chao, "Nonparametric estimation of the number of classes in a population", 1984, with the bias-corrected form where none was named
    twice.
    """
    seen = sum(count > 0 for count in mentions)
    once, twice = mentions.count(1), mentions.count(2)
    unseen = once * once / (2 * twice) if twice else once * (once - 1) / 2
    return seen / (seen + unseen) if seen else 0.0
