"""The user's own changes to a feature's numbers and texts: `<config folder>/memory/overrides/FEATURE.json`.

The shipped tables are in the plugin's folder, which an update replaces. An override names only what differs; `config/overrides.json` says
what may differ and within which bounds. A file with one invalid entry is not used at all, so that changes are never applied partly.
"""

from __future__ import annotations

import os

from .data import load_data
from .fastjson import loads
from .files import Unreadable, error_text, read_regular
from .paths import config_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    _Rules = list[tuple[list[str], object]]

_MAX_BYTES = 1 << 18
_MAX_TEXT = 4000  # characters of a text or of one line
_MAX_LINES = 200


class OverrideError(RuntimeError):
    """Raised for an override that cannot be used; the text names the file, the key, the expected value and the one found."""

    def __init__(self, path: str, key: str, expected: str, got: object) -> None:
        text = repr(got)
        super().__init__(
            "%s: %s: expected %s, got %s"
            % (path, key, expected, text if len(text) <= 80 else text[:77] + "...")
        )


def overridable() -> dict[str, Any]:
    """Return the tables that may be overridden, by feature and part: the file, reason and paths of each."""
    features: dict[str, Any] = load_data("overrides")["features"]
    return features


def override_file(feature: str) -> str | None:
    """Return the path of the user's overrides of a feature; None without a config folder."""
    config = config_folder()
    return None if config is None else os.path.join(config, "memory", "overrides", feature + ".json")


def load_overridden(feature: str, part: str) -> dict[str, Any]:
    """Return a table with the user's overrides applied. Raises OverrideError."""
    path = override_file(feature)
    if path is None or not os.path.lexists(path):
        return _shipped(feature, part)
    changes = _read(path, feature)
    return _merged(path, feature, part, changes[part]) if part in changes else _shipped(feature, part)


def load_or_shipped(feature: str, part: str) -> dict[str, Any]:
    """Return a table with the user's overrides, or as shipped when they are invalid.

    A hook never fails over them; `memory doctor` and `memory config check` name the problem.
    """
    try:
        return load_overridden(feature, part)
    except OverrideError:
        return _shipped(feature, part)


def check_overrides(feature: str) -> dict[str, dict[str, Any]]:
    """Return the merged tables of the parts that the user changed. Raises OverrideError for the first problem."""
    path = override_file(feature)
    if path is None or not os.path.lexists(path):
        return {}
    return {part: _merged(path, feature, part, value) for part, value in _read(path, feature).items()}


def override_problems() -> list[str]:
    """Return the first problem of each of the user's override files that has one."""
    problems = []
    for feature in overridable():
        try:
            check_overrides(feature)
        except OverrideError as error:
            problems.append(str(error))
    return problems


def _shipped(feature: str, part: str) -> dict[str, Any]:
    # Without an override file, the common case, `config/overrides.json` need not be read: a part's file has the part's name.
    if part == "prompt":
        return load_data(*overridable()[feature][part]["file"])
    return load_data(feature, part)


def _read(path: str, feature: str) -> dict[str, Any]:
    """Return the user's file. All its parts are checked, not only the one that is needed now. Raises OverrideError."""
    try:
        override = loads(read_regular(path, _MAX_BYTES, follow=True)[0].decode("utf-8-sig"))
    except (OSError, Unreadable) as error:
        raise OverrideError(path, "the file", "a readable file", error_text(error)) from None
    except ValueError:
        raise OverrideError(path, "the file", "JSON in UTF-8", "other text") from None
    parts = overridable()[feature]
    changes = _object(path, "the file", override)
    for part, value in changes.items():
        if part not in parts:
            raise _unknown(path, part, parts)
        _merged(path, feature, part, value)
    return changes


def _merged(path: str, feature: str, part: str, override: object) -> dict[str, Any]:
    entry = overridable()[feature][part]
    rules: _Rules = [(place.split("."), rule) for place, rule in entry["paths"].items()]
    table = _object(path, part, _apply(path, [part], load_data(*entry["file"]), override, rules))
    for place, total in entry.get("sums", {}).items():
        added = round(sum(_numbers_at(table, place.split("."))), 6)
        if added != total:
            raise OverrideError(path, "%s.%s" % (part, place), "numbers that add up to %g" % total, added)
    return table


def _apply(path: str, at: list[str], shipped: object, override: object, rules: _Rules) -> object:
    """Return `shipped` with the override applied; `rules` say which places below `at` may change, and to what."""
    leaf = next((rule for place, rule in rules if not place), None)
    if leaf is not None:
        return _checked_value(path, ".".join(at), shipped, override, leaf)
    entries = _entries(shipped)
    changed = {}
    for name, value in _object(path, ".".join(at), override).items():
        rules_below = _rules_below(rules, name)
        if name not in entries or not rules_below:
            raise _unknown(
                path, ".".join([*at, name]), [entry for entry in entries if _rules_below(rules, entry)]
            )
        changed[name] = _apply(path, [*at, name], entries[name], value, rules_below)
    merged = {**entries, **changed}
    return list(merged.values()) if isinstance(shipped, list) else merged


def _rules_below(rules: _Rules, name: str) -> _Rules:
    return [(place[1:], rule) for place, rule in rules if place[0] in ("*", name)]


def _entries(table: object) -> dict[str, Any]:
    """Return the entries of a table by name: by key, or for a list by id."""
    if isinstance(table, dict):
        return table
    return {entry["id"]: entry for entry in table} if isinstance(table, list) else {}


def _numbers_at(table: object, place: list[str]) -> list[float]:
    """Return the numbers at a place of a table; `*` stands for every name."""
    if not place:
        return [table] if isinstance(table, (int, float)) else []
    entries = [entry for name, entry in _entries(table).items() if place[0] in ("*", name)]
    return [number for entry in entries for number in _numbers_at(entry, place[1:])]


def _checked_value(path: str, key: str, shipped: object, value: object, rule: object) -> object:
    """Return the value. Raises OverrideError if it breaks its rule or has another type than the shipped value."""
    if isinstance(shipped, bool):
        fits, expected = isinstance(value, bool), "true or false"
    elif isinstance(shipped, (int, float)) and isinstance(rule, list):
        kind = (int,) if isinstance(shipped, int) else (int, float)
        fits = isinstance(value, kind) and not isinstance(value, bool) and rule[0] <= value <= rule[1]
        expected = "a %s from %g to %g" % ("whole number" if kind == (int,) else "number", *rule)
    elif isinstance(shipped, str):
        fits, expected = _is_text(value), "a text of at most %d characters" % _MAX_TEXT
    elif isinstance(shipped, list) and not any(map(_is_text, shipped)):
        fits = (
            isinstance(value, list)
            and len(value) == len(shipped)
            and all(isinstance(number, (int, float)) and not isinstance(number, bool) for number in value)
        )
        expected = "a list of %d numbers" % len(shipped)
    else:
        fits = isinstance(value, list) and 0 < len(value) <= _MAX_LINES and all(map(_is_text, value))
        expected = "a list of 1 to %d texts" % _MAX_LINES
    if not fits:
        raise OverrideError(path, key, expected, value)
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_TEXT


def _object(path: str, key: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OverrideError(path, key, "an object", value)
    return value


def _unknown(path: str, key: str, known: Iterable[str]) -> OverrideError:
    from difflib import get_close_matches

    names = list(known)
    matches = get_close_matches(key.rpartition(".")[2], names, 1, 0.5)
    expected = "a name like %s" % matches[0] if matches else "one of " + ", ".join(names)
    return OverrideError(path, key, expected, key.rpartition(".")[2])
