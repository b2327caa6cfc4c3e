"""Model families (`config/judges/models.json`) and the request options that follow from them.

A family says how a request to its models looks, what they cost and when they are retired.  `RequestOptions` are a family's options
without those that a server has rejected before.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..data import load_data
from ..fastjson import loads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .question import Question

    Names = Sequence[tuple[str, tuple[str, ...]]]

__all__ = [
    "EFFORT",
    "PARTS",
    "SCHEMA",
    "THINKING",
    "TOKENS",
    "Family",
    "RequestOptions",
    "family_of",
    "model_table",
    "priced_family",
    "rejected_parts",
]

_LONGEST_VERSION = 2  # digits; a date has four or eight
THINKING, EFFORT, SCHEMA, TOKENS = "thinking", "effort", "schema", "tokens"
PARTS = (THINKING, EFFORT, SCHEMA, TOKENS)
_THINKING_ROOM = 4000  # tokens, if the option that limits thinking was rejected
_PROSE_ROOM = 500  # tokens, if the schema was rejected: the answer may contain prose
_OTHER_FIELD = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


class Family(NamedTuple):
    """One family in `config/judges/models.json`.

    `thinking` and `effort` are sent as they are; None is not sent.  `tokens` and `schema` name the fields for the longest answer and
    for its schema.  `room` is how many tokens an answer may have in addition to the rubric's limit.  `more_tokens` is the factor by which
    the same text has more tokens than on older models.  `price` holds tiers of (most prompt tokens or None, in, out) in US dollars per
    million tokens, None where it is unknown.  `ends` is the last day as YYYY-MM-DD or "", `then` the model that replaces it.
    """

    id: str
    thinking: Mapping[str, Any] | None
    effort: str | None
    tokens: str
    schema: str
    room: int
    more_tokens: float
    price: Sequence[tuple[int | None, float, float]] | None
    ends: str
    then: str
    as_of: str


@cache
def model_table() -> dict[str, Any]:
    """Return the table of models, loaded once."""
    return load_data("judges", "models")


def family_of(model: str, backend: str, today: str = "") -> Family:
    """Return the family of a model; each backend has one family that matches every name.

    With `today` (YYYY-MM-DD), a retired model that another one replaces counts as that one.
    """
    entry = _longest(model, [entry for entry in model_table()["models"] if entry["backend"] == backend])
    assert entry is not None
    family = _family(entry)
    if today and family.then and today >= family.ends:
        return family_of(family.then, backend)
    return family


def priced_family(model: str, backend: str) -> Family | None:
    """Return the family whose price applies to a model; None if no matching family has a price.

    A gateway serves the models of other vendors at their prices, so the families of all backends are searched last.
    """
    entries = [entry for entry in model_table()["models"] if entry["price"]]
    own = _longest(model, [entry for entry in entries if entry["backend"] == backend])
    entry = own or _longest(model, entries)
    return None if entry is None else _family(entry)


def _longest(model: str, entries: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the entry with the longest matching prefix of a model's name."""
    name = _bare(model)
    found = [
        (len(prefix), at)
        for at, entry in enumerate(entries)
        for prefix in entry["prefixes"]
        if _begins(name, prefix)
    ]
    return entries[max(found)[1]] if found else None


def _bare(model: str) -> str:
    """Return a model's name without the prefix of a vendor (`openai/`) or of a region (`us.anthropic.`)."""
    name = model.lower().rpartition("/")[2]
    at = name.find("anthropic.")
    return name if at < 0 else name[at + len("anthropic.") :]


def _begins(name: str, prefix: str) -> bool:
    """Return whether a name matches a prefix: equal, or followed by a date, a size or a variant.

    `gpt-5.9` does not match `gpt-5`, nor `claude-sonnet-5-6` `claude-sonnet-5`: a further version number is another model.
    """
    if not name.startswith(prefix):
        return False
    rest = name[len(prefix) :]
    if not prefix or not rest:
        return True
    if rest[0].isalnum() or rest[0] == ".":
        return False
    number = rest[1:].partition("-")[0]
    return not (prefix[-1].isdigit() and number.isdigit() and len(number) <= _LONGEST_VERSION)


def _family(entry: dict[str, Any]) -> Family:
    price = entry["price"]
    tiers = None if price is None else tuple((tier.get("up_to"), tier["in"], tier["out"]) for tier in price)
    return Family(
        entry["id"], entry["thinking"], entry["effort"], entry["tokens"], entry["schema"], entry["room"],
        entry["more_tokens"], tiers, entry["ends"] or "", entry["then"] or "", entry["as_of"],
    )  # fmt: skip


class RequestOptions(NamedTuple):
    """The options of a request: a model's family, and those of PARTS that its server has `refused`."""

    family: Family
    refused: frozenset[str] = frozenset()

    @property
    def thinking(self) -> Mapping[str, Any] | None:
        """Return the thinking switch to send, or None."""
        return None if THINKING in self.refused else self.family.thinking

    @property
    def effort(self) -> str | None:
        """Return the effort to send, or None."""
        return None if EFFORT in self.refused else self.family.effort

    @property
    def structured(self) -> bool:
        """Return whether the schema of the answer is sent."""
        return SCHEMA not in self.refused

    @property
    def tokens_field(self) -> str:
        """Return the name of the field for the longest answer; the alternative name if the family's was rejected."""
        name = self.family.tokens
        return _OTHER_FIELD.get(name, name) if TOKENS in self.refused else name

    def most_tokens(self, question: Question) -> int:
        """Return the longest answer in tokens, thinking included."""
        room = self.family.room
        if THINKING in self.refused or EFFORT in self.refused:
            room = max(room, _THINKING_ROOM)
        if SCHEMA in self.refused:
            room += _PROSE_ROOM
        return question.rubric.max_tokens + room

    def sent(self) -> frozenset[str]:
        """Return the PARTS that a request contains and that can be omitted or renamed."""
        found = {TOKENS} if TOKENS not in self.refused and self.family.tokens in _OTHER_FIELD else set()
        if self.thinking is not None:
            found.add(THINKING)
        if self.effort is not None:
            found.add(EFFORT)
        if self.structured:
            found.add(SCHEMA)
        return frozenset(found)


def rejected_parts(body: bytes, names: Names) -> frozenset[str]:
    """Return the parts of a request that an error response rejects; empty if it names none of `names`.

    `names` are pairs of a word and its parts.  The error's field for the parameter takes precedence over its message, and in a message
    the first word counts: vendors go on to say what to send instead.
    """
    text = body.decode("utf-8", "replace")
    for complaint in (*_parameters(text), text):
        parts = _first_named(complaint.lower(), names)
        if parts:
            return frozenset(parts)
    return frozenset()


def _parameters(text: str) -> list[str]:
    """Return the `param` and the message of an error in the vendors' usual shape."""
    try:
        payload = loads(text)
    except (ValueError, RecursionError):
        return []
    error = payload.get("error", payload) if isinstance(payload, dict) else None
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if not isinstance(error, dict):
        return []
    return [error[name] for name in ("param", "message") if isinstance(error.get(name), str)]


def _first_named(complaint: str, names: Names) -> tuple[str, ...]:
    """Return the parts of the word that occurs first; of two at one position, of the longer one."""
    found = [(complaint.find(word), -len(word), parts) for word, parts in names if word in complaint]
    return min(found)[2] if found else ()
