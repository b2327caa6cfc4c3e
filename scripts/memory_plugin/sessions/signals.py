"""Signals: what can be seen in a transcript without asking anybody, each with its turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.transcript.reader import Reader, open_transcript
from .data import load_table
from .detectors.commands import Commands
from .detectors.errors import Errors
from .detectors.files import Files
from .detectors.people import People
from .detectors.planning import Planning
from .sightings import Sightings

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..kernel.transcript.totals import Totals
    from ..kernel.transcript.turn import Turn
    from .sightings import Detector

__all__ = ["DETECTORS", "Signals", "collect", "record"]

DETECTORS: dict[str, Callable[[], Detector]] = {
    "errors": Errors,
    "files": Files,
    "commands": Commands,
    "people": People,
    "planning": Planning,
}


class Signals(NamedTuple):
    """What was seen in one session: sightings by signal, sums, and calls by tool."""

    sightings: Sightings
    totals: Totals
    tools: dict[str, int]


def collect(path: str, each: Callable[[Turn], None] | None = None) -> Signals:
    """The signals of a transcript; `each` is called with every turn while it goes by.

    Raises FileNotFoundError and Unreadable, never for what the file holds.
    """
    sightings = Sightings([entry["id"] for entry in load_table("signals")["signals"]])
    detectors = [make() for make in DETECTORS.values()]
    people = next(detector for detector in detectors if isinstance(detector, People))
    tools: dict[str, int] = {}
    with open_transcript(path) as file:
        reader = Reader(file)
        for turn in reader:
            people.folder = reader.totals.folder
            for detector in detectors:
                detector.see(turn, sightings.note)
            for call in turn.calls:
                if call.name in tools or len(tools) < 200:
                    tools[call.name] = tools.get(call.name, 0) + 1
            if each is not None:
                each(turn)
    for detector in detectors:
        detector.finish(sightings.note)
    return Signals(sightings, reader.totals, tools)


def record(signals: Signals) -> dict[str, Any]:
    """The signals for programs: counts, turns, sums."""
    totals = signals.totals
    seen = signals.sightings
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
        "signals": {name: {"count": count, "turns": seen.turns(name)} for name, count in seen.counts.items()},
    }
