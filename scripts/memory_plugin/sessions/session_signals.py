"""Collect a session's signals, which are counted in its transcript without a judge, and its timeline for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.judge.excerpts import one_line
from ..kernel.transcript.reader import Reader, open_transcript
from .detection import Detections, signal_entries
from .detectors.failed_calls import FailureDetector
from .detectors.file_reads import FileDetector
from .detectors.people import PeopleDetector
from .detectors.tool_choice import CommandDetector, PlanningDetector

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..kernel.transcript.turn import Totals, Turn
    from .detection import Detector

_MAX_TOOLS = 200  # tools with a count of their own
_MAX_PROMPTS = 500
_MAX_TIMES = 200_000
_WIDTH = 160
DETECTORS: dict[str, Callable[[], Detector]] = {
    "errors": FailureDetector,
    "files": FileDetector,
    "commands": CommandDetector,
    "people": PeopleDetector,
    "planning": PlanningDetector,
}


class SessionSignals(NamedTuple):
    """The detections of one session, its totals, and its calls by tool."""

    detections: Detections
    totals: Totals
    tools: dict[str, int]


def collect_signals(path: str, on_turn: Callable[[Turn], None] | None = None) -> SessionSignals:
    """Read a transcript and return its signals; `on_turn` is called with every turn.

    Raises FileNotFoundError and Unreadable, but nothing for the file's content.
    """
    detections = Detections([entry["id"] for entry in signal_entries()])
    detectors = [create() for create in DETECTORS.values()]
    people = next(detector for detector in detectors if isinstance(detector, PeopleDetector))
    tools: dict[str, int] = {}
    with open_transcript(path) as file:
        reader = Reader(file)
        for turn in reader:
            people.folder = reader.totals.folder
            for detector in detectors:
                detector.observe(turn, detections.report)
            for call in turn.calls:
                if call.name in tools or len(tools) < _MAX_TOOLS:
                    tools[call.name] = tools.get(call.name, 0) + 1
            if on_turn is not None:
                on_turn(turn)
    for detector in detectors:
        detector.finish(detections.report)
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
        time = turn.time[11:16]
        if time and len(self._times) < _MAX_TIMES:
            self._times[turn.number] = time
        for entry in turn.user_texts:
            if entry.kind in ("prompt", "command") and len(self._prompts) < _MAX_PROMPTS:
                self._prompts.append(Moment(turn.number, time, entry.kind, entry.text[: 10 * _WIDTH]))

    def moments(self, detections: Detections, max_moments: int) -> list[Moment]:
        """Return at most `max_moments` moments in order; prompts and problems take precedence over the rest."""
        entries = [entry for entry in signal_entries() if entry.get("timeline")]
        moments = list(self._prompts)
        for entry in entries:
            moments += [
                Moment(detection.turn, self._times.get(detection.turn, ""), entry["timeline"], detection.what)
                for detection in detections.by_signal[entry["id"]]
            ]
        if len(moments) > max_moments:
            secondary = {entry["timeline"] for entry in entries if entry["tone"] != "bad"}
            moments.sort(key=lambda moment: moment.kind in secondary)
        selected = sorted(moments[:max_moments], key=lambda moment: moment.turn)
        return [moment._replace(what=one_line(moment.what, _WIDTH)) for moment in selected]
