"""Everything that the choice of the next question looks at, measured once per turn."""

from __future__ import annotations

from .chains import measure, span
from .graph import Graph, chao1
from .phases import phase_lengths
from .signals import is_terminal
from .wording import content_stems, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .redundancy import Likeness

__all__ = ["Situation"]

_MOST_LINKED = 50  # nodes of one element looked at for its depth


class Situation:
    """An interview between two questions. Shares are 0 to 1; `phase` is the id of the phase that the next question falls into."""

    __slots__ = (
        "_depths",
        "_momenta",
        "_said",
        "breadth",
        "budget",
        "chains",
        "graph",
        "idle",
        "likeness",
        "peripheral",
        "phase",
        "recent",
        "saturation",
        "scoring",
        "setup",
        "state",
        "turns",
        "uncovered",
        "wish",
    )  # fmt: skip

    def __init__(
        self, state: dict[str, Any], setup: dict[str, Any], likeness: Likeness, wish: str = ""
    ) -> None:
        self.state, self.setup, self.likeness, self.wish = state, setup, likeness, wish
        self.scoring: dict[str, Any] = setup["scoring"]
        self.turns: list[dict[str, Any]] = state["turns"]
        self.graph = Graph(state, setup["pack"])
        self.idle = frozenset(setup["redundancy"]["function_words"])
        self.chains = measure(self.graph)
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
        """Whether the pack has steps to climb; a flat list of facts has none, and nothing is deep in it."""
        return len(self.graph.ladder) > 1

    def signals(self, values: dict[str, Any]) -> dict[str, Any]:
        """The signals of the last answer; those that rules read from it alone, where a scorer wants no others."""
        return _signals(self.turns[-1], values) if self.turns else {}

    def ignorant(self, turn: dict[str, Any], values: dict[str, Any]) -> bool:
        """Whether an answer was that they do not know."""
        return is_terminal(_signals(turn, values))

    def element_depth(self, name: str) -> float:
        """How deep an element was gone into: the longest way among its concepts, as a share of the ladder; 0 without any."""
        if name not in self._depths:
            linked = [at for at, node in enumerate(self.graph.nodes) if name in node["elements"]][
                -_MOST_LINKED:
            ]
            self._depths[name] = min(1.0, span(self.graph, linked) / len(self.graph.ladder))
        return self._depths[name]

    def gap(self, name: str, shallow: float) -> float:
        """1 for an element not mentioned, half for a shallow one, 0 else."""
        if name not in self.state["covered"]:
            return 1.0
        known = self.state["covered"][name]["by"] != "named"
        if known or not self.has_ladder:
            return 0.0
        return 0.5 if self.element_depth(name) < shallow else 0.0

    def mentions(self, label: str, lookback: int) -> int:
        """In how many of the last turns a name came up, in question or answer."""
        part = content_stems(label, self.idle)
        if not self._said:
            self._said = [
                [content_stems(turn[name], self.idle) for name in ("question", "answer")]
                for turn in self.turns
            ]
        return sum(any(within(part, said) for said in both) for both in self._said[-lookback:])

    def momenta(self, values: dict[str, Any]) -> list[float]:
        """The momentum of each of the last answers: 5 a word, 20 an elaboration, 15 a sign of joy; more where a signal shows interest."""
        if not self._momenta:
            spoken = [turn for turn in self.turns if turn["wish"] != "skip"]
            self._momenta = [_momentum(turn, values) for turn in spoken[-values["answers"] :]]
        return self._momenta


def _momentum(turn: dict[str, Any], values: dict[str, Any]) -> float:
    points: float = (
        values["word"] * turn["words"]
        + values["elaboration"] * turn["elaborations"]
        + values["enthusiasm"] * turn["enthusiasm"]
    )
    signals = _signals(turn, values)
    eager = signals.get("emotional", {}).get("intensity", "").endswith("_positive")
    thinks = signals.get("reasoning", {}).get("quality", "reactive") not in ("reactive", "associative")
    points += values["signal"] * (eager + thinks)
    return points


def _signals(turn: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = turn["signals" if values["use_llm_signals"] else "by_rule"]
    return found
