"""Compute the situation between two questions, and the focuses that each strategy could ask about in it.

To add a kind of focus, write a generator and add it to FOCUSES.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Callable, NamedTuple

from .graph import Graph, chao1, measure_chains, node_index
from .interview_store import Node, Setup, Signals, State, Turn
from .wording import contains_run, content_stems, count_phrases, is_terminal, signals_by_rule, was_unclear

Params = Mapping[str, Any]  # of a criterion, from `config/interview/scoring.json`


class Situation:
    """An interview between two questions: everything that the choice of the next one depends on.

    `breadth` and `saturation` are 0 to 1. `phase` is the id of the next question's phase. `wish` is what the user asked for instead of
    answering (`deeper`, `resume`, `stop`), or empty. `has_ladder` is false for a pack with a flat list of facts.
    """

    def __init__(self, state: State, setup: Setup, wish: str = "") -> None:
        self.state, self.setup, self.wish = state, setup, wish
        self.scoring = setup["scoring"]
        self.turns = state["turns"]
        self.skipped = {turn["focus"]["key"] for turn in self.turns if turn["wish"] == "skip"}
        self.graph = Graph(state, setup["pack"])
        self.has_ladder = len(self.graph.ladder) > 1
        self.chains = measure_chains(self.graph)
        self.recent = self.graph.recent(self.scoring["focus"]["recent"])
        self.peripheral = self.graph.peripheral()
        self.saturation = chao1([node["mentions"] for node in self.graph.nodes])
        elements = setup["elements"]
        self.uncovered = [element for element in elements if element["id"] not in state["covered"]]
        types = {node["type"] for node in self.graph.nodes}
        self.breadth = (
            1 - len(self.uncovered) / len(elements) if elements else len(types) / len(setup["pack"]["types"])
        )
        self.budget = setup["max_turns"] + state["more"]
        self.phase = _phase(self.scoring["phases"], self.budget, len(self.turns))

    def signals(self, params: Params) -> Signals:
        """Return the last answer's signals."""
        return signals_of(self.turns[-1], params) if self.turns else {}

    def gap(self, name: str, shallow: float) -> float:
        """Return 1 for an element that was not mentioned, 0.5 if its concepts span less than `shallow` of the ladder, else 0."""
        if name not in self.state["covered"]:
            return 1.0
        if self.state["covered"][name]["by"] != "named" or not self.has_ladder:
            return 0.0
        about = [index for index, node in enumerate(self.graph.nodes) if name in node["elements"]]
        levels = [level for level in map(self.graph.level, about) if level >= 0]
        steps = max(levels) - min(levels) + 1 if levels else 0
        return 0.5 if steps / len(self.graph.ladder) < shallow else 0.0

    def mentions(self, label: str, lookback: int) -> int:
        """Return in how many of the last turns a label occurred, in question or answer."""
        stems = content_stems(label)
        texts = ((turn["question"], turn["answer"]) for turn in self.turns[-lookback:])
        return sum(any(contains_run(stems, content_stems(text)) for text in pair) for pair in texts)

    def momenta(self, params: Params) -> list[float]:
        """Return the momentum of each recent answer: points for words, elaborations, enthusiasm and interest; skips do not count."""
        answered = [turn for turn in self.turns if turn["wish"] != "skip"]
        return [_momentum(turn, params) for turn in answered[-params["answers"] :]]

    def uses(self, strategy: str, key: str) -> int:
        """Return how often a strategy asked about a focus."""
        return sum(turn["strategy"] == strategy and turn["focus"]["key"] == key for turn in self.turns)


def _phase(phases: list[dict[str, Any]], budget: int, turn: int) -> str:
    """Return the phase of a turn (from 0): the phases share the budget (>= 1) in proportion, and the last takes the rest."""
    parts = sum(phase["turns"] for phase in phases)
    end = 0
    for phase in phases[:-1]:
        share = max(1, round(budget * phase["turns"] / parts))
        end += min(share, max(0, budget - end - 1))
        if turn < end:
            return str(phase["id"])
    return str(phases[-1]["id"])


def _momentum(turn: Turn, params: Params) -> float:
    groups = ("elaboration", "enthusiasm")
    points = sum(params[group] * count_phrases(turn["answer"], group) for group in groups)
    points += params["word"] * turn["words"]
    signals = signals_of(turn, params)
    is_positive = signals.get("emotional", {}).get("intensity", "").endswith("_positive")
    has_reasons = signals.get("reasoning", {}).get("quality", "reactive") not in ("reactive", "associative")
    return float(points + params["signal"] * (is_positive + has_reasons))


def signals_of(turn: Turn, params: Params) -> Signals:
    """Return a turn's signals: all of them, or only the rules' if the params turn `use_llm_signals` off."""
    return turn["signals"] if params["use_llm_signals"] else signals_by_rule(turn["answer"])


class Focus(NamedTuple):
    """The subject of a question: its kind, key and label, and the indexes of its nodes in the graph.

    `variant` selects other texts of the strategy for a special case. `group` and `ask` are those of an element in the pack.
    """

    kind: str
    key: str
    label: str
    nodes: tuple[int, ...] = ()
    variant: str = ""
    group: str = ""
    ask: str = ""

    def record(self) -> dict[str, str]:
        """Return the focus as it is stored."""
        return {"kind": self.kind, "key": self.key, "label": self.label}


