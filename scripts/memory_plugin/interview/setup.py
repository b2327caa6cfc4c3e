"""The setup of an interview, validated and frozen, so that later changes of packs and tables do not affect a running interview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from ..kernel.fastjson import loads
from ..kernel.overrides import load_overridden, override_file
from ..kernel.text.clean import plain
from .exceptions import ConfigError, InvalidAnswer
from .pack import check_pack, find_pack, read_pack
from .wording import content_stems, normalize, stem_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..kernel.settings.load import Settings
    from .answer_input import Clean

__all__ = [
    "InterviewLimits",
    "StartArguments",
    "check_scoring",
    "known_names",
    "merge_pack",
    "new_setup",
    "prepare_start",
]

_MAX_TOPIC = 200
_MAX_SOURCE = 200
_FIELDS = ("elements", "covered")
_UNKNOWN_SOURCE = "known beforehand"


class InterviewLimits(NamedTuple):
    """The user's settings: most questions, share of elements that is enough, whether a falling mood ends the interview."""

    max_turns: int
    target_coverage: float
    close_when_falling: bool


class StartArguments(NamedTuple):
    """The arguments of the command; `text` is standard input: {"elements": [...], "covered": {"element": "source"}}."""

    topic: str
    pack: str
    text: str
    covered: list[str]
    max_turns: int | None


def prepare_start(
    arguments: StartArguments, folder: str, settings: Settings, clean: Clean
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the frozen setup and the covered elements with their source; `folder` holds the user's own packs.

    Raises InvalidAnswer and ConfigError.
    """
    path = find_pack(arguments.pack, folder)
    extra = _read_extra(arguments.text)
    pack = read_pack(path)
    if "elements" in extra:
        pack = check_pack(dict(pack, elements=extra["elements"]), path)
    setup = new_setup(clean(arguments.topic, _MAX_SOURCE), pack, path, _limits(arguments, settings))
    if not setup["topic"]:
        raise InvalidAnswer("start: the topic is empty once private text is taken out")
    covered = _covered(arguments.covered, extra.get("covered"), clean)
    known = {element["id"] for element in setup["elements"]}
    unknown = [name for name in covered if name not in known]
    if unknown:
        raise InvalidAnswer(
            "covered: expected one of %s, got %r" % (", ".join(sorted(known)), unknown[0][:60])
        )
    return setup, covered


def _read_extra(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        data = loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict) or any(name not in _FIELDS for name in data):
        raise InvalidAnswer("standard input: expected a JSON object with " + " and ".join(_FIELDS))
    return {name: value for name, value in data.items() if value is not None}


def _limits(arguments: StartArguments, settings: Settings) -> InterviewLimits:
    if arguments.max_turns is not None and not 1 <= arguments.max_turns <= 200:
        raise ConfigError("--max-turns", "start", "1 to 200", arguments.max_turns)
    return InterviewLimits(
        arguments.max_turns or settings.integer("interview.max_turns"),
        settings.number("interview.target_coverage"),
        settings.flag("interview.close_when_falling"),
    )


def _covered(names: list[str], given: object, clean: Clean) -> dict[str, str]:
    pairs = [(name, source) for name, _, source in (word.partition("=") for word in names)]
    if isinstance(given, dict):
        pairs += [(str(name), str(source)) for name, source in given.items()]
    elif given is not None:
        raise InvalidAnswer("covered: expected an object that maps elements to their source")
    return {name.strip(): clean(source, _MAX_SOURCE) or _UNKNOWN_SOURCE for name, source in pairs}


def new_setup(topic: str, pack: Mapping[str, Any], place: str, limits: InterviewLimits) -> dict[str, Any]:
    """Return the frozen setup of an interview, JSON throughout; `place` is the path of the pack.

    Raises ConfigError for a pack that names something unknown, and OverrideError.
    """
    scoring = load_overridden("interview", "scoring")
    check_scoring(scoring, override_file("interview") or place)
    redundancy = stem_table(load_overridden("interview", "redundancy"))
    function_words = frozenset(redundancy["function_words"])
    groups = load_data("interview", "patterns")["groups"]
    return {
        "topic": plain(topic, _MAX_TOPIC),
        "pack": {key: pack[key] for key in ("id", "name", "types", "ladder", "terminal")},
        "elements": [
            dict(element, stems=_stems([element["label"], *element["aliases"]], function_words))
            for element in pack["elements"]
        ],
        "scoring": merge_pack(scoring, dict(pack), place),
        "redundancy": redundancy,
        "patterns": {
            name: [normalize(phrase).strip() for phrase in group["phrases"]] for name, group in groups.items()
        },
        "signals": load_overridden("interview", "signals"),
        "max_turns": limits.max_turns,
        "target_coverage": limits.target_coverage,
        "close_when_falling": limits.close_when_falling,
    }


def _stems(texts: list[str], function_words: frozenset[str]) -> list[list[str]]:
    found = [content_stems(text, function_words) for text in texts]
    return [stems for at, stems in enumerate(found) if stems and stems not in found[:at]]


def merge_pack(table: dict[str, Any], pack: dict[str, Any], place: str) -> dict[str, Any]:
    """Return the scoring table with the switches and multipliers of a pack applied. Raises ConfigError for an unknown name."""
    switches: dict[str, bool] = pack.get("strategies", {})
    strategies = [
        dict(entry, enabled=switches.get(entry["id"], entry["enabled"])) for entry in table["strategies"]
    ]
    _check_names(place, "strategies", switches, [entry["id"] for entry in strategies])
    given: dict[str, dict[str, float]] = pack.get("multipliers", {})
    merged = {phase: dict(row, **given.get(phase, {})) for phase, row in table["multipliers"].items()}
    _check_names(place, "multipliers", given, [entry["id"] for entry in table["phases"]])
    found = dict(table, strategies=strategies, multipliers=merged)
    check_scoring(found, place)
    return found


def known_names() -> dict[str, Collection[str]]:
    """Return the names that code exists for: kinds of focus, vetoes and scorers."""
    from .criteria import SCORERS, VETOES
    from .focuses import FOCUSES

    return {"focus": FOCUSES, "vetoes": VETOES, "scorers": SCORERS}


def check_scoring(table: dict[str, Any], place: str = "config/interview/scoring.json") -> None:
    """Raise ConfigError for the first unknown name in a scoring table, or the first number out of range."""
    known = known_names()
    strategies = [entry["id"] for entry in table["strategies"]]
    for entry in table["strategies"]:
        _check_names(place, "strategies.%s.focus" % entry["id"], [entry["focus"]], known["focus"])
    for part in ("vetoes", "scorers"):
        for entry in table[part]:
            key, params = "%s.%s" % (part, entry["id"]), entry["params"]
            _check_names(place, part, [entry["id"]], known[part])
            _check_names(place, key + ".exempt", entry.get("exempt", ()), strategies)
            _check_names(place, key + ".strategies", params.get("strategies", ()), strategies)
    for entry in table["scorers"]:
        _check_number(place, "scorers.%s.weight" % entry["id"], entry["weight"])
    _check_names(place, "multipliers", table["multipliers"], [entry["id"] for entry in table["phases"]])
    for phase, row in table["multipliers"].items():
        _check_names(place, "multipliers." + phase, row, strategies)
        for strategy, value in row.items():
            _check_number(place, "multipliers.%s.%s" % (phase, strategy), value)


def _check_names(place: str, key: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ConfigError(place, key, "one of " + ", ".join(known), name)


def _check_number(place: str, key: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 5:
        raise ConfigError(place, key, "a number from 0 to 5", value)
