"""What a start is given: topic, pack, elements of the user's own, and what is known before the first question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.native import loads
from .errors import BadInput, ConfigError
from .pack import check_pack, find_pack, read_pack
from .setup import Terms, new_setup

if TYPE_CHECKING:
    from ..kernel.settings.load import Settings
    from .intake import Clean

__all__ = ["Given", "prepared"]

_FIELDS = ("elements", "covered")
_MAX_SOURCE = 200
_KNOWN = "known beforehand"


class Given(NamedTuple):
    """What the command line was told; `text` is standard input: {"elements": [...], "covered": {"element": "where from"}}."""

    topic: str
    pack: str
    text: str
    covered: list[str]
    max_turns: int | None


def prepared(
    given: Given, folder: str, settings: Settings, clean: Clean
) -> tuple[dict[str, Any], dict[str, str]]:
    """The frozen set-up and what is covered already. `folder` holds the user's own packs. Raises BadInput and ConfigError."""
    path = find_pack(given.pack, folder)
    extra = _extra(given.text)
    pack = _with_elements(read_pack(path), extra.get("elements"), path)
    setup = new_setup(clean(given.topic, _MAX_SOURCE), pack, path, _terms(given, settings))
    if not setup["topic"]:
        raise BadInput("start: nothing is left of the topic once private text is taken out")
    covered = _covered(given.covered, extra.get("covered"), clean)
    known = {element["id"] for element in setup["elements"]}
    unknown = [name for name in covered if name not in known]
    if unknown:
        raise BadInput("covered: expected one of %s, got %r" % (", ".join(sorted(known)), unknown[0][:60]))
    return setup, covered


def _extra(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        data = loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict) or any(name not in _FIELDS for name in data):
        raise BadInput("standard input: expected a JSON object with " + " and ".join(_FIELDS))
    return data


def _with_elements(pack: dict[str, Any], elements: object, path: str) -> dict[str, Any]:
    """The pack with the elements of this interview instead of its own, where there are any."""
    return check_pack(dict(pack, elements=elements), path) if elements is not None else pack


def _terms(given: Given, settings: Settings) -> Terms:
    most = settings.integer("interview.max_turns")
    if given.max_turns is not None and not 1 <= given.max_turns <= 200:
        raise ConfigError("--max-turns", "start", "1 to 200", given.max_turns)
    return Terms(
        given.max_turns or most,
        settings.number("interview.target_coverage"),
        settings.flag("interview.close_when_falling"),
    )


def _covered(names: list[str], given: object, clean: Clean) -> dict[str, str]:
    pairs = [name.partition("=") for name in names]
    found = {name.strip(): clean(source, _MAX_SOURCE) or _KNOWN for name, _, source in pairs}
    if isinstance(given, dict):
        found.update({str(name): clean(str(source), _MAX_SOURCE) or _KNOWN for name, source in given.items()})
    elif given is not None:
        raise BadInput("covered: expected an object, element to where it is known from")
    return found
