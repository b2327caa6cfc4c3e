"""Generate the focuses that each strategy could ask about now, with one generator per kind of focus.

To add a kind, write a generator and add it to FOCUSES.
"""

from __future__ import annotations

from .graph import node_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .situation import Situation


class Focus:
    """The subject of a question: its kind, key and label, and the indexes of its nodes in the graph.

    `variant` selects other texts of the strategy for a special case. `ask` is the pack's advice on how to ask for an element.
    """

    __slots__ = ("ask", "key", "kind", "label", "nodes", "variant")

    def __init__(
        self, kind: str, key: str, label: str, nodes: tuple[int, ...] = (), variant: str = "", ask: str = ""
    ) -> None:
        self.kind, self.key, self.label, self.nodes = kind, key, label, nodes
        self.variant, self.ask = variant, ask

    def record(self) -> dict[str, str]:
        """Return the focus as it is stored."""
        return {"kind": self.kind, "key": self.key, "label": self.label}


class QuestionCandidate:
    """A strategy applied to a focus.

    `probe` is a plain wording of the question, compared with earlier questions. `veto` is the reason why it must not be asked, or empty.
    `parts` contains id, raw score, weight, reason and signals of each scorer.
    """

    __slots__ = (
        "category", "focus", "multiplier", "order", "parts", "probe", "score", "strategy", "total", "veto",
    )  # fmt: skip

    def __init__(self, entry: dict[str, Any], focus: Focus, probe: str, order: int) -> None:
        self.strategy: str = entry["id"]
        self.category: str = entry["category"]
        self.focus = focus
        self.probe = probe
        self.order = (-entry["priority_base"], order)
        self.veto = ""
        self.parts: list[tuple[str, float, float, str, dict[str, Any]]] = []
        self.total = self.multiplier = self.score = 0.0

    def record(self) -> dict[str, Any]:
        """Return the candidate as it is stored: with its scores, or with its veto."""
        if self.veto:
            return {"strategy": self.strategy, "focus": self.focus.record(), "veto": self.veto}
        return {
            "strategy": self.strategy,
            "focus": self.focus.record(),
            "sum": self.total,
            "multiplier": self.multiplier,
            "score": self.score,
            "scorers": [
                {"id": name, "raw": raw, "weight": weight, "why": why, "signals": signals}
                for name, raw, weight, why, signals in self.parts
            ],
        }


def _node_focus(kind: str, indexes: tuple[int, ...], now: Situation) -> Focus:
    nodes = [now.graph.nodes[index] for index in indexes]
    key = "+".join(node["id"] for node in nodes)
    return Focus(kind, key, " and ".join('"%s"' % node["label"] for node in nodes), indexes)


def _uses(now: Situation, strategy: str, key: str) -> int:
    """Return how often a strategy asked about a focus. A single question without an answer does not count."""
    turns = [turn for turn in now.turns if turn["strategy"] == strategy and turn["focus"]["key"] == key]
    if len(turns) == 1 and turns[0].get("unanswered"):
        return 0
    return len(turns)


