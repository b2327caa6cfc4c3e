"""A question to a model and what comes back: values, or the name of the reason why there are none.

Rubrics: the questions themselves, one file each under `config/judge/rubrics/`.

A file holds `id`, `reason`, `system` and `closing` (lines of the prompt before and after the data), `schema` (the
JSON schema of the reply), `max_tokens`, and `examples`: replies with the values that must be read from them, which
are tests.  Adding a question is one such file and one line in a test.


The JSON object in what a model wrote: alone, fenced, or in the midst of prose.
"""

from __future__ import annotations

from json import JSONDecoder
from json import dumps as json_dumps
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fastjson import digest, dumps, loads
from ..files import read_regular
from ..paths import data_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Values = dict[str, Any]
    Reader = Callable[[Values], "Values | None"]


__all__ = [
    "Question",
    "Rubric",
    "RubricError",
    "Verdict",
    "chosen_indices",
    "data_block",
    "load_rubric",
    "read_reply",
]

_UNSEEN = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
_MAX_RUBRIC_BYTES = 1 << 16
_LONGEST_REPLY = 40_000  # characters; answers have a few hundred
_MOST_STARTS = 200
_DECODER = JSONDecoder()


def data_block(data: object) -> str:
    """Return the data as JSON between tags that nothing inside can forge: its angle brackets are written as escapes.

    Raises TypeError and ValueError for what JSON cannot hold.
    """
    return "<data>\n%s\n</data>" % json_dumps(data, ensure_ascii=False, separators=(",", ":")).translate(
        _UNSEEN
    )


class Question:
    """One question.

    `rubric` says what is asked, `data` holds what is judged (already redacted), `read` turns the JSON object of a
    reply into values that JSON can hold, or None when the reply has another shape.  `most_in` is the most tokens that
    the data can have, for a price to reserve; None: a token a byte, which is far too much for long texts.
    """

    __slots__ = ("message", "most_in", "read", "rubric")

    def __init__(self, rubric: Rubric, data: object, read: Reader, most_in: int | None = None) -> None:
        self.rubric = rubric
        self.most_in = most_in
        self.message = data_block(data) + "\n" + rubric.closing
        self.read = read

    def key(self, backend: str, model: str) -> str:
        """Return what tells this question to this model from all others; a digest, so that no text is in it."""
        parts = (backend, model, self.rubric.digest, self.message)
        return digest("\0".join(parts).encode("utf-8", "replace"))


class Verdict:
    """An answer, or why there is none.

    `values` is None exactly when `failure` names the reason; `detail` says more in words that hold no key and
    nothing of what was judged.  `ms` is the wait; tokens and `cost` (US dollars) are None where unknown.
    """

    __slots__ = ("cached", "cost", "detail", "failure", "ms", "tokens_in", "tokens_out", "values")

    def __init__(self, values: Values | None, failure: str = "", detail: str = "") -> None:
        self.values = values
        self.failure = failure
        self.detail = detail
        self.cached = False
        self.ms = 0.0
        self.tokens_in: int | None = None
        self.tokens_out: int | None = None
        self.cost: float | None = None


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
    """Return the rubric of that name. Raises RubricError."""
    path = data_path("judge", "rubrics", name + ".json")
    try:
        entry = loads(read_regular(path, _MAX_RUBRIC_BYTES)[0].decode("utf-8"))
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


def read_reply(text: str, read: Reader) -> Values | None:
    """Return the values in a model's reply; None when it holds no object of the right shape, or several that differ.

    Two different answers in one reply are none: one of them may be a quotation of what was judged.
    Never raises for any text.
    """
    found: list[Values] = []
    at, tried = text.find("{", 0, _LONGEST_REPLY), 0
    while at >= 0 and tried < _MOST_STARTS:
        tried += 1
        value, end = _object(text[:_LONGEST_REPLY], at)
        values = read(value) if value is not None else None
        if values is not None and values not in found:
            found.append(values)
        at = text.find("{", end if values is not None else at + 1, _LONGEST_REPLY)
    return found[0] if len(found) == 1 else None


def _object(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at
    return (value, end) if isinstance(value, dict) else (None, at)


def chosen_indices(value: Values, key: str, offered: int) -> Values | None:
    """Return the choice under `key`: `chosen`, indices in [0, offered) in ascending order, and `dropped`, how many were none.

    None when there is no list under the key.  `true` is no index and neither is `1.0` or `"1"`; a second mention
    counts as dropped.
    """
    given = value.get(key)
    if not isinstance(given, list):
        return None
    chosen = {i for i in given if isinstance(i, int) and not isinstance(i, bool) and 0 <= i < offered}
    return {"chosen": sorted(chosen), "dropped": len(given) - len(chosen)}
