"""Read the files of an evaluation: packs, rubrics and inputs."""

from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING, Any

from ..kernel.fastjson import loads
from ..kernel.files import read_regular
from ..kernel.paths import data_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..kernel.paths import Paths

STDIN = "-"
_MAX_BYTES = 1 << 20
_MAX_DEPTH = 20
_SESSION = re.compile(r"[0-9a-fA-F-]{8,64}\Z")


class EvaluationError(ValueError):
    """A pack, rubric, scenario or input is missing or malformed; the text names the file and the field."""


def shipped_path(folder: str, name: str) -> str:
    """Return the path of a file that the plugin ships, such as `shipped_path("packs", "honesty")`."""
    return data_path("evaluation", folder, name + ".json")


def shipped_names(folder: str) -> list[str]:
    """Return the names of the files in a folder of `config/evaluation/`, without their ending."""
    files = os.listdir(data_path("evaluation", folder))
    return sorted(name[:-5] for name in files if name.endswith(".json"))


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


def merge_objects(base: Mapping[str, Any], changes: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Merge two objects: nested objects are merged, null removes a key, any other value of `changes` replaces that of `base`.

    Raises EvaluationError for nesting beyond 20 levels.
    """
    if depth > _MAX_DEPTH:
        raise EvaluationError("nested more than %d levels deep" % _MAX_DEPTH)
    result = dict(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            inner = result.get(key)
            result[key] = merge_objects(inner if isinstance(inner, dict) else {}, value, depth + 1)
        else:
            result[key] = value
    return result


def find_inputs(names: Sequence[str], paths: Paths) -> list[str]:
    """Return the files behind paths and session ids. Raises EvaluationError for a name that is neither."""
    return [name if name == STDIN or os.path.exists(name) else _find_session(name, paths) for name in names]


def _find_session(name: str, paths: Paths) -> str:
    transcripts: list[str] = []
    if _SESSION.match(name) and paths.config_dir:
        pattern = os.path.join(glob.escape(paths.config_dir), "projects", "*", name + ".jsonl")
        transcripts = sorted(glob.glob(pattern))
    if not transcripts:
        raise EvaluationError("%s: there is no such file, and no session has this id" % name)
    return transcripts[0]


def parse_lines(data: bytes) -> Iterator[object]:
    """Yield the JSON value of each line that is not blank, or None for a line that is not JSON."""
    for line in data.decode("utf-8", "replace").split("\n"):
        if line.strip():
            try:
                yield loads(line)
            except ValueError:
                yield None
