"""Load packs and build the setup of an interview, which is frozen at the start: config changes must not affect a running interview.

A pack is a JSON file that defines an interview's concept types, ladder, elements and changes to the scoring.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from ..kernel.fastjson import as_number, loads
from ..kernel.files import read_regular
from ..kernel.paths import data_path, load_data
from ..kernel.settings import merged
from ..kernel.text.clean import plain
from ..memories.record import categories
from .answer_input import InvalidAnswer, clean_text
from .interview_store import Element, InterviewError, Setup
from .wording import content_stems, normalize, stem_table

SHIPPED = ("requirements", "means_end_chain")
MAX_TOPIC = 200
_MAX_BYTES = 1 << 18
_MAX_SHOWN, _MAX_LABEL = 200, 200
_ASK = "a text with no braces except {topic}"
_NAME = re.compile(r"[a-z0-9_.-]{1,60}\Z")


class ConfigError(InterviewError):
    """A pack or an option is invalid; the text names source (a path or an option), key, expected and found."""

    def __init__(self, source: str, key: str, expected: str, found: object) -> None:
        super().__init__("%s: %s: expected %s, got %s" % (source, key, expected, repr(found)[:_MAX_SHOWN]))


def find_pack(name: str, folder: str) -> str:
    """Return the path of a pack: a file, a shipped pack, or one of the user's own packs in `folder`. Raises ConfigError."""
    if name.endswith(".json"):
        return os.path.abspath(name)
    if name in SHIPPED:
        return data_path("interview", "packs", name + ".json")
    own_path = os.path.join(folder, name + ".json")
    if _NAME.match(name) and os.path.isfile(own_path):
        return own_path
    raise ConfigError("--pack", name, "one of %s, or a file" % ", ".join(SHIPPED), name)