def _node_focus(kind: str, indexes: tuple[int, ...], now: Situation) -> Focus:
    nodes = [now.graph.nodes[index] for index in indexes]
    key = "+".join(node["id"] for node in nodes)
    return Focus(kind, key, " and ".join('"%s"' % node["label"] for node in nodes), indexes)


def _recent_node(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the last mentioned concept that is not at the top of the ladder and was not asked about too often."""
    for index in now.recent if now.has_ladder else ():
        node = now.graph.nodes[index]
        is_top = node["type"] in now.graph.terminal or now.graph.level(index) < 0
        if is_top or now.graph.targets(index) or node["id"] in now.skipped:
            continue
        if now.uses(strategy, node["id"]) < now.scoring["focus"]["depth_per_node"]:
            yield _node_focus("recent_node", (index,), now)
            return


def _open(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the whole topic.

    While specific questions are left, do not yield it twice in a row or after an open question that brought nothing new.
    """
    open_turns = [turn for turn in now.turns if turn["strategy"] == strategy]
    is_repeat = bool(now.uncovered or now.graph.nodes) and now.turns[-1:] == open_turns[-1:]
    was_fruitless = bool(now.uncovered and open_turns) and not _brought_something_new(open_turns[-1], now)
    if not now.turns or not (is_repeat or was_fruitless):
        yield Focus("open", "open", now.setup["topic"], variant="" if now.turns else "first")


def _brought_something_new(turn: Turn, now: Situation) -> bool:
    """Return whether an answer mentioned an element for the first time, or a new concept outside all elements."""
    number = turn["number"]
    nodes = [now.graph.nodes[node_index(node_id)] for node_id in turn["concepts"]]
    is_outside = any(node["turns"][0] == number and not node["elements"] for node in nodes)
    return is_outside or any(entry["turn"] == number for entry in now.state["covered"].values())


def _uncovered(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the uncovered elements."""
    for element in now.uncovered[: now.scoring["focus"]["most_elements"]]:
        if element["id"] not in now.skipped and not now.uses(strategy, element["id"]):
            names = (element["id"], element["label"])
            yield Focus("uncovered", *names, group=element["group"], ask=element["ask"])


def _peripheral_node(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the least mentioned of the concepts with few links."""
    for index in sorted(now.peripheral, key=lambda index: (now.graph.nodes[index]["mentions"], index)):
        node_id = now.graph.nodes[index]["id"]
        if node_id not in now.skipped and not now.uses(strategy, node_id):
            yield _node_focus("peripheral_node", (index,), now)
            return


def _opposite_node(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield a concept that the user is both for and against; if there is none, two opposed concepts, once per interview."""
    was_used = any(turn["strategy"] == strategy for turn in now.turns)
    contradictions = now.graph.contradictions()
    for pair in now.graph.opposites(2 * now.scoring["focus"]["recent"]):
        focus = _node_focus("opposite_node", tuple(sorted(pair)), now)
        if not now.uses(strategy, focus.key) and (pair in contradictions or not was_used):
            label = " and ".join(_label_with_stance(now.graph.nodes[index]) for index in focus.nodes)
            yield focus._replace(label=label, variant="twins" if pair in contradictions else "")
            return


def _label_with_stance(node: Node) -> str:
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
    if has_new and not now.uses(strategy, focus.key):
        yield focus


def _unclear(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield a vague part of the last answer: a concept of low confidence, its first concept, or the question's focus."""
    if not now.turns:
        return
    last, rules = now.turns[-1], now.scoring["focus"]
    mentioned = [node_index(node_id) for node_id in last["concepts"]]
    least = rules["clarify_confidence"]
    vague = [index for index in mentioned if now.graph.nodes[index]["confidence"] < least]
    misunderstood = was_unclear(last["signals"])
    if not vague and not misunderstood and count_phrases(last["answer"], "hedge") < rules["clarify_hedges"]:
        return
    for index in vague or mentioned[:1]:
        focus = _node_focus("unclear", (index,), now)
        if not now.uses(strategy, focus.key):
            yield focus
            return
    key = last["focus"]["key"]
    if not mentioned and last["strategy"] != strategy and not now.uses(strategy, key):
        yield Focus("unclear", key, last["focus"]["label"], variant="rephrase" if misunderstood else "")


def _last_focus(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield the last focus again, for a simpler question, if answers are short or the user does not know."""
    rules = now.scoring["focus"]
    recent = now.turns[-rules["ease_gap"] :]
    least = rules["ease_words"]
    is_struggling = any(is_terminal(one["signals"]) or one["low"] or one["words"] < least for one in recent)
    if is_struggling and all(turn["strategy"] != strategy for turn in recent):
        focus = now.turns[-1]["focus"]
        if focus["kind"] != "closing" and not now.uses(strategy, focus["key"]):
            yield Focus("last_focus", focus["key"], focus["label"])


def _whole(now: Situation, strategy: str) -> Iterator[Focus]:
    """Yield everything said so far, if two of the last three answers said nothing; again only after new concepts."""
    struggling = sum(is_terminal(turn["signals"]) or turn["low"] for turn in now.turns[-3:]) >= 2
    key = "whole-%d" % len(now.graph.nodes)
    if struggling and not now.uses(strategy, key):
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
