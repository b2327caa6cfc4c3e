"""Generate what each strategy could ask about now, with one generator for each kind of focus.

To add a kind, write a generator and add it to FOCUSES.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .situation import Situation

__all__ = ["FOCUSES", "Focus", "QuestionCandidate"]


class Focus:
    """What a question is about: its kind, its key, and its label in words; `nodes` are indexes in the graph.

    `variant` selects other texts of the strategy for a special case, `ask` is what a pack says about how to ask for an element.
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

    `veto` is why it must not be asked, or empty; `parts` holds id, raw score, weight, reason and signals of each scorer.
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

    def record(self, *, whole: bool) -> dict[str, Any]:
        """Return the candidate as it is stored; `whole` includes what each scorer said."""
        found: dict[str, Any] = {
            "strategy": self.strategy,
            "focus": self.focus.record(),
            "sum": self.total,
            "multiplier": self.multiplier,
            "score": self.score,
        }
        if self.veto:
            return {**{key: found[key] for key in ("strategy", "focus")}, "veto": self.veto}
        if whole:
            found["scorers"] = [
                {"id": name, "raw": raw, "weight": weight, "why": why, "signals": signals}
                for name, raw, weight, why, signals in self.parts
            ]
        return found


def _on_nodes(kind: str, numbers: tuple[int, ...], now: Situation) -> Focus:
    nodes = [now.graph.nodes[at] for at in numbers]
    key = "+".join(node["id"] for node in nodes)
    return Focus(kind, key, " and ".join('"%s"' % node["label"] for node in nodes), numbers)


def _uses(now: Situation, strategy: str, key: str) -> int:
    """Return how often a strategy asked about something. A question that was not answered may be asked once more."""
    asked = [t for t in now.turns if t["strategy"] == strategy and t["focus"]["key"] == key]
    return len(asked) - (len(asked) == 1 and asked[0].get("unanswered", False))


