"""The JSON files under `config/evaluation/`, and those that a user names by path."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..kernel.files import read_regular
from ..kernel.native import loads
from ..kernel.paths import data_path

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EvaluationError", "merged", "names", "read_object", "shipped"]

_MAX_BYTES = 1 << 20
_MAX_DEPTH = 20


class EvaluationError(ValueError):
    """A pack, rubric or scenario that is missing or says something else than it may; the text names the file."""


def shipped(folder: str, name: str) -> str:
    """The path of a file that the plugin ships, such as ("packs", "honesty")."""
    return data_path("evaluation", folder, name + ".json")


def names(folder: str) -> list[str]:
    """The names of what the plugin ships in a folder of `config/evaluation/`."""
    found = os.listdir(data_path("evaluation", folder))
    return sorted(name[:-5] for name in found if name.endswith(".json"))


def read_object(path: str, limit: int = _MAX_BYTES) -> dict[str, Any]:
    """The JSON object in a file of at most `limit` bytes. Raises EvaluationError."""
    try:
        value = loads(read_regular(path, limit)[0].decode("utf-8"))
    except FileNotFoundError:
        raise EvaluationError("%s: not there" % path) from None
    except (OSError, ValueError) as error:
        raise EvaluationError("%s: %s" % (path, error)) from None
    if not isinstance(value, dict):
        raise EvaluationError("%s: expected an object" % path)
    return value


def merged(below: Mapping[str, Any], above: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Two objects as one: objects in both are merged, null takes a key away, everything else above wins.

    Raises EvaluationError for nesting beyond 20 levels.
    """
    if depth > _MAX_DEPTH:
        raise EvaluationError("nested more than %d levels deep" % _MAX_DEPTH)
    result = dict(below)
    for key, value in above.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            base = result.get(key)
            result[key] = merged(base if isinstance(base, dict) else {}, value, depth + 1)
        else:
            result[key] = value
    return result