def _recent_node(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the last mentioned concept that is not at the top of the ladder and was not asked about too often."""
    if not now.has_ladder:
        return
    for index in now.recent:
        node = now.graph.nodes[index]
        is_top = node["type"] in now.graph.terminal or now.graph.level(index) < 0
        if is_top or now.graph.targets(index) or node["id"] in now.state["skipped"]:
            continue
        if _uses(now, strategy, node["id"]) < now.scoring["focus"]["depth_per_node"]:
            yield _node_focus("recent_node", (index,), now)
            return


def _open(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the whole topic.

    While specific questions are left, do not yield it twice in a row or after an open question that brought nothing new.
    """
    topic = now.setup["topic"]
    open_turns = [turn for turn in now.turns if turn["strategy"] == strategy]
    is_repeat = bool(now.uncovered or now.graph.nodes) and now.turns[-1:] == open_turns[-1:]
    was_fruitless = bool(now.uncovered and open_turns) and not _brought_something_new(open_turns[-1], now)
    if not now.turns:
        yield Focus("open", "open", topic, variant="first")
    elif not is_repeat and not was_fruitless:
        yield Focus("open", "open", topic)


def _brought_something_new(turn: dict[str, Any], now: Situation) -> bool:
    """Return whether an answer mentioned an element for the first time, or a new concept outside all elements."""
    covered, number = now.state["covered"], turn["number"]
    nodes = [now.graph.nodes[node_index(node_id)] for node_id in turn["concepts"]]
    is_outside = any(node["turns"][0] == number and not node["elements"] for node in nodes)
    return is_outside or any(entry["turn"] == number for entry in covered.values())


def _uncovered(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the uncovered elements; if there are none, those that were only mentioned in passing."""
    covered, skipped = now.state["covered"], now.state["skipped"]
    in_passing = [
        element for element in now.setup["elements"] if covered.get(element["id"], {}).get("by") == "named"
    ]
    for element in (now.uncovered or in_passing)[: now.scoring["focus"]["most_elements"]]:
        if element["id"] not in skipped and not _uses(now, strategy, element["id"]):
            variant = "" if now.uncovered else "named"
            yield Focus("uncovered", element["id"], element["label"], (), variant, element.get("ask", ""))


def _peripheral_node(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the least mentioned of the concepts with few links."""
    for index in sorted(now.peripheral, key=lambda index: (now.graph.nodes[index]["mentions"], index)):
        node = now.graph.nodes[index]
        if node["id"] not in now.state["skipped"] and not _uses(now, strategy, node["id"]):
            yield _node_focus("peripheral_node", (index,), now)
            return


def _opposite_node(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield a concept that the user is both for and against; if there is none, two opposed concepts, once per interview."""
    was_used = any(turn["strategy"] == strategy for turn in now.turns)
    contradictions = now.graph.contradictions()
    for pair in now.graph.opposites(2 * now.scoring["focus"]["recent"]):
        focus = _node_focus("opposite_node", tuple(sorted(pair)), now)
        focus.label = " and ".join(_label_with_stance(now.graph.nodes[index]) for index in focus.nodes)
        focus.variant = "twins" if pair in contradictions else ""
        if not _uses(now, strategy, focus.key) and (focus.variant or not was_used):
            yield focus
            return


def _label_with_stance(node: dict[str, Any]) -> str:
    """Return a label with stance and first question, because two opposed concepts may have the same label."""
    stance = "for" if node["stance"] > 0 else "against"
    return '"%s" (%s, question %d)' % (node["label"], stance, node["turns"][0])


def _recent_nodes(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the last two or three concepts, if there is a new one since the last summary."""
    if len(now.recent) < 2:
        return
    focus = _node_focus("recent_nodes", tuple(now.recent[:3]), now)
    summaries = [turn["number"] for turn in now.turns if turn["strategy"] == strategy]
    has_new = not summaries or any(turn["new"] for turn in now.turns[summaries[-1] :])
    if has_new and not _uses(now, strategy, focus.key):
        yield focus


def _unclear(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield a vague part of the last answer: a concept of low confidence, its first concept, or the question's focus."""
    if not now.turns:
        return
    last, rules = now.turns[-1], now.scoring["focus"]
    mentioned = [node_index(node_id) for node_id in last["concepts"]]
    vague = [
        index for index in mentioned if now.graph.nodes[index]["confidence"] < rules["clarify_confidence"]
    ]
    misunderstood = last["signals"].get("uncertainty", {}).get("type") == "conceptual_clarity"
    if not vague and not misunderstood and last["hedges"] < rules["clarify_hedges"]:
        return
    for index in vague or mentioned[:1]:
        focus = _node_focus("unclear", (index,), now)
        if not _uses(now, strategy, focus.key):
            yield focus
            return
    key = last["focus"]["key"]
    if not mentioned and last["strategy"] != strategy and not _uses(now, strategy, key):
        yield Focus("unclear", key, last["focus"]["label"], variant="rephrase" if misunderstood else "")


def _last_focus(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the last focus again, for a simpler question, if answers are short or the user does not know."""
    rules = now.scoring["focus"]
    recent = now.turns[-rules["ease_gap"] :]
    is_struggling = any(
        turn["terminal"] or turn["low"] or turn["words"] < rules["ease_words"] for turn in recent
    )
    if is_struggling and all(turn["strategy"] != strategy for turn in recent):
        focus = now.turns[-1]["focus"]
        if focus["kind"] != "closing" and not _uses(now, strategy, focus["key"]):
            yield Focus("last_focus", focus["key"], focus["label"])


def _whole(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield everything said so far, if two of the last three answers said nothing; again only after new concepts."""
    struggling = sum(turn["terminal"] or turn["low"] for turn in now.turns[-3:]) >= 2
    key = "whole-%d" % len(now.graph.nodes)
    if struggling and not _uses(now, strategy, key):
        yield Focus("whole", key, now.setup["topic"])


def _closing(now: Situation, _: str) -> Iterator[Focus]:
    """Yield the closing question; in the last phase only after a summary, or if there is too little to summarize."""
    summarized = any(turn["strategy"] == "synthesis" for turn in now.turns)
    if summarized or len(now.recent) < 2 or now.phase != now.scoring["phases"][-1]["id"]:
        yield Focus("closing", "closing", now.setup["topic"])


FOCUSES: dict[str, Callable[[Situation, str], Iterator[Focus]]] = {
    "recent_node": _recent_node,
    "open": _open,
    "uncovered": _uncovered,
    "peripheral_node": _peripheral_node,
    "opposite_node": _opposite_node,
    "recent_nodes": _recent_nodes,
    "unclear": _unclear,
    "last_focus": _last_focus,
    "whole": _whole,
    "closing": _closing,
}
