"""The situation of an interview: everything that the choice of the next question depends on, computed once per turn."""

from __future__ import annotations

from .answer_signals import is_terminal
from .graph import Graph, chao1, longest_path, measure_chains
from .wording import contains_run, content_stems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .wording import QuestionSimilarity

__all__ = ["Situation", "phase_lengths"]

_MAX_LINKED = 50  # nodes examined for the depth of one element


def phase_lengths(phases: list[dict[str, Any]], budget: int) -> list[int]:
    """Return how many questions each phase lasts with `budget` (>= 1) in all; the last phase takes the rest."""
    whole = sum(phase["turns"] for phase in phases)
    lengths: list[int] = []
    for phase in phases[:-1]:
        share = max(1, round(budget * phase["turns"] / whole))
        lengths.append(min(share, max(0, budget - sum(lengths) - 1)))
    return [*lengths, max(1, budget - sum(lengths))]


class Situation:
    """An interview between two questions. Shares are 0 to 1; `phase` is the id of the next question's phase.

    `similarity` compares questions, `wish` is what the user asked for instead of answering (`deeper`, `resume`, `stop`), or empty.
    """

    __slots__ = (
        "_depths", "_momenta", "_said", "breadth", "budget", "chains", "graph", "idle", "peripheral", "phase",
        "recent", "saturation", "scoring", "setup", "similarity", "state", "turns", "uncovered", "wish",
    )  # fmt: skip

    def __init__(
        self, state: dict[str, Any], setup: dict[str, Any], similarity: QuestionSimilarity, wish: str = ""
    ) -> None:
        self.state, self.setup, self.similarity, self.wish = state, setup, similarity, wish
        self.scoring: dict[str, Any] = setup["scoring"]
        self.turns: list[dict[str, Any]] = state["turns"]
        self.graph = Graph(state, setup["pack"])
        self.idle = frozenset(setup["redundancy"]["function_words"])
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
        self._said: list[list[list[str]]] = []

    def _phase(self) -> str:
        lengths = phase_lengths(self.scoring["phases"], self.budget)
        at = len(self.turns)
        for phase, length in zip(self.scoring["phases"], lengths):
            if at < length:
                return str(phase["id"])
            at -= length
        return str(self.scoring["phases"][-1]["id"])

    @property
    def has_ladder(self) -> bool:
        """Whether concepts can lead to others: a pack with a flat list of facts has no ladder."""
        return len(self.graph.ladder) > 1

    def signals(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the signals of the last answer; those that rules read from it where a scorer's params ask for no others."""
        return _signals(self.turns[-1], params) if self.turns else {}

    def did_not_know(self, turn: dict[str, Any], params: dict[str, Any]) -> bool:
        """Return whether the answer of a turn was that the user does not know."""
        return is_terminal(_signals(turn, params))

    def element_depth(self, name: str) -> float:
        """Return the longest path among the concepts of an element, as a share of the ladder; 0 without any."""
        if name not in self._depths:
            linked = [at for at, node in enumerate(self.graph.nodes) if name in node["elements"]][
                -_MAX_LINKED:
            ]
            self._depths[name] = min(1.0, longest_path(self.graph, linked) / len(self.graph.ladder))
        return self._depths[name]

    def gap(self, name: str, shallow: float) -> float:
        """Return 1 for an element that was not mentioned, 0.5 for a shallow one, else 0."""
        if name not in self.state["covered"]:
            return 1.0
        known = self.state["covered"][name]["by"] != "named"
        if known or not self.has_ladder:
            return 0.0
        return 0.5 if self.element_depth(name) < shallow else 0.0

    def mentions(self, label: str, lookback: int) -> int:
        """Return in how many of the last turns a name occurred, in question or answer."""
        part = content_stems(label, self.idle)
        if not self._said:
            self._said = [
                [content_stems(turn[name], self.idle) for name in ("question", "answer")]
                for turn in self.turns
            ]
        return sum(any(contains_run(part, said) for said in both) for both in self._said[-lookback:])

    def momenta(self, params: dict[str, Any]) -> list[float]:
        """Return the momentum of each recent answer: points for words, elaborations, enthusiasm and signals of interest."""
        if not self._momenta:
            spoken = [turn for turn in self.turns if turn["wish"] != "skip"]
            self._momenta = [_momentum(turn, params) for turn in spoken[-params["answers"] :]]
        return self._momenta


def _momentum(turn: dict[str, Any], params: dict[str, Any]) -> float:
    points: float = (
        params["word"] * turn["words"]
        + params["elaboration"] * turn["elaborations"]
        + params["enthusiasm"] * turn["enthusiasm"]
    )
    signals = _signals(turn, params)
    eager = signals.get("emotional", {}).get("intensity", "").endswith("_positive")
    thinks = signals.get("reasoning", {}).get("quality", "reactive") not in ("reactive", "associative")
    points += params["signal"] * (eager + thinks)
    return points


def _signals(turn: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = turn["signals" if params["use_llm_signals"] else "by_rule"]
    return found
