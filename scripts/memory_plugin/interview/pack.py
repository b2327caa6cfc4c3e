"""Packs: the subject of an interview, as one JSON file with types, ladder, elements, and changes to strategies and phases."""

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

__all__ = ["MAX_LABEL", "SHIPPED", "check_pack", "find_pack", "read_pack"]

SHIPPED = ("requirements", "means_end_chain")
MAX_LABEL = 200
_MAX_BYTES = 1 << 18
_NAME = re.compile(r"[a-z0-9_.-]{1,60}\Z")
_REQUIRED = ("id", "name", "reason", "types", "ladder", "terminal", "elements")
_KEYS = (*_REQUIRED, "strategies", "multipliers")
_MOST = {"types": 20, "ladder": 20, "terminal": 20, "elements": 200, "aliases": 30}


def find_pack(name: str, folder: str) -> str:
    """Return the path of a pack: a shipped one, one of the user's in `folder`, or a file. Raises ConfigError, naming the shipped ones."""
    if name.endswith(".json"):
        return os.path.abspath(name)
    own = os.path.join(folder, name + ".json")
    if name in SHIPPED:
        return data_path("interview", "packs", name + ".json")
    if _NAME.match(name) and os.path.isfile(own):
        return own
    raise ConfigError("--pack", name, "one of %s, or a file" % ", ".join(SHIPPED), name)


def read_pack(path: str) -> dict[str, Any]:
    """Return the pack in a file, checked, its texts cleaned for display. Raises ConfigError."""
    try:
        data = loads(read_regular(path, _MAX_BYTES)[0].decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(path, "the file", "a readable file", error_text(error)) from None
    except ValueError:
        raise ConfigError(path, "the file", "JSON in UTF-8", "other text") from None
    return check_pack(data, path)


def check_pack(data: object, place: str) -> dict[str, Any]:
    """Return the pack with its texts cleaned. Raises ConfigError for the first problem: file, key, expected, got."""
    pack = _object(data, place, "the file", _REQUIRED, _KEYS)
    _name(pack["id"], place, "id")
    found = dict(
        pack, name=_label(pack["name"], place, "name"), reason=_label(pack["reason"], place, "reason")
    )
    found["types"] = _each(pack["types"], place, "types", _type)
    types = [entry["id"] for entry in found["types"]]
    for key in ("ladder", "terminal"):
        found[key] = _each(pack[key], place, key, _name)
        unknown = [name for name in found[key] if name not in (types if key == "ladder" else found["ladder"])]
        if unknown or not found[key]:
            raise ConfigError(place, key, "some of " + ", ".join(types), unknown)
    found["elements"] = _each(pack["elements"], place, "elements", _element)
    for key in ("types", "elements"):
        _unique([entry["id"] for entry in found[key]], place, key)
    return _with_changes(found, place)


def _with_changes(pack: dict[str, Any], place: str) -> dict[str, Any]:
    for key in ("strategies", "multipliers"):
        if not isinstance(pack.get(key, {}), dict):
            raise ConfigError(place, key, "an object", pack[key])
    for name, switch in pack.get("strategies", {}).items():
        if not isinstance(switch, bool):
            raise ConfigError(place, "strategies." + name, "true or false", switch)
    for phase, row in pack.get("multipliers", {}).items():
        if not isinstance(row, dict):
            raise ConfigError(place, "multipliers." + phase, "an object", row)
    return pack


def _object(
    data: object, place: str, key: str, required: tuple[str, ...], allowed: tuple[str, ...]
) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ConfigError(place, key, "an object", data)
    for name in required:
        if name not in data:
            raise ConfigError(place, name if key == "the file" else key + "." + name, "a value", "nothing")
    for name in data:
        if name not in allowed:
            raise ConfigError(place, key, "only " + ", ".join(allowed), name)
    return data


def _each(value: object, place: str, key: str, read: Callable[[Any, str, str], Any]) -> list[Any]:
    if not isinstance(value, list) or len(value) > _MOST[key.rpartition(".")[2]]:
        raise ConfigError(
            place, key, "a list of at most %d" % _MOST[key.rpartition(".")[2]], type(value).__name__
        )
    return [read(entry, place, "%s.%d" % (key, at)) for at, entry in enumerate(value)]


def _name(value: object, place: str, key: str) -> str:
    if not isinstance(value, str) or not _NAME.match(value):
        raise ConfigError(place, key, "lower-case letters, digits, _ . and - (at most 60)", value)
    return value


def _label(value: object, place: str, key: str) -> str:
    text = plain(value, MAX_LABEL) if isinstance(value, str) else ""
    if not text:
        raise ConfigError(place, key, "a text", value)
    return text


def _type(data: object, place: str, key: str) -> dict[str, Any]:
    entry = _object(data, place, key, ("id", "name", "memory"), ("id", "name", "memory"))
    if entry["memory"] not in categories():
        raise ConfigError(place, key + ".memory", "one of " + ", ".join(categories()), entry["memory"])
    return {
        "id": _name(entry["id"], place, key + ".id"),
        "name": _label(entry["name"], place, key + ".name"),
        "memory": entry["memory"],
    }


def _element(data: object, place: str, key: str) -> dict[str, Any]:
    entry = _object(data, place, key, ("id", "label", "aliases"), ("id", "label", "ask", "aliases", "group"))
    ask = _label(entry["ask"], place, key + ".ask") if "ask" in entry else ""
    if ask.replace("{topic}", "").count("{"):
        raise ConfigError(place, key + ".ask", "no braces but {topic}", ask)
    return {
        "id": _name(entry["id"], place, key + ".id"),
        "label": _label(entry["label"], place, key + ".label"),
        "ask": ask,
        "aliases": _each(entry["aliases"], place, key + ".aliases", _label),
        "group": _label(entry["group"], place, key + ".group") if "group" in entry else "",
    }


def _unique(names: list[str], place: str, key: str) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ConfigError(place, key, "no duplicate ids", twice[0])
