"""The rule files under `config/rules/hygiene/`, read and checked."""

from __future__ import annotations

from functools import cache

from ..files import read_regular
from ..native import loads
from ..paths import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DataError", "strings", "table"]

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