def own_packs(folder: str) -> list[str]:
    """Return the names of the user's own packs in a folder, which may be missing."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def read_pack(path: str) -> dict[str, Any]:
    """Return the validated pack in a file. Raises ConfigError."""
    try:
        data = loads(read_regular(path, _MAX_BYTES)[0].decode("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise ConfigError(path, "the file", "JSON in UTF-8", str(error)) from None
    return check_pack(data, path)


def check_pack(data: object, source: str) -> dict[str, Any]:
    """Return a pack with its texts cleaned for display. Raises ConfigError for the first problem."""
    pack: dict[str, Any] = _checked(data, _pack_form(), source, "")
    type_ids = [entry["id"] for entry in pack["types"]]
    for key, allowed in (("ladder", type_ids), ("terminal", pack["ladder"])):
        unknown = [name for name in pack[key] if name not in allowed]
        if unknown or not pack[key]:
            raise ConfigError(source, key, "one or more of " + ", ".join(allowed), unknown)
    for key in ("types", "elements"):
        ids = [entry["id"] for entry in pack[key]]
        duplicates = [name for name in ids if ids.count(name) > 1]
        if duplicates:
            raise ConfigError(source, key, "no duplicate ids", duplicates[0])
    return pack


def _pack_form() -> dict[str, Any]:
    """Return the form of a pack: objects by key, `?` marks an optional one, and lists with the form of their items.

    The form of a single value is a function that returns it cleaned, or None for an invalid value, and the text that says what is valid.
    """
    multipliers = load_data("interview", "scoring")["multipliers"]
    strategies = [name + "?" for row in multipliers.values() for name in row]
    memories = list(categories())
    name = (_name, "lower-case letters, digits, _ . and - (at most 60)")
    label = (_label, "a text")
    memory = (lambda value: value if value in memories else None, "one of " + ", ".join(memories))
    flag = (lambda value: value if isinstance(value, bool) else None, "true or false")
    return {
        "id": name,
        "name": label,
        "reason": label,
        "types": [{"id": name, "name": label, "memory": memory}],
        "ladder": [name],
        "terminal": [name],
        "elements": [{"id": name, "label": label, "ask?": (_ask, _ASK), "aliases": [label], "group?": label}],
        "strategies?": dict.fromkeys(strategies, flag),
        "multipliers?": {
            phase + "?": dict.fromkeys(strategies, (_number, "a number from 0 to 5")) for phase in multipliers
        },
    }


def _checked(value: Any, form: Any, source: str, key: str) -> Any:  # noqa: ANN401 (any JSON)
    """Return a value of a pack, checked against its form and cleaned. Raises ConfigError."""
    if isinstance(form, dict):
        parts = {name.rstrip("?"): part for name, part in form.items()}
        required = {name for name in form if not name.endswith("?")}
        if not isinstance(value, dict) or not parts.keys() >= value.keys() >= required:
            found = ", ".join(value) if isinstance(value, dict) else value
            raise ConfigError(source, key or "the file", "an object with " + ", ".join(form), found)
        prefix = key and key + "."
        return {name: _checked(item, parts[name], source, prefix + name) for name, item in value.items()}
    if isinstance(form, list):
        if not isinstance(value, list):
            raise ConfigError(source, key, "a list", value)
        return [_checked(item, form[0], source, "%s.%d" % (key, at)) for at, item in enumerate(value)]
    clean, expected = form
    cleaned = clean(value)
    if cleaned is None:
        raise ConfigError(source, key, expected, value)
    return cleaned


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and _NAME.match(value) else None


def _label(value: object) -> str | None:
    return plain(value, _MAX_LABEL) or None if isinstance(value, str) else None


def _ask(value: object) -> str | None:
    text = _label(value)
    return text if text and "{" not in text.replace("{topic}", "") else None


def _number(value: object) -> float | None:
    number = as_number(value)
    return number if number is not None and 0 <= number <= 5 else None


def new_setup(topic: str, pack: Mapping[str, Any], max_turns: int, changes: Mapping[str, Any]) -> Setup:
    """Return the frozen setup of an interview as plain JSON values.

    `max_turns` (1 to 200) is the number of questions, and `changes` the setting `interview.scoring`.
    """
    if not 1 <= max_turns <= 200:
        raise ConfigError("--max-turns", "start", "1 to 200", max_turns)
    redundancy = stem_table(load_data("interview", "redundancy"))
    function_words = frozenset(redundancy["function_words"])
    elements: list[Element] = []
    for element in pack["elements"]:
        stems = [content_stems(text, function_words) for text in (element["label"], *element["aliases"])]
        full: Any = {"ask": "", "group": "", **element, "stems": [name for name in stems if name]}
        elements.append(full)
    scoring = merged(load_data("interview", "scoring"), dict(changes))
    for entry in scoring["strategies"]:
        entry["enabled"] = pack.get("strategies", {}).get(entry["id"], entry["enabled"])
    for phase, row in pack.get("multipliers", {}).items():
        scoring["multipliers"][phase].update(row)
    groups = load_data("interview", "patterns")["groups"]
    return {
        "topic": plain(topic, MAX_TOPIC),
        "pack": {key: pack[key] for key in ("id", "name", "types", "ladder", "terminal")},
        "elements": elements,
        "scoring": scoring,
        "redundancy": redundancy,
        "patterns": {
            name: [normalize(phrase).strip() for phrase in group["phrases"]] for name, group in groups.items()
        },
        "signals": load_data("interview", "signals"),
        "max_turns": max_turns,
    }


def covered_elements(options: str, setup: Setup) -> dict[str, str]:
    """Return the elements of `a=SOURCE,b` that are known beforehand, with their source. Raises InvalidAnswer for an unknown one."""
    covered = {}
    known = sorted(element["id"] for element in setup["elements"])
    for option in options.split(","):
        name, _, source = option.partition("=")
        if name.strip() in known:
            covered[name.strip()] = clean_text(source) or "known beforehand"
        elif option.strip():
            raise InvalidAnswer("covered: expected one of %s, got %r" % (", ".join(known), name.strip()[:60]))
    return covered
