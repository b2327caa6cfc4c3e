"""Load packs. A pack is a JSON file that defines an interview's concept types, ladder, elements and changes to the scoring."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from ..kernel.fastjson import loads
from ..kernel.files import error_text, read_regular
from ..kernel.paths import data_path
from ..kernel.text.clean import plain
from ..memories.record import categories
from .exceptions import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

SHIPPED = ("requirements", "means_end_chain")
MAX_LABEL = 200
_MAX_BYTES = 1 << 18
_NAME = re.compile(r"[a-z0-9_.-]{1,60}\Z")
_REQUIRED = ("id", "name", "reason", "types", "ladder", "terminal", "elements")
_KEYS = (*_REQUIRED, "strategies", "multipliers")
_MAX_ITEMS = {"types": 20, "ladder": 20, "terminal": 20, "elements": 200, "aliases": 30}


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


def read_pack(path: str) -> dict[str, Any]:
    """Return the validated pack in a file. Raises ConfigError."""
    try:
        data = loads(read_regular(path, _MAX_BYTES)[0].decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(path, "the file", "a readable file", error_text(error)) from None
    except ValueError:
        raise ConfigError(path, "the file", "JSON in UTF-8", "other text") from None
    return check_pack(data, path)


def check_pack(data: object, source: str) -> dict[str, Any]:
    """Return a pack with its texts cleaned for display. Raises ConfigError for the first problem."""
    pack = dict(_object(data, source, "the file", _REQUIRED, _KEYS))
    _name(pack["id"], source, "id")
    pack["name"] = _label(pack["name"], source, "name")
    pack["reason"] = _label(pack["reason"], source, "reason")
    pack["types"] = _list(pack["types"], source, "types", _type)
    pack["elements"] = _list(pack["elements"], source, "elements", _element)
    type_ids = [entry["id"] for entry in pack["types"]]
    pack["ladder"] = _names_among(type_ids, pack["ladder"], source, "ladder")
    pack["terminal"] = _names_among(pack["ladder"], pack["terminal"], source, "terminal")
    _check_unique(type_ids, source, "types")
    _check_unique([entry["id"] for entry in pack["elements"]], source, "elements")
    _check_scoring_changes(pack, source)
    return pack


def _names_among(allowed: list[str], value: object, source: str, key: str) -> list[str]:
    names = _list(value, source, key, _name)
    unknown = [name for name in names if name not in allowed]
    if unknown or not names:
        raise ConfigError(source, key, "one or more of " + ", ".join(allowed), unknown)
    return names


def _check_scoring_changes(pack: dict[str, Any], source: str) -> None:
    """Check the form of the changes to the scoring table; `setup.merge_pack` checks their names and numbers."""
    for key in ("strategies", "multipliers"):
        if not isinstance(pack.get(key, {}), dict):
            raise ConfigError(source, key, "an object", pack[key])
    for name, switch in pack.get("strategies", {}).items():
        if not isinstance(switch, bool):
            raise ConfigError(source, "strategies." + name, "true or false", switch)
    for phase, row in pack.get("multipliers", {}).items():
        if not isinstance(row, dict):
            raise ConfigError(source, "multipliers." + phase, "an object", row)


def _object(
    data: object, source: str, key: str, required: tuple[str, ...], allowed: tuple[str, ...]
) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ConfigError(source, key, "an object", data)
    for name in required:
        if name not in data:
            raise ConfigError(source, name if key == "the file" else key + "." + name, "a value", "nothing")
    for name in data:
        if name not in allowed:
            raise ConfigError(source, key, "only " + ", ".join(allowed), name)
    return data


def _list(value: object, source: str, key: str, read_item: Callable[[Any, str, str], Any]) -> list[Any]:
    limit = _MAX_ITEMS[key.rpartition(".")[2]]
    if not isinstance(value, list):
        raise ConfigError(source, key, "a list of at most %d" % limit, value)
    if len(value) > limit:
        raise ConfigError(source, key, "a list of at most %d" % limit, len(value))
    return [read_item(item, source, "%s.%d" % (key, index)) for index, item in enumerate(value)]


def _name(value: object, source: str, key: str) -> str:
    if not isinstance(value, str) or not _NAME.match(value):
        raise ConfigError(source, key, "lower-case letters, digits, _ . and - (at most 60)", value)
    return value


def _label(value: object, source: str, key: str) -> str:
    text = plain(value, MAX_LABEL) if isinstance(value, str) else ""
    if not text:
        raise ConfigError(source, key, "a text", value)
    return text


def _type(data: object, source: str, key: str) -> dict[str, Any]:
    entry = _object(data, source, key, ("id", "name", "memory"), ("id", "name", "memory"))
    if entry["memory"] not in categories():
        raise ConfigError(source, key + ".memory", "one of " + ", ".join(categories()), entry["memory"])
    return {
        "id": _name(entry["id"], source, key + ".id"),
        "name": _label(entry["name"], source, key + ".name"),
        "memory": entry["memory"],
    }


def _element(data: object, source: str, key: str) -> dict[str, Any]:
    entry = _object(data, source, key, ("id", "label", "aliases"), ("id", "label", "ask", "aliases", "group"))
    ask = _label(entry["ask"], source, key + ".ask") if "ask" in entry else ""
    if ask.replace("{topic}", "").count("{"):
        raise ConfigError(source, key + ".ask", "no braces except {topic}", ask)
    return {
        "id": _name(entry["id"], source, key + ".id"),
        "label": _label(entry["label"], source, key + ".label"),
        "ask": ask,
        "aliases": _list(entry["aliases"], source, key + ".aliases", _label),
        "group": _label(entry["group"], source, key + ".group") if "group" in entry else "",
    }


def _check_unique(names: list[str], source: str, key: str) -> None:
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise ConfigError(source, key, "no duplicate ids", duplicates[0])
