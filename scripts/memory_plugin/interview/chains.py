"""Chain depth: how far the ladder was climbed, counted in edges by breadth-first search; cycles end where they close."""

from __future__ import annotations

from .graph import LEADS_TO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .graph import Graph

__all__ = ["Chains", "measure", "span"]

_MOST_STEPS = 50_000  # of the whole search, so that a hostile graph costs a bounded time


class Chains:
    """Longest and average length in edges, how many chains there are, how many reach a terminal type."""

    __slots__ = ("average", "complete", "count", "longest")

    def __init__(self, lengths: list[int], complete: int) -> None:
        self.count = len(lengths)
        self.longest = max(lengths, default=0)
        self.average = sum(lengths) / len(lengths) if lengths else 0.0
        self.complete = complete


def measure(graph: Graph) -> Chains:
    """The chains from each root (nothing leads to it, or the ladder's first type) to each leaf. A root alone is no chain."""
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
        if steps > _MOST_STEPS:
            break
    return Chains(lengths, complete)


def _leaves(root: int, ahead: dict[int, list[int]], graph: Graph) -> tuple[list[tuple[int, int]], int]:
    """The leaves that can be reached with the length of the way, and how many nodes were visited."""
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


def span(graph: Graph, nodes: Iterable[int]) -> int:
    """The nodes on the longest of the shortest ways among some nodes, along edges of any direction; 1 for nodes that are not linked."""
    chosen = set(nodes)
    around = graph.around()
    most = 0
    for start in sorted(chosen):
        seen, row, length = {start}, [start], 0
        while row:
            length += 1
            row = sorted({to for at in row for to in around[at] & chosen if to not in seen})
            seen.update(row)
        most = max(most, length)
    return most
