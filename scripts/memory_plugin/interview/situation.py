"""Compute the situation of an interview: everything that the choice of the next question depends on, once per turn."""

from __future__ import annotations

from .answer_signals import is_terminal
from .graph import Graph, chao1, diameter, measure_chains
from .wording import contains_run, content_stems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .wording import QuestionSimilarity

_MAX_NODES = 50  # examined for the depth of one element


def phase_lengths(phases: list[dict[str, Any]], budget: int) -> list[int]:
    """Return the number of questions in each phase for a `budget` (>= 1) of questions; the last phase takes the rest."""
    parts = sum(phase["turns"] for phase in phases)
    lengths: list[int] = []
    for phase in phases[:-1]:
        share = max(1, round(budget * phase["turns"] / parts))
        lengths.append(min(share, max(0, budget - sum(lengths) - 1)))
    return [*lengths, max(1, budget - sum(lengths))]


class Situation:
    """An interview between two questions.

    `breadth` and `saturation` are 0 to 1. `phase` is the id of the next question's phase. `wish` is what the user asked for instead of
    answering (`deeper`, `resume`, `stop`), or empty.
    """

    __slots__ = (
        "_depths", "_momenta", "_turn_stems", "breadth", "budget", "chains", "function_words", "graph", "peripheral", "phase",
        "recent", "saturation", "scoring", "setup", "similarity", "state", "turns", "uncovered", "wish",
    )  # fmt: skip

    def __init__(
        self, state: dict[str, Any], setup: dict[str, Any], similarity: QuestionSimilarity, wish: str = ""
    ) -> None:
        self.state, self.setup, self.similarity, self.wish = state, setup, similarity, wish
        self.scoring: dict[str, Any] = setup["scoring"]
        self.turns: list[dict[str, Any]] = state["turns"]
        self.graph = Graph(state, setup["pack"])
        self.function_words = frozenset(setup["redundancy"]["function_words"])
        self.chains = measure_chains(self.graph)
        self.recent = self.graph.recent(self.scoring["focus"]["recent"])
        self.peripheral = self.graph.peripheral()
        self.saturation = chao1([node["mentions"] for node in self.graph.nodes])
        covered = state["covered"]
        self.uncovered = [element for element in setup["elements"] if element["id"] not in covered]
        total = len(setup["elements"])
        types = {node["type"] for node in self.graph.nodes}
        self.breadth = 1 - len(self.uncovered) / total if total else len(types) / len(setup["pack"]["types"])
        self.budget: int = setup["max_turns"] + state["more"]
        self.phase = self._phase()
        self._depths: dict[str, float] = {}
        self._momenta: list[float] = []
        self._turn_stems: list[list[list[str]]] = []  # per turn: the stems of question and answer

    def _phase(self) -> str:
        lengths = phase_lengths(self.scoring["phases"], self.budget)
        turn = len(self.turns)
        for phase, length in zip(self.scoring["phases"], lengths):
            if turn < length:
                return str(phase["id"])
            turn -= length
        return str(self.scoring["phases"][-1]["id"])

    @property
    def has_ladder(self) -> bool:
        """Return whether concepts can lead to others; a pack with a flat list of facts has no ladder."""
        return len(self.graph.ladder) > 1

    def signals(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the last answer's signals: all of them, or only the rules' if the params turn `use_llm_signals` off."""
        return _signals(self.turns[-1], params) if self.turns else {}

    def did_not_know(self, turn: dict[str, Any], params: dict[str, Any]) -> bool:
        """Return whether the user answered in this turn that they do not know."""
        return is_terminal(_signals(turn, params))

    def element_depth(self, name: str) -> float:
        """Return the longest path among the concepts of an element, as a share of the ladder; 0 without any."""
        if name not in self._depths:
            nodes = [index for index, node in enumerate(self.graph.nodes) if name in node["elements"]]
            length = diameter(self.graph, nodes[-_MAX_NODES:])
            self._depths[name] = min(1.0, length / len(self.graph.ladder))
        return self._depths[name]

    def gap(self, name: str, shallow: float) -> float:
        """Return 1 for an element that was not mentioned, 0.5 for an element with a depth below `shallow`, else 0."""
        if name not in self.state["covered"]:
            return 1.0
        settled = self.state["covered"][name]["by"] != "named"
        if settled or not self.has_ladder:
            return 0.0
        return 0.5 if self.element_depth(name) < shallow else 0.0

    def mentions(self, label: str, lookback: int) -> int:
        """Return in how many of the last turns a label occurred, in question or answer."""
        stems = content_stems(label, self.function_words)
        if not self._turn_stems:
            self._turn_stems = [
                [content_stems(turn[name], self.function_words) for name in ("question", "answer")]
                for turn in self.turns
            ]
        return sum(
            any(contains_run(stems, text_stems) for text_stems in texts)
            for texts in self._turn_stems[-lookback:]
        )

    def momenta(self, params: dict[str, Any]) -> list[float]:
        """Return the momentum of each recent answer: points for words, elaborations, enthusiasm and interest; skips do not count."""
        if not self._momenta:
            answered = [turn for turn in self.turns if turn["wish"] != "skip"]
            self._momenta = [_momentum(turn, params) for turn in answered[-params["answers"] :]]
        return self._momenta


def _momentum(turn: dict[str, Any], params: dict[str, Any]) -> float:
    points: float = (
        params["word"] * turn["words"]
        + params["elaboration"] * turn["elaborations"]
        + params["enthusiasm"] * turn["enthusiasm"]
    )
    signals = _signals(turn, params)
    is_positive = signals.get("emotional", {}).get("intensity", "").endswith("_positive")
    has_reasons = signals.get("reasoning", {}).get("quality", "reactive") not in ("reactive", "associative")
    points += params["signal"] * (is_positive + has_reasons)
    return points


def _signals(turn: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    signals: dict[str, Any] = turn["signals" if params["use_llm_signals"] else "by_rule"]
    return signals