def _recent_node(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the last named concept that is not at the top of the ladder and was not asked about too often."""
    if not now.has_ladder:
        return
    for at in now.recent:
        node = now.graph.nodes[at]
        climbed = node["type"] in now.graph.terminal or now.graph.level(at) < 0 or now.graph.targets(at)
        if climbed or node["id"] in now.state["skipped"]:
            continue
        if _uses(now, strategy, node["id"]) < now.scoring["focus"]["depth_per_node"]:
            yield _on_nodes("recent_node", (at,), now)
            return


def _open(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the topic as a whole.

    While specific questions are left: not twice in a row, and not after an open question that brought nothing new.
    """
    topic = now.setup["topic"]
    before = [turn for turn in now.turns if turn["strategy"] == strategy]
    twice = bool(now.uncovered or now.graph.nodes) and now.turns[-1:] == before[-1:]
    fruitless = bool(now.uncovered and before) and not _led_further(before[-1], now)
    if not now.turns:
        yield Focus("open", "open", topic, variant="first")
    elif not twice and not fruitless:
        yield Focus("open", "open", topic)


def _led_further(turn: dict[str, Any], now: Situation) -> bool:
    """Return whether an answer touched an element for the first time, or named something outside all elements."""
    covered, number = now.state["covered"], turn["number"]
    nodes = [now.graph.nodes[int(name[1:]) - 1] for name in turn["concepts"]]
    elsewhere = any(node["turns"][0] == number and not node["elements"] for node in nodes)
    return elsewhere or any(found["turn"] == number for found in covered.values())


def _uncovered(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the elements that nobody talked about; once there are none, those that were only named."""
    covered, skipped = now.state["covered"], now.state["skipped"]
    shallow = [e for e in now.setup["elements"] if covered.get(e["id"], {}).get("by") == "named"]
    for element in (now.uncovered or shallow)[: now.scoring["focus"]["most_elements"]]:
        if element["id"] not in skipped and not _uses(now, strategy, element["id"]):
            variant = "" if now.uncovered else "named"
            yield Focus("uncovered", element["id"], element["label"], (), variant, element.get("ask", ""))


def _peripheral_node(now: Situation, strategy: str) -> Iterator[Focus]:
    for at in sorted(now.peripheral, key=lambda at: (now.graph.nodes[at]["mentions"], at)):
        node = now.graph.nodes[at]
        if node["id"] not in now.state["skipped"] and not _uses(now, strategy, node["id"]):
            yield _on_nodes("peripheral_node", (at,), now)
            return


def _opposite_node(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield a concept with both stances; without one, once, two concepts of opposite stances."""
    before = any(turn["strategy"] == strategy for turn in now.turns)
    for pair in now.graph.opposites(2 * now.scoring["focus"]["recent"]):
        focus = _on_nodes("opposite_node", tuple(sorted(pair)), now)
        focus.label = " and ".join(_with_stance(now.graph.nodes[at]) for at in focus.nodes)
        focus.variant = "twins" if pair in now.graph.contradictions() else ""
        if not _uses(now, strategy, focus.key) and (focus.variant or not before):
            yield focus
            return


def _with_stance(node: dict[str, Any]) -> str:
    """Return a concept with its stance and first question, so that two of one name can be told apart."""
    return '"%s" (%s, question %d)' % (
        node["label"],
        "for" if node["stance"] > 0 else "against",
        node["turns"][0],
    )


def _recent_nodes(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the two or three concepts named last, when something new came since the last summary."""
    if len(now.recent) < 2:
        return
    focus = _on_nodes("recent_nodes", tuple(now.recent[:3]), now)
    last = [turn["number"] for turn in now.turns if turn["strategy"] == strategy]
    fresh = sum(turn["new"] for turn in now.turns[last[-1] :]) if last else 1
    if fresh and not _uses(now, strategy, focus.key):
        yield focus


def _unclear(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield what the last answer left vague: its concept of low confidence, or what the question was about."""
    if not now.turns:
        return
    last, rules = now.turns[-1], now.scoring["focus"]
    named = [int(name[1:]) - 1 for name in last["concepts"]]
    vague = [at for at in named if now.graph.nodes[at]["confidence"] < rules["clarify_confidence"]]
    unsure = last["signals"].get("uncertainty", {}).get("type") == "conceptual_clarity"
    if not vague and not unsure and last["hedges"] < rules["clarify_hedges"]:
        return
    for at in vague or named[:1]:
        focus = _on_nodes("unclear", (at,), now)
        if not _uses(now, strategy, focus.key):
            yield focus
            return
    before = last["focus"]
    if not named and last["strategy"] != strategy and not _uses(now, strategy, before["key"]):
        yield Focus("unclear", before["key"], before["label"], variant="rephrase" if unsure else "")


def _last_focus(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the last focus once more, for a simpler question, where answers are short or the user does not know."""
    rules = now.scoring["focus"]
    last = now.turns[-rules["ease_gap"] :]
    short = any(turn["terminal"] or turn["low"] or turn["words"] < rules["ease_words"] for turn in last)
    if short and all(turn["strategy"] != strategy for turn in last):
        before = now.turns[-1]["focus"]
        if before["kind"] != "closing" and not _uses(now, strategy, before["key"]):
            yield Focus("last_focus", before["key"], before["label"])


def _whole(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield everything said so far if answers are missing, once for each state of the interview."""
    struggling = sum(turn["terminal"] or turn["low"] for turn in now.turns[-3:]) >= 2
    key = "whole-%d" % len(now.graph.nodes)
    if struggling and not _uses(now, strategy, key):
        yield Focus("whole", key, now.setup["topic"])


def _closing(now: Situation, _: str) -> Iterator[Focus]:
    """Yield the last question; a summary of what was said has to come before it."""
    summed = any(turn["strategy"] == "synthesis" for turn in now.turns)
    if summed or len(now.recent) < 2 or now.phase != now.scoring["phases"][-1]["id"]:
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
