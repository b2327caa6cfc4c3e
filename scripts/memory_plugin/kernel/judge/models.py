"""Model families: what a request to a model looks like and when the model ends, out of `config/judge/models.json`.

How one model at one server is asked: as its family wants it, without the parts of a request that the server refused before.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fastjson import loads
from ..paths import data_path

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
_THINKING_ROOM = 4000  # tokens, where what keeps the thinking short was refused
_PROSE_ROOM = 500  # tokens, where the schema was refused: the answer may come with words around it
_OTHER_FIELD = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


class Family(NamedTuple):
    """One entry of the table.

    `thinking` and `effort` are sent as they stand, None is not sent.  `tokens` and `schema` name the fields that bound an answer and
    hold its schema.  `room` is how many tokens an answer may have beyond the rubric's own.  `more_tokens` is the factor by which
    the same text has more tokens than on older models.  `price` holds tiers of (most prompt tokens or None, in, out) in US dollars per
    million tokens, None where it is unknown.  `ends` is the last day as YYYY-MM-DD or "", `then` the model that answers from then on.
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
    """Return the table as it stands in the file."""
    with open(data_path("judge", "models.json"), encoding="utf-8") as file:
        table = loads(file.read())
    assert isinstance(table, dict)
    return table


def family_of(model: str, backend: str, today: str = "") -> Family:
    """Return the family of a model of a backend; each backend has one that takes every name.

    With `today` (YYYY-MM-DD) a model that has ended and is answered by another one counts as that one.
    """
    entry = _longest(model, [entry for entry in model_table()["models"] if entry["backend"] == backend])
    assert entry is not None
    family = _family(entry)
    if today and family.then and today >= family.ends:
        return family_of(family.then, backend)
    return family


def priced_family(model: str, backend: str) -> Family | None:
    """Return the family by whose price a model counts; None where no family that fits has a price.

    A gateway serves the models of others at their price, so that a name is looked for among all backends at last.
    """
    entries = [entry for entry in model_table()["models"] if entry["price"]]
    own = _longest(model, [entry for entry in entries if entry["backend"] == backend])
    entry = own or _longest(model, entries)
    return None if entry is None else _family(entry)


def _longest(model: str, entries: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the entry with the longest prefix of a model's name."""
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
    """Return whether a name is that of a family: the prefix itself, or with a date, a size or a variant behind it.

    `gpt-5.9` is no `gpt-5`, and `claude-sonnet-5-6` no `claude-sonnet-5`: a further version number makes another model.
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
    """A model's family and the `refused` ones of PARTS."""

    family: Family
    refused: frozenset[str] = frozenset()

    @property
    def thinking(self) -> Mapping[str, Any] | None:
        """Return the thinking switch as it is sent; None for none."""
        return None if THINKING in self.refused else self.family.thinking

    @property
    def effort(self) -> str | None:
        """Return the effort; None for none."""
        return None if EFFORT in self.refused else self.family.effort

    @property
    def structured(self) -> bool:
        """Return whether the schema of the answer is sent."""
        return SCHEMA not in self.refused

    @property
    def tokens_field(self) -> str:
        """Return the name of the field that bounds the answer: the other one of two where the family's was refused."""
        name = self.family.tokens
        return _OTHER_FIELD.get(name, name) if TOKENS in self.refused else name

    def most_tokens(self, question: Question) -> int:
        """Return how long an answer may be, thinking included."""
        room = self.family.room
        if THINKING in self.refused or EFFORT in self.refused:
            room = max(room, _THINKING_ROOM)
        if SCHEMA in self.refused:
            room += _PROSE_ROOM
        return question.rubric.max_tokens + room

    def sent(self) -> frozenset[str]:
        """Return those of PARTS that a request holds and that can be left out, or renamed."""
        found = {TOKENS} if TOKENS not in self.refused and self.family.tokens in _OTHER_FIELD else set()
        if self.thinking is not None:
            found.add(THINKING)
        if self.effort is not None:
            found.add(EFFORT)
        if self.structured:
            found.add(SCHEMA)
        return frozenset(found)


def rejected_parts(body: bytes, names: Names) -> frozenset[str]:
    """Return the parts of a request that an error answer complains about; empty when it names none of `names`.

    `names` are pairs of a word and the parts that it stands for.  A field of the error that names the parameter goes before its
    message, and in a message the word that comes first: vendors go on to say what to send instead.
    """
    text = body.decode("utf-8", "replace")
    for said in (*_parameters(text), text):
        parts = _first_named(said.lower(), names)
        if parts:
            return frozenset(parts)
    return frozenset()


def _parameters(text: str) -> list[str]:
    """Return what an error in the vendors' usual shape names: its `param`, then its message."""
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


def _first_named(said: str, names: Names) -> tuple[str, ...]:
    """Return the parts of the word that comes first; of two at one place, of the longer one."""
    found = [(said.find(word), -len(word), parts) for word, parts in names if word in said]
    return min(found)[2] if found else ()
