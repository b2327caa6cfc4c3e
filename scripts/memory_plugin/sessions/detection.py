"""Define what detectors share: the table of signals, the patterns, and the reporting of detections.

To add a detector, write a subclass of Detector in `detectors/`, add it to DETECTORS in `session_signals.py`, and give each of its
signals an entry in `config/sessions/signals.json`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..kernel.data import load_data

if TYPE_CHECKING:
    from ..kernel.transcript.turn import Turn

_MAX_STORED = 500  # detections of one signal; all are counted
_MAX_TEXT = 160


@cache
def signal_entries() -> list[dict[str, Any]]:
    """Return the signals of `config/sessions/signals.json`, in the order of the report."""
    entries: list[dict[str, Any]] = load_data("sessions", "signals")["signals"]
    return entries


@cache
def _pattern_texts() -> dict[str, str]:
    return {entry["id"]: entry["pattern"] for entry in load_data("sessions", "patterns")["patterns"]}


@cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a compiled pattern of `config/sessions/patterns.json`. Raises KeyError for an unknown id."""
    return re.compile(_pattern_texts()[name], re.IGNORECASE | re.MULTILINE)


class Detection(NamedTuple):
    """One signal at one turn, with a short description."""

    turn: int
    what: str


class Detections:
    """All detections by signal, in order; `counts` also counts those that are not stored."""

    def __init__(self, names: list[str]) -> None:
        self.counts = dict.fromkeys(names, 0)
        self.by_signal: dict[str, list[Detection]] = {name: [] for name in names}

    def report(self, name: str, turn: int, what: str = "") -> None:
        """Record a detection. Raises KeyError for a signal that is not in `signals.json`."""
        self.counts[name] += 1
        if len(self.by_signal[name]) < _MAX_STORED:
            self.by_signal[name].append(Detection(turn, " ".join(what[: 2 * _MAX_TEXT].split())[:_MAX_TEXT]))

    def turns(self, name: str) -> list[int]:
        """Return a signal's turns in order, without duplicates."""
        return sorted({detection.turn for detection in self.by_signal[name]})


class ReportSignal(Protocol):
    """The function with which a detector reports a detection."""

    def __call__(self, name: str, turn: int, what: str = "") -> None:
        """Record a detection."""


class Detector(ABC):
    """Base class of detectors, which observe the turns in order and keep the state that they need."""

    @abstractmethod
    def observe(self, turn: Turn, report: ReportSignal) -> None:
        """Observe the next turn."""

    def finish(self, report: ReportSignal) -> None:  # noqa: B027 (optional)
        """Report findings that are only known at the end of the session; none by default."""
