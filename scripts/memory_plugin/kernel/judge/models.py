"""Model families: what a request to a model looks like and when the model ends, out of `config/judges/models.json`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..native import loads
from ..paths import data_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Family", "family_of", "model_table", "priced_family"]

_LONGEST_VERSION = 2  # digits; a date has four or eight


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
    with open(data_path("judges", "models.json"), encoding="utf-8") as file:
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
