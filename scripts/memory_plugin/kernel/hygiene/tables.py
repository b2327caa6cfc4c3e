"""The rule files under `config/rules/hygiene/`, read and checked.

Word lists that filters and rules refer to, by the names they have in `words.json`.
"""

from __future__ import annotations

from functools import cache

from ..fastjson import loads
from ..files import read_regular
from ..paths import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DataError", "strings", "table", "words"]

_MAX_BYTES = 1 << 20


class DataError(ValueError):
    """A file under `config/rules/hygiene/` that says something else than its README allows."""


@cache
def table(name: str) -> Mapping[str, object]:
    """The JSON object in the file `name`. Raises DataError when the file is missing or holds anything else."""
    path = data_path("rules", "hygiene", name)
    try:
        value = loads(read_regular(path, _MAX_BYTES)[0].decode("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError("%s: %s" % (path, error)) from error
    if not isinstance(value, dict):
        raise DataError("%s: expected an object" % path)
    return value


def strings(value: object, where: str) -> tuple[str, ...]:
    """A list of strings as a tuple; None is an empty one. Raises DataError that names `where`."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DataError("%s: expected a list of strings" % where)
    return tuple(value)


@cache
def words(name: str) -> tuple[str, ...]:
    """The list of that name. Raises DataError when there is none."""
    found = table("words.json").get(name)
    if found is None:
        raise DataError("words.json: no list " + name)
    return strings(found, "words.json: " + name)
