"""Build the setup of an interview. It is validated and frozen at the start, because config changes must not affect a running interview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from ..kernel.fastjson import loads
from ..kernel.overrides import load_overridden, override_file
from ..kernel.text.clean import plain
from .criteria import SCORERS, VETOES
from .exceptions import ConfigError, InvalidAnswer
from .focuses import FOCUSES
from .pack import check_pack, find_pack, read_pack
from .wording import content_stems, normalize, stem_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..kernel.settings.load import Settings
    from .answer_input import Clean

_MAX_TOPIC = 200
_MAX_SOURCE = 200
_FIELDS = ("elements", "covered")
_UNKNOWN_SOURCE = "known beforehand"


class InterviewLimits(NamedTuple):
    """The limits of an interview: the number of questions, the share of covered elements (0 to 1), and whether a falling mood ends it."""

    max_turns: int
    target_coverage: float
    close_when_falling: bool


class StartArguments(NamedTuple):
    """The arguments of `memory interview start`.

    `text` is standard input: {"elements": [...], "covered": {"element": "source"}}, or empty. `covered` lists elements as NAME=SOURCE.
    """

    topic: str
    pack: str
    text: str
    covered: list[str]
    max_turns: int | None


def prepare_start(
    arguments: StartArguments, folder: str, settings: Settings, clean: Clean
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the frozen setup, and the covered elements with their source. `folder` holds the user's own packs.

    Raises InvalidAnswer and ConfigError.
    """
    path = find_pack(arguments.pack, folder)
    extra = _read_extra(arguments.text)
    pack = read_pack(path)
    if "elements" in extra:
        pack = check_pack(dict(pack, elements=extra["elements"]), path)
    setup = new_setup(clean(arguments.topic, _MAX_TOPIC), pack, path, _limits(arguments, settings))
    if not setup["topic"]:
        raise InvalidAnswer(
            "start: nothing is left of the topic after private text was removed; name it in other words"
        )
    covered = _covered(arguments.covered, extra.get("covered"), clean)
    elements = {element["id"] for element in setup["elements"]}
    unknown = [name for name in covered if name not in elements]
    if unknown:
        raise InvalidAnswer(
            "covered: expected one of %s, got %r" % (", ".join(sorted(elements)), unknown[0][:60])
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


def _covered(options: list[str], extra: object, clean: Clean) -> dict[str, str]:
    """Return the covered elements of the options (NAME=SOURCE) and of standard input, with their source."""
    sources: dict[str, str] = {}
    for option in options:
        name, _, source = option.partition("=")
        sources[name.strip()] = source
    if isinstance(extra, dict):
        sources.update((str(name).strip(), str(source)) for name, source in extra.items())
    elif extra is not None:
        raise InvalidAnswer("covered: expected an object that maps elements to their source")
    return {name: clean(source, _MAX_SOURCE) or _UNKNOWN_SOURCE for name, source in sources.items()}


def new_setup(topic: str, pack: Mapping[str, Any], source: str, limits: InterviewLimits) -> dict[str, Any]:
    """Return the frozen setup of an interview as plain JSON values; `source` is the pack's path.

    Raises ConfigError for a pack or a scoring table that names something unknown, and OverrideError.
    """
    scoring = load_overridden("interview", "scoring")
    check_scoring(scoring, override_file("interview") or source)
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
        "scoring": merge_pack(scoring, dict(pack), source),
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
    """Return the stems of each text, without duplicates and empty ones."""
    unique: list[list[str]] = []
    for text in texts:
        stems = content_stems(text, function_words)
        if stems and stems not in unique:
            unique.append(stems)
    return unique


def merge_pack(table: dict[str, Any], pack: dict[str, Any], source: str) -> dict[str, Any]:
    """Return the scoring table with a pack's switches and multipliers applied. Raises ConfigError for an unknown name."""
    switches: dict[str, bool] = pack.get("strategies", {})
    changes: dict[str, dict[str, float]] = pack.get("multipliers", {})
    _check_names(source, "strategies", switches, [entry["id"] for entry in table["strategies"]])
    _check_names(source, "multipliers", changes, [entry["id"] for entry in table["phases"]])
    merged = {
        **table,
        "strategies": [
            {**entry, "enabled": switches.get(entry["id"], entry["enabled"])} for entry in table["strategies"]
        ],
        "multipliers": {
            phase: {**row, **changes.get(phase, {})} for phase, row in table["multipliers"].items()
        },
    }
    check_scoring(merged, source)
    return merged


def check_scoring(table: dict[str, Any], source: str = "config/interview/scoring.json") -> None:
    """Raise ConfigError for the first unknown name or invalid number in a scoring table."""
    strategies = [entry["id"] for entry in table["strategies"]]
    for entry in table["strategies"]:
        _check_names(source, "strategies.%s.focus" % entry["id"], [entry["focus"]], FOCUSES)
    for part, functions in (("vetoes", VETOES), ("scorers", SCORERS)):
        for entry in table[part]:
            key, params = "%s.%s" % (part, entry["id"]), entry["params"]
            _check_names(source, part, [entry["id"]], list(functions))
            _check_names(source, key + ".exempt", entry.get("exempt", ()), strategies)
            _check_names(source, key + ".strategies", params.get("strategies", ()), strategies)
    for entry in table["scorers"]:
        _check_number(source, "scorers.%s.weight" % entry["id"], entry["weight"])
    _check_names(source, "multipliers", table["multipliers"], [entry["id"] for entry in table["phases"]])
    for phase, row in table["multipliers"].items():
        _check_names(source, "multipliers." + phase, row, strategies)
        for strategy, value in row.items():
            _check_number(source, "multipliers.%s.%s" % (phase, strategy), value)


def _check_names(source: str, key: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ConfigError(source, key, "one of " + ", ".join(known), name)


def _check_number(source: str, key: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 5:
        raise ConfigError(source, key, "a number from 0 to 5", value)
