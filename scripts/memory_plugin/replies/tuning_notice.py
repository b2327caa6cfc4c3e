"""When a look at `memory tune` is worth it: a week after the last one, with enough judged replies since. Said once, never done."""

from __future__ import annotations

from ..kernel.clock import now
from ..kernel.files import Unreadable, make_folder, read_regular, replace_file
from ..kernel.native import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["count_judged", "due_tuning", "tuning_done"]

_FILE = "tuning.json"
_MAX_BYTES = 4096
_WEEK = 7 * 86400
_ENOUGH = 20


def _read(places: Places) -> dict[str, float]:
    try:
        value = loads(read_regular(places.state(_FILE), _MAX_BYTES)[0].decode("ascii"))
    except (FileNotFoundError, Unreadable, ValueError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {name: float(number) for name, number in value.items() if isinstance(number, (int, float))}


def _write(places: Places, value: dict[str, float]) -> None:
    make_folder(places.state())
    replace_file(places.state(_FILE), dumps(value).encode("ascii"), durable=False)


def count_judged(places: Places) -> None:
    """Count one more judged reply; of two at once one may be lost, which delays a hint. Raises OSError."""
    noted = _read(places)
    _write(places, {"since": now(), "said": 0, **noted, "judged": noted.get("judged", 0) + 1})


def tuning_done(places: Places) -> None:
    """Begin anew after a look. Raises OSError."""
    _write(places, {"since": now(), "said": 0, "judged": 0})


def due_tuning(places: Places) -> str:
    """One line for the user, the first time that a look is due; else an empty text."""
    noted = _read(places)
    if noted.get("judged", 0) < _ENOUGH or now() - noted.get("since", now()) < _WEEK or noted.get("said"):
        return ""
    try:
        _write(places, {**noted, "said": 1})
    except OSError:
        return ""
    return (
        "memory: %d replies were judged in the last weeks; `/memory:tune` shows what that says about the rules"
        % noted["judged"]
    )
