"""Questions to a model: the rubric that is asked, the data that is judged, the verdict that is read from the reply, and failures.

Rubrics are files under `config/judges/rubrics/`. A rubric holds `id`, `reason`, `system` and `closing` (the prompt before and after the
data), `schema` (the JSON schema of the reply), `max_tokens`, and `examples`: replies with the values that must be read from them, which
are tests. To add a question, add such a file and one line in a test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from json import JSONDecoder
from json import dumps as json_dumps
from math import inf
from typing import Any, NamedTuple

from ... import VERSION
from ..fastjson import as_number, digest, dumps
from ..hygiene import redact
from ..paths import load_data
from ..text import cut_after, cut_before, without_private
from ..text.clean import block, plain

Values = dict[str, Any]
Reader = Callable[[Values], "Values | None"]

_ESCAPED = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
_MAX_REPLY = 40_000  # characters; answers have a few hundred
_DECODER = JSONDecoder(strict=False)  # local models put raw line breaks and tabs into strings
_BAD_ESCAPE = re.compile(r'\\(["\\/bfnrtu])|\\.|"', re.DOTALL)

# Characters that are redacted at each end, from where a key or word that the cut is in ends.
_MARGIN = 10_000
_GAP = " [...] "
_FEATURE = "FEATURE"  # in `config/judges/failures.json`
_MODEL = "FEATURE.judge.model NAME"


class JudgeError(Exception):
    """Raised for a question that could not be answered.

    `name` is a name in `config/judges/failures.json` or `http_NNN`. `detail` explains it without quoting keys or the judged text. `wait` is
    how many seconds the server asks to wait, None if it does not say. `unsent` says that the server never had the whole request.
    """

    unsent = False

    def __init__(self, name: str, detail: str = "", wait: float | None = None) -> None:
        super().__init__(name)
        self.name = name
        self.detail = detail
        self.wait = wait


class Rubric(NamedTuple):
    """The text and schema of a question.

    `schema` is the same in every call, because providers compile and cache it. `digest` changes with every word, so a cached verdict never
    answers another question.
    """

    id: str
    system: str
    closing: str
    schema: Mapping[str, Any]
    max_tokens: int
    digest: str


def load_rubric(name: str) -> Rubric:
    """Load the rubric of that name."""
    return read_rubric(load_data("judges", "rubrics", name), name)


def read_rubric(entry: Mapping[str, Any], name: str) -> Rubric:
    """Return the rubric in the content of a file."""
    system, closing = "\n".join(entry["system"]), "\n".join(entry["closing"])
    content = dumps([name, system, closing, entry["schema"], entry["max_tokens"]]).encode("ascii")
    return Rubric(name, system, closing, entry["schema"], entry["max_tokens"], digest(content, 6))


class Question:
    """One question.

    `rubric` is what is asked, `data` what is judged (already redacted). `read` converts the JSON object of a reply to values that JSON can
    hold, or returns None if the reply has another shape. `max_in` is an upper bound of the tokens of the data, for the cost to reserve;
    None means one per byte, which is far too high for long texts.
    """

    def __init__(self, rubric: Rubric, data: object, read: Reader, max_in: int | None = None) -> None:
        self.rubric = rubric
        self.max_in = max_in
        self.message = data_block(data) + "\n" + rubric.closing
        self.read = read

    def key(self, backend: str, model: str) -> str:
        """Return the cache key of this question to this model: a digest, which holds no text.

        Another version of the plugin may read other values from a reply.
        """
        parts = (VERSION, backend, model, self.rubric.digest, self.message)
        return digest("\0".join(parts).encode("utf-8", "replace"))


def data_block(data: object) -> str:
    """Return the data as JSON between `<data>` tags; angle brackets inside are escaped, so the data cannot forge the end tag.

    Raises TypeError and ValueError for what JSON cannot hold.
    """
    text = json_dumps(data, ensure_ascii=False, separators=(",", ":"))
    return "<data>\n%s\n</data>" % text.translate(_ESCAPED)


class Verdict:
    """The answer to a question, or why there is none.

    `values` is None exactly if `failure` names the reason; `detail` explains it without any key or judged text. `ms` is the time waited.
    Tokens and `cost` (US dollars) are None if unknown.

    The call fills in `text`, the model's answer, which becomes `values`. `is_free` says that the provider charges nothing: it never had the
    whole request, or answered with an error status. `wait` is how many seconds the server asks to wait. `rejected` are the parts of the
    request that the server rejected by name: it may be asked once more without them.
    """

    cached = False
    cost: float | None = None
    ms = 0.0
    tokens_in: int | None = None
    tokens_out: int | None = None
    text = ""
    is_free = False
    wait: float | None = None
    rejected: frozenset[str] = frozenset()

    def __init__(self, values: Values | None, failure: str = "", detail: str = "") -> None:
        self.values = values
        self.failure = failure
        self.detail = detail


class FailureText(NamedTuple):
    """What a failure means, and what the user can do about it."""

    says: str
    do: str


def explain_failure(failure: str, feature: str) -> FailureText:
    """Return the explanation of a failure's name, for a question that a feature asked."""
    table = load_data("judges", "failures")["failures"]
    entry = table.get(failure) or table["http" if failure.startswith("http_") else "error"]
    return FailureText(entry["says"], entry["do"].replace(_FEATURE, feature))


