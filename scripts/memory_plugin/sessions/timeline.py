"""The course of a session for people: what was asked, and where something went well or wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..kernel.judge.material import line
from .data import load_table

if TYPE_CHECKING:
    from ..kernel.transcript.turn import Turn
    from .sightings import Sightings

__all__ = ["Moment", "Timeline"]

_MOST_PROMPTS = 500
_MOST_TIMES = 200_000
_WIDTH = 160


class Moment(NamedTuple):
    """One line: turn, time of day (UTC, empty where unknown), what kind of thing, and a few redacted words."""

    turn: int
    time: str
    kind: str
    what: str


class Timeline:
    """Prompts and times while the turns go by."""

    def __init__(self) -> None:
        self._prompts: list[Moment] = []
        self._times: dict[int, str] = {}

    def add(self, turn: Turn) -> None:
        """Take the next turn."""
        time = turn.time[11:16]
        if time and len(self._times) < _MOST_TIMES:
            self._times[turn.number] = time
        for said in turn.said:
            if said.kind in ("prompt", "command") and len(self._prompts) < _MOST_PROMPTS:
                self._prompts.append(Moment(turn.number, time, said.kind, said.text[: 10 * _WIDTH]))

    def moments(self, sightings: Sightings, most: int) -> list[Moment]:
        """The moments in their order, at most so many; prompts and errors go before the rest when there are more."""
        found = list(self._prompts)
        for entry in load_table("signals")["signals"]:
            if "timeline" in entry:
                found += [
                    Moment(s.turn, self._times.get(s.turn, ""), entry["timeline"], s.what)
                    for s in sightings.seen[entry["id"]]
                ]
        if len(found) > most:
            plain = {
                entry["timeline"]
                for entry in load_table("signals")["signals"]
                if entry.get("timeline") and entry["tone"] != "bad"
            }
            found.sort(key=lambda moment: moment.kind in plain)
        shown = sorted(found[:most], key=lambda moment: moment.turn)
        return [moment._replace(what=line(moment.what, _WIDTH)) for moment in shown]
