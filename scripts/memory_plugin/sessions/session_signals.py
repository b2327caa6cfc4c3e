"""Collect a session's signals, which are counted in its transcript without a judge, and its timeline for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..kernel.judge.question import one_line
from ..kernel.transcript.reader import Reader, open_transcript
from ..kernel.transcript.turn import Totals, Turn
from .detection import Detections, signal_entries
from .detectors import DETECTORS

_WIDTH = 160


class SessionSignals(NamedTuple):
    """The detections of one session, its totals, and its calls by tool."""

    detections: Detections
    totals: Totals
    tools: dict[str, int]


def collect_signals(path: str, on_turn: Callable[[Turn], None] | None = None) -> SessionSignals:
    """Read a transcript and return its signals; `on_turn` is called with every turn.

    Raises FileNotFoundError and Unreadable, but nothing for the file's content.
    """
    detections = Detections()
    tools: dict[str, int] = {}
    with open_transcript(path) as file:
        reader = Reader(file)
        detectors = [create(detections, reader.totals) for create in DETECTORS]
        for turn in reader:
            for detector in detectors:
                detector.observe(turn)
            for call in turn.calls:
                tools[call.name] = tools.get(call.name, 0) + 1
            if on_turn is not None:
                on_turn(turn)
    for detector in detectors:
        detector.finish()
    return SessionSignals(detections, reader.totals, tools)


def signals_record(signals: SessionSignals) -> dict[str, Any]:
    """Return the signals as JSON: counts, turns, totals."""
    totals = signals.totals
    detections = signals.detections
    return {
        "session": totals.session,
        "started": totals.started,
        "ended": totals.ended,
        "client": totals.versions,
        "models": totals.models,
        "turns": totals.turns,
        "records": totals.records,
        "unreadable_records": totals.bad + totals.dropped,
        "repeated_records": totals.repeated,
        "side_chain_records": totals.side,
        "calls": sum(signals.tools.values()),
        "tools": dict(sorted(signals.tools.items(), key=lambda item: -item[1])),
        "calls_without_result": totals.unresolved,
        "api_errors": totals.api_errors,
        "compactions": totals.compactions,
        "tokens": {**totals.usage, "largest_context": totals.context, "estimated": round(totals.estimated)},
        "signals": {
            name: {"count": count, "turns": detections.turns(name)}
            for name, count in detections.counts.items()
        },
    }


class Moment(NamedTuple):
    """One line of the timeline: turn, time of day (UTC, or empty), kind, and a redacted description."""

    turn: int
    time: str
    kind: str
    what: str


class Timeline:
    """The timeline of a session; collects prompts and times while the turns are read."""

    def __init__(self) -> None:
        self._prompts: list[Moment] = []
        self._times: dict[int, str] = {}

    def add(self, turn: Turn) -> None:
        """Add the next turn."""
        self._times[turn.number] = time = turn.time[11:16]
        self._prompts += [
            Moment(turn.number, time, entry.kind, entry.text[: 10 * _WIDTH])
            for entry in turn.user_texts
            if entry.kind in ("prompt", "command")
        ]

    def moments(self, detections: Detections, max_moments: int) -> list[Moment]:
        """Return at most `max_moments` moments in order; prompts and problems take precedence over the rest."""
        entries = [entry for entry in signal_entries() if entry.get("timeline")]
        moments = self._prompts + [
            Moment(detection.turn, self._times[detection.turn], entry["timeline"], detection.what)
            for entry in entries
            for detection in detections.by_signal[entry["id"]]
        ]
        if len(moments) > max_moments:
            secondary = {entry["timeline"] for entry in entries if entry["tone"] != "bad"}
            moments.sort(key=lambda moment: moment.kind in secondary)
        selected = sorted(moments[:max_moments], key=lambda moment: moment.turn)
        return [moment._replace(what=one_line(moment.what, _WIDTH)) for moment in selected]