def setup_options(feature: str) -> list[str]:
    """Return the ways to get a judge for a feature, for a user without a key."""
    entry = load_data("judges", "features")["features"][feature]
    model = entry.get("model", _MODEL.replace(_FEATURE, feature))
    ways = load_data("judges", "failures")["ways"]
    return [way.replace(_MODEL, model).replace(_FEATURE, feature) for way in ways]


def read_reply(text: str, read: Reader) -> Values | None:
    """Return the values in a model's reply; None if it holds no object of the right shape, or several that differ.

    The object may be alone, in a code fence, in prose or behind a block of thoughts, and have the usual slips. Two different answers count
    as none, because one of them may quote the judged text. Never raises for any text.
    """
    text = _without_thoughts(text[:_MAX_REPLY])
    answers = _answers(text, read) or _answers(_without_slips(text), read)
    return answers[0] if len(answers) == 1 else None


def _answers(text: str, read: Reader) -> list[Values]:
    """Return the different answers in a text."""
    answers: list[Values] = []
    at, attempts = text.find("{"), 0
    while at >= 0 and attempts < 200:
        attempts += 1
        value, end = _object(text, at)
        values = read(value) if value is not None else None
        if values is not None and values not in answers:
            answers.append(values)
        at = text.find("{", end if values is not None else at + 1)
    return answers


def _without_thoughts(text: str) -> str:
    """Return a reply without the block of thoughts at its beginning; one that never ends is the whole reply.

    A block ends at its first end tag: if the thoughts quote one from the judged text, a forged answer and the real one both stay. Without
    the tag that begins it, nothing but the answer may follow the end.
    """
    thoughts = load_data("judges", "slips")["thoughts"]
    begins, end = re.match(thoughts["begin"], text), re.search(thoughts["end"], text)
    if end is None:
        return "" if begins else text
    rest = text[end.end() :].strip()
    has_own_line = text[: end.start()].rstrip(" \t").endswith("\n")
    is_answer_alone = rest.startswith(("{", "```")) and rest.endswith(("}", "```"))
    return rest if begins or (has_own_line and is_answer_alone) else text


def _without_slips(text: str) -> str:
    """Return a reply from its first object on, with JSON for what models write in place of it (`config/judges/slips.json`)."""
    slips = {slip["id"]: slip for slip in load_data("judges", "slips")["slips"]}
    pattern = "|".join("(?P<%s>%s)" % (name, slip["pattern"]) for name, slip in slips.items())

    def fixed(slip: re.Match[str]) -> str:
        inner = (*slip.groups(""), "")[slip.lastindex or 0]  # the group in the pattern's own
        becomes = slips[str(slip.lastgroup)].get("becomes")
        if becomes is not None:
            return str(becomes.replace("%s", inner))
        return '"%s"' % _BAD_ESCAPE.sub(lambda it: it[0] if it[1] else it[0][-1].replace('"', '\\"'), inner)

    return re.sub("(?s)" + pattern, fixed, text[max(text.find("{"), 0) :])


def _object(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    """Return the JSON object at an offset and its end; None and the offset if there is none."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at
    return (value, end) if isinstance(value, dict) else (None, at)


def read_number(value: object) -> float | None:
    """Return a finite number, perhaps written as a text or with a decimal comma; None for anything else."""
    try:
        number = as_number(float(value.replace(",", ".")) if isinstance(value, str) else value)
    except ValueError:
        return None
    return number if number is not None and abs(number) < inf else None


def score_fields(entry: object) -> Values:
    """Return a score with what explains it, which is an object with a `score`, or the score alone."""
    return entry if isinstance(entry, dict) else {"score": entry}


def value_at(value: object, *path: str | int) -> Any:  # noqa: ANN401 (whatever a server sent)
    """Return the value at a path of keys and list indices in a JSON value; None if there is none."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def chosen_indices(value: Values, key: str, offered: int) -> Values | None:
    """Return `chosen`, the valid indices in [0, offered) under `key` in ascending order, and `dropped`, the number of other items.

    None if there is no list under the key, or nothing valid in it, such as titles. `"1"`, `1.0` and `{"index": 1}` are valid, `true` is
    not; a duplicate counts as dropped.
    """
    items = value.get(key)
    if not isinstance(items, list):
        return None
    numbers = [read_number(item.get("index") if isinstance(item, dict) else item) for item in items]
    indices = {int(one) for one in numbers if one is not None and 0 <= one < offered and one % 1 == 0}
    if items and not indices:
        return None
    return {"chosen": sorted(indices), "dropped": len(items) - len(indices)}


def excerpt(text: str, limit: int) -> str:
    """Return the head and the tail of a text, at most `limit` (> 20) characters in all; a short text is not cut."""
    text = without_private(text)
    if len(text) > 2 * _MARGIN:
        head = _redacted(text[: cut_before(text, _MARGIN)])
        tail = _redacted(text[cut_after(text, len(text) - _MARGIN) :])
    else:
        head = tail = _redacted(text)
        if len(head) <= limit:
            return head
    half = (limit - len(_GAP)) // 2
    return head[:half] + _GAP + tail[-half:]


def _redacted(text: str) -> str:
    return redact(block(redact(text, "judge").text, 2 * _MARGIN + 1), "judge").text


def one_line(text: str, limit: int) -> str:
    """Return a short text such as a title on one line of at most `limit` characters."""
    first = redact(without_private(text), "judge").text
    line = plain(first, len(first) + 1)
    return plain(line if line == first else redact(line, "judge").text, limit)
