"""The files under `config/hygiene/`, loaded and validated: tables, and the word lists of `words.json`."""

from __future__ import annotations

from functools import cache

from ..fastjson import loads
from ..files import read_regular
from ..paths import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_BYTES = 1 << 20


class DataError(ValueError):
    """Raised for a file under `config/hygiene/` that is missing or violates the format in its README."""


@cache
def table(name: str) -> Mapping[str, object]:
    """Return the JSON object in the file `name`. Raises DataError when the file is missing or holds anything else."""
    path = data_path("hygiene", name)
    try:
        value = loads(read_regular(path, _MAX_BYTES)[0].decode("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError("%s: %s" % (path, error)) from error
    if not isinstance(value, dict):
        raise DataError("%s: expected an object" % path)
    return value


def strings(value: object, where: str) -> tuple[str, ...]:
    """Return a list of strings as a tuple; None counts as an empty list. Raises DataError that names `where`."""
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DataError("%s: expected a list of strings" % where)
    return tuple(value)


@cache
def words(name: str) -> tuple[str, ...]:
    """Return the word list of that name. Raises DataError for an unknown one."""
    entries = table("words.json").get(name)
    if entries is None:
        raise DataError("words.json: no list " + name)
    return strings(entries, "words.json: " + name)
