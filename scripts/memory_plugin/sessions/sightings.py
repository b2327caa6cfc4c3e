"""What the detectors report: which signal, at which turn, and in a few words what was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from ..kernel.transcript.turn import Turn

__all__ = ["Detector", "Note", "Sighting", "Sightings"]

_MOST = 500  # of one signal that are kept with their turns; all are counted
_LONGEST = 160


class Sighting(NamedTuple):
    """One signal at one turn."""

    turn: int
    what: str


class Sightings:
    """All sightings by signal, in order; `counts` holds how many, also where not all are kept."""

    def __init__(self, names: list[str]) -> None:
        self.counts = dict.fromkeys(names, 0)
        self.seen: dict[str, list[Sighting]] = {name: [] for name in names}

    def note(self, name: str, turn: int, what: str = "") -> None:
        """Report a signal. Raises KeyError for one that `signals.json` does not name."""
        self.counts[name] += 1
        if len(self.seen[name]) < _MOST:
            self.seen[name].append(Sighting(turn, " ".join(what[: 2 * _LONGEST].split())[:_LONGEST]))

    def turns(self, name: str) -> list[int]:
        """The turns of a signal, each once, in order."""
        return sorted({sighting.turn for sighting in self.seen[name]})


class Note(Protocol):
    """How a detector reports."""

    def __call__(self, name: str, turn: int, what: str = "") -> None:
        """Report a signal."""


class Detector(Protocol):
    """Something that looks at one turn after the other and remembers what it needs."""

    def see(self, turn: Turn, note: Note) -> None:
        """Look at the next turn."""

    def finish(self, note: Note) -> None:
        """Report what only the end of the session tells."""
