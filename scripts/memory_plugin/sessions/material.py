"""What the scorer is shown of a session: every turn shortened, redacted, numbered; in parts when it is long."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.judge.material import excerpt, line
from ..kernel.native import dumps
from ..kernel.transcript.size import tokens_of
from .data import load_table
from .detectors.errors import cause_of, main_argument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.transcript.turn import Call, Turn
    from .signals import Signals

__all__ = ["Chunk", "Digest", "Shown", "chunks", "facts"]

_MOST_TURNS_NAMED = 20


class Shown(NamedTuple):
    """One turn as it is shown, with its estimated tokens."""

    turn: dict[str, Any]
    tokens: float


class Chunk(NamedTuple):
    """Some turns in a row."""

    turns: list[dict[str, Any]]
    tokens: float


class Digest:
    """The turns of a session as they go by; above a bound the middle is thinned out, so that memory stays flat.

    `task` is what was asked first; `left_out` counts turns that are not shown.
    """

    def __init__(self, most_tokens: float | None = None) -> None:
        table = load_table("material")
        self._room: dict[str, int] = table["characters"]
        self._most = most_tokens or table["thinning"]["most_tokens"]
        self._ends: float = table["thinning"]["ends"]
        self._calls: int = table["calls_per_turn"]
        self.task = ""
        self.shown: list[Shown] = []
        self.tokens = 0.0
        self.left_out = 0

    def add(self, turn: Turn) -> None:
        """Take the next turn."""
        entry = self._entry(turn)
        if not self.task and entry.get("user"):
            self.task = excerpt(
                "\n".join(said.text for said in turn.said if said.kind in ("prompt", "command")),
                self._room["task"],
            )
        shown = Shown(entry, tokens_of(dumps(entry)))
        self.shown.append(shown)
        self.tokens += shown.tokens
        if self.tokens > self._most:
            self._thin()

    def _entry(self, turn: Turn) -> dict[str, Any]:
        entry: dict[str, Any] = {"turn": turn.number}
        said = [
            ("" if said.kind in ("prompt", "command") else "[%s] " % said.kind) + said.text
            for said in turn.said
            if said.kind != "local"
        ]
        if said:
            entry["user"] = excerpt("\n".join(said), self._room["prompt"])
        if turn.texts:
            entry["reply"] = excerpt("\n".join(turn.texts), self._room["reply"])
        if turn.calls:
            entry["calls"] = [self._call(call, turn.version) for call in turn.calls[: self._calls]]
        if len(turn.calls) > self._calls:
            entry["more_calls"] = len(turn.calls) - self._calls
        return entry

    def _call(self, call: Call, version: str) -> dict[str, Any]:
        shown: dict[str, Any] = {"tool": line(call.name, 80)}
        argument = main_argument(call)
        if argument:
            shown["input"] = excerpt(argument, self._room["argument"])
        cause = cause_of(call, version)
        if call.result is None:
            shown["result"] = None
        elif cause:
            shown["error"] = excerpt(call.result, self._room["error"])
            shown["cause"] = cause
        else:
            shown["result"] = excerpt(call.result, self._room["result"])
        return shown

    def _thin(self) -> None:
        """Leave out every other turn of the middle."""
        end = int(len(self.shown) * self._ends)
        middle = self.shown[end : len(self.shown) - end]
        dropped = middle[1::2]
        self.shown = self.shown[:end] + middle[::2] + self.shown[len(self.shown) - end :]
        self.left_out += len(dropped)
        self.tokens -= sum(shown.tokens for shown in dropped)


def chunks(shown: Sequence[Shown], threshold: float, target: float) -> list[Chunk]:
    """The turns in one chunk, or, above `threshold` tokens, in chunks near `target`, all of about one size, cut between turns."""
    total = sum(one.tokens for one in shown)
    if total <= threshold:
        return [Chunk([one.turn for one in shown], total)]
    size = total / math.ceil(total / target)
    found: list[Chunk] = []
    turns: list[dict[str, Any]] = []
    tokens = before = 0.0
    for one in shown:
        border = size * (len(found) + 1)
        if turns and before + one.tokens / 2 > border:
            found.append(Chunk(turns, tokens))
            turns, tokens = [], 0.0
        turns.append(one.turn)
        tokens += one.tokens
        before += one.tokens
    return [*found, Chunk(turns, tokens)]


def facts(signals: Signals) -> dict[str, Any]:
    """The sums and the signals as evidence for a judge: counts and turns, no texts."""
    totals, seen = signals.totals, signals.sightings
    labels = {entry["id"]: entry for entry in load_table("signals")["signals"]}
    return {
        "turns": totals.turns,
        "calls": sum(signals.tools.values()),
        "tokens_out": totals.usage["output_tokens"],
        "largest_context": totals.context,
        "signals": [
            {
                "dimension": labels[name]["dimension"],
                "signal": labels[name]["label"],
                "count": count,
                "turns": seen.turns(name)[:_MOST_TURNS_NAMED],
            }
            for name, count in seen.counts.items()
            if count
        ],
    }
