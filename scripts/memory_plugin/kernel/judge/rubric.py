"""Rubrics: the questions themselves, one file each under `config/judges/rubrics/`.

A file holds `id`, `reason`, `system` and `closing` (lines of the prompt before and after the data), `schema` (the
JSON schema of the reply), `max_tokens`, and `examples`: replies with the values that must be read from them, which
are tests.  Adding a question is one such file and one line in a test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..files import read_regular
from ..native import digest, dumps, loads
from ..paths import data_path

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Rubric", "RubricError", "load_rubric"]

_MAX_BYTES = 1 << 16


class RubricError(ValueError):
    """A rubric's file that is missing or says something else than it may."""


class Rubric(NamedTuple):
    """What is asked.

    `schema` stays the same from call to call: providers compile it once and keep it.  `digest` changes with every
    word, so that a verdict is never taken for the answer to another question.
    """

    id: str
    system: str
    closing: str
    schema: Mapping[str, Any]
    max_tokens: int
    digest: str


def load_rubric(name: str) -> Rubric:
    """The rubric of that name. Raises RubricError."""
    path = data_path("judges", "rubrics", name + ".json")
    try:
        entry = loads(read_regular(path, _MAX_BYTES)[0].decode("utf-8"))
    except (OSError, ValueError) as error:
        raise RubricError("%s: %s" % (path, error)) from None
    if not isinstance(entry, dict) or entry.get("id") != name:
        raise RubricError("%s: expected an object whose id is %s" % (path, name))
    system, closing = (_lines(entry.get(field), path) for field in ("system", "closing"))
    schema, most = entry.get("schema"), entry.get("max_tokens")
    if not isinstance(schema, dict) or not isinstance(most, int):
        raise RubricError("%s: expected a schema and a whole number max_tokens" % path)
    asked = dumps([name, system, closing, schema, most]).encode("ascii")
    return Rubric(name, system, closing, schema, most, digest(asked, 6))


def _lines(value: object, path: str) -> str:
    if not isinstance(value, list) or not value or not all(isinstance(line, str) for line in value):
        raise RubricError("%s: expected a list of lines" % path)
    return "\n".join(value)
