"""Prepare a session for a scorer: shorten, redact and number every turn, and split a long session into parts."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.fastjson import dumps
from ..kernel.judge.excerpts import excerpt, one_line
from ..kernel.overrides import load_or_shipped
from ..kernel.transcript.content import tokens_of
from .detection import failure_cause, main_argument, signal_entries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.transcript.turn import Call, Turn
    from .session_signals import SessionSignals

_MAX_TURNS_NAMED = 20


class ShownTurn(NamedTuple):
    """One turn as a scorer sees it, with its estimated tokens."""

    turn: dict[str, Any]
    tokens: float


class Chunk(NamedTuple):
    """Some consecutive turns."""

    turns: list[dict[str, Any]]
    tokens: float


@cache
def display_limits() -> dict[str, Any]:
    """Return `config/sessions/material.json`: how much of a session a scorer sees."""
    return load_or_shipped("sessions", "material")


class TranscriptDigest:
    """Collects the turns of a session while they are read; above a limit it thins out the middle, so that memory stays bounded.

    `task` is the user's first request; `left_out` counts the turns that were dropped.
    """

    def __init__(self, max_tokens: float | None = None) -> None:
        limits = display_limits()
        self._max_characters: dict[str, int] = limits["characters"]
        self._max_tokens = max_tokens or limits["thinning"]["most_tokens"]
        self._ends: float = limits["thinning"]["ends"]
        self._max_calls: int = limits["calls_per_turn"]
        self.task = ""
        self.shown: list[ShownTurn] = []
        self.tokens = 0.0
        self.left_out = 0

    def add(self, turn: Turn) -> None:
        """Add the next turn."""
        entry = self._entry(turn)
        if not self.task and entry.get("user"):
            requests = [entry.text for entry in turn.user_texts if entry.kind in ("prompt", "command")]
            self.task = excerpt("\n".join(requests), self._max_characters["task"])
        shown = ShownTurn(entry, tokens_of(dumps(entry)))
        self.shown.append(shown)
        self.tokens += shown.tokens
        if self.tokens > self._max_tokens:
            self._thin()

    def _entry(self, turn: Turn) -> dict[str, Any]:
        entry: dict[str, Any] = {"turn": turn.number}
        texts = [
            ("" if message.kind in ("prompt", "command") else "[%s] " % message.kind) + message.text
            for message in turn.user_texts
            if message.kind != "local"
        ]
        if texts:
            entry["user"] = excerpt("\n".join(texts), self._max_characters["prompt"])
        if turn.texts:
            entry["reply"] = excerpt("\n".join(turn.texts), self._max_characters["reply"])
        if turn.calls:
            entry["calls"] = [self._call(call, turn.version) for call in turn.calls[: self._max_calls]]
        if len(turn.calls) > self._max_calls:
            entry["more_calls"] = len(turn.calls) - self._max_calls
        return entry

    def _call(self, call: Call, version: str) -> dict[str, Any]:
        shown: dict[str, Any] = {"tool": one_line(call.name, 80)}
        argument = main_argument(call)
        if argument:
            shown["input"] = excerpt(argument, self._max_characters["argument"])
        cause = failure_cause(call, version)
        if call.result is None:
            shown["result"] = None
        elif cause:
            shown["error"] = excerpt(call.result, self._max_characters["error"])
            shown["cause"] = cause
        else:
            shown["result"] = excerpt(call.result, self._max_characters["result"])
        return shown

    def _thin(self) -> None:
        """Drop every other turn of the middle."""
        end = int(len(self.shown) * self._ends)
        middle = self.shown[end : len(self.shown) - end]
        dropped = middle[1::2]
        self.shown = self.shown[:end] + middle[::2] + self.shown[len(self.shown) - end :]
        self.left_out += len(dropped)
        self.tokens -= sum(shown.tokens for shown in dropped)


def split_turns(shown: Sequence[ShownTurn], threshold: float, target: float) -> list[Chunk]:
    """Split turns into chunks of equal size near `target` tokens; up to `threshold` tokens they are one chunk."""
    total = sum(entry.tokens for entry in shown)
    if total <= threshold:
        return [Chunk([entry.turn for entry in shown], total)]
    size = total / math.ceil(total / target)
    chunks: list[Chunk] = []
    turns: list[dict[str, Any]] = []
    tokens = before = 0.0
    for entry in shown:
        boundary = size * (len(chunks) + 1)
        if turns and before + entry.tokens / 2 > boundary:
            chunks.append(Chunk(turns, tokens))
            turns, tokens = [], 0.0
        turns.append(entry.turn)
        tokens += entry.tokens
        before += entry.tokens
    return [*chunks, Chunk(turns, tokens)]


def signal_facts(signals: SessionSignals) -> dict[str, Any]:
    """Return the totals and signals as evidence for a scorer: counts and turns, no text."""
    totals, detections = signals.totals, signals.detections
    entries = {entry["id"]: entry for entry in signal_entries()}
    return {
        "turns": totals.turns,
        "calls": sum(signals.tools.values()),
        "tokens_out": totals.usage["output_tokens"],
        "largest_context": totals.context,
        "signals": [
            {
                "dimension": entries[name]["dimension"],
                "signal": entries[name]["label"],
                "count": count,
                "turns": detections.turns(name)[:_MAX_TURNS_NAMED],
            }
            for name, count in detections.counts.items()
            if count
        ],
    }
