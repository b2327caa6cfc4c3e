"""What an interview goes by: the tables of `config/interview/`, checked, and frozen into the interview when it starts.

Everything named there must be known here: an unknown scorer, veto, strategy, focus kind or phase is an error, never skipped in silence.
"""

from __future__ import annotations

from ..kernel.native import loads
from ..kernel.paths import data_path
from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

__all__ = ["check_scoring", "known_names", "load_table", "with_pack"]


def load_table(name: str) -> dict[str, Any]:
    """A table of `config/interview/`, such as "scoring". Raises ConfigError for what is no JSON object."""
    path = data_path("interview", name + ".json")
    try:
        with open(path, encoding="utf-8") as handle:
            table = loads(handle.read())
    except ValueError:
        raise ConfigError(path, "the file", "JSON", "another text") from None
    if not isinstance(table, dict):
        raise ConfigError(path, "the file", "an object", table)
    return table


def known_names() -> dict[str, Collection[str]]:
    """The names that code exists for: focus kinds, vetoes and scorers."""
    from .focuses import FOCUSES
    from .scorers import SCORERS
    from .vetoes import VETOES

    return {"focus": FOCUSES, "vetoes": VETOES, "scorers": SCORERS}


def check_scoring(table: dict[str, Any], place: str = "config/interview/scoring.json") -> None:
    """Raise ConfigError for the first name in a scoring table that is unknown, and the first number out of range."""
    known = known_names()
    strategies = [entry["id"] for entry in table["strategies"]]
    phases = [entry["id"] for entry in table["phases"]]
    for entry in table["strategies"]:
        _one_of(place, "strategies.%s.focus" % entry["id"], entry["focus"], known["focus"])
    for part in ("vetoes", "scorers"):
        for entry in table[part]:
            _one_of(place, part, entry["id"], known[part])
            _each_of(place, "%s.%s.exempt" % (part, entry["id"]), entry.get("exempt", ()), strategies)
            _each_of(
                place,
                "%s.%s.strategies" % (part, entry["id"]),
                entry["params"].get("strategies", ()),
                strategies,
            )
    for entry in table["scorers"]:
        _number(place, "scorers.%s.weight" % entry["id"], entry["weight"])
    _each_of(place, "multipliers", table["multipliers"], phases)
    for phase, row in table["multipliers"].items():
        _each_of(place, "multipliers." + phase, row, strategies)
        for strategy, value in row.items():
            _number(place, "multipliers.%s.%s" % (phase, strategy), value)


def _each_of(place: str, key: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        _one_of(place, key, name, known)


def _one_of(place: str, key: str, name: object, known: Collection[str]) -> None:
    if name not in known:
        raise ConfigError(place, key, "one of " + ", ".join(known), name)


def _number(place: str, key: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 5:
        raise ConfigError(place, key, "a number from 0 to 5", value)


def with_pack(table: dict[str, Any], pack: dict[str, Any], place: str) -> dict[str, Any]:
    """The scoring table with a pack's switches and multipliers put over it. Raises ConfigError for a name that is unknown."""
    switches: dict[str, bool] = pack.get("strategies", {})
    strategies = [
        dict(entry, enabled=switches.get(entry["id"], entry["enabled"])) for entry in table["strategies"]
    ]
    _each_of(place, "strategies", switches, [entry["id"] for entry in strategies])
    given: dict[str, dict[str, float]] = pack.get("multipliers", {})
    merged = {phase: dict(row, **given.get(phase, {})) for phase, row in table["multipliers"].items()}
    _each_of(place, "multipliers", given, [entry["id"] for entry in table["phases"]])
    found = dict(table, strategies=strategies, multipliers=merged)
    check_scoring(found, place)
    return found
