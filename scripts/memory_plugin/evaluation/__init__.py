"""Evaluation: gates decide by rules, then a jury of models scores; a failed gate overrides every score."""

from __future__ import annotations

import os
from typing import Any

from ..kernel.fastjson import loads
from ..kernel.files import read_regular
from ..kernel.paths import data_path

_MAX_BYTES = 1 << 20


class EvaluationError(ValueError):
    """A pack, rubric, judge or input is missing or malformed; the text names the file and the field."""


def shipped_names(folder: str) -> list[str]:
    """Return the names of the files in `packs` or `rubrics` that the plugin ships, without their ending."""
    files = os.listdir(data_path("evaluation", folder))
    return sorted(name[:-5] for name in files if name.endswith(".json"))


def file_path(folder: str, name: str, base: str = "") -> str:
    """Return the path of a shipped file by its name; a path, relative to the folder `base`, stays one."""
    if name.endswith(".json") or os.sep in name:
        return os.path.join(base, name)
    return data_path("evaluation", folder, name + ".json")


def read_object(path: str) -> dict[str, Any]:
    """Return the JSON object in a file of at most 1 MiB. Raises EvaluationError."""
    try:
        value = loads(read_regular(path, _MAX_BYTES)[0].decode("utf-8"))
    except FileNotFoundError:
        raise EvaluationError("%s: there is no such file" % path) from None
    except (OSError, ValueError) as error:
        raise EvaluationError("%s: %s" % (path, error)) from None
    if not isinstance(value, dict):
        raise EvaluationError("%s: expected an object" % path)
    return value
