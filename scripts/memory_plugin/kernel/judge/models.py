"""Model families (`config/judges/models.json`): the request options that follow from them, and what calls cost.

A family determines the form of a request to its models, their price, and when they are retired. The user's setting `judge.prices` takes
precedence over a family's price. The cost of a model without a known price is unknown, not 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ..paths import load_data
from .question import Question, Verdict

_MAX_VERSION_DIGITS = 2  # a date has four or eight
THINKING, EFFORT, SCHEMA, TOKENS = "thinking", "effort", "schema", "tokens"
_THINKING_ROOM = 4000  # tokens, if the option that limits thinking was rejected
_PROSE_ROOM = 500  # tokens, if the schema was rejected: the answer may contain prose
_DATED = r"(-\d{8})?"  # such as -20251001
_OVERHEAD = 300  # tokens that a provider may add for structured output
_BYTES_PER_TOKEN = 3  # a safe lower bound for rubrics, which are English prose
_OTHER_FIELD = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


class Family(NamedTuple):
    """One family in `config/judges/models.json`.

    `thinking` and `effort` are sent unchanged, unless they are None. `tokens` and `schema` name the fields for the maximum length and the
    schema of the answer; without a `schema` none is sent. `room` is how many tokens an answer may have in addition to the rubric's limit.
    `more_tokens` is the factor by which the same text has more tokens than on older models. `price` holds the tiers of a Price; None means
    unknown. `ends` is the last day as YYYY-MM-DD, `then` the model that replaces it. `refused` are the parts that a server has rejected.
    """

    id: str
    backend: str
    prefixes: Sequence[str]
    thinking: Mapping[str, Any] | None
    effort: str | None
    tokens: str
    schema: str
    room: int
    more_tokens: float
    price: Sequence[Mapping[str, float]] | None
    ends: str | None
    then: str | None
    as_of: str
    refused: frozenset[str] = frozenset()

    def without(self, parts: frozenset[str]) -> Family:
        """Return the family with some parts of its requests omitted or renamed, and with the room that an answer needs then."""
        room = max(self.room, _THINKING_ROOM) if parts & {THINKING, EFFORT} else self.room
        return self._replace(
            thinking=None if THINKING in parts else self.thinking,
            effort=None if EFFORT in parts else self.effort,
            schema="" if SCHEMA in parts else self.schema,
            tokens=_OTHER_FIELD.get(self.tokens, self.tokens) if TOKENS in parts else self.tokens,
            room=room + _PROSE_ROOM if SCHEMA in parts else room,
            refused=parts,
        )

    def max_tokens(self, question: Question) -> int:
        """Return the maximum length of an answer in tokens, thinking included."""
        return question.rubric.max_tokens + self.room

    def sent(self) -> frozenset[str]:
        """Return the parts that a request contains and that can be omitted or renamed."""
        renamed = self.tokens in _OTHER_FIELD and TOKENS not in self.refused
        parts = {THINKING: self.thinking, EFFORT: self.effort, SCHEMA: self.schema, TOKENS: renamed}
        return frozenset(part for part, value in parts.items() if value)


@cache
def model_table() -> dict[str, Any]:
    """Return the table of models, loaded once."""
    return load_data("judges", "models")


def family_of(model: str, backend: str, today: str = "") -> Family:
    """Return the family of a model; each backend has one family that matches every name.

    The backends without a request form of their own use Anthropic's families. With `today` (YYYY-MM-DD), a retired model that another one
    replaces counts as that one.
    """
    form = "anthropic" if backend in ("host", "scripted") else backend
    family = _best_match(model, [family for family in _families() if family.backend == form])
    assert family is not None
    if family.ends and family.then and today >= family.ends:
        return family_of(family.then, backend)
    return family


def priced_family(model: str, backend: str) -> Family | None:
    """Return the family whose price applies to a model; None if no matching family has a price.

    A gateway serves other vendors' models at their prices, so the families of all backends are searched after the backend's own.
    """
    priced = [family for family in _families() if family.price]
    own = [family for family in priced if family.backend == backend]
    return _best_match(model, own) or _best_match(model, priced)


def _best_match(model: str, families: Sequence[Family]) -> Family | None:
    """Return the family with the longest matching prefix of a model's name; None if none matches."""
    name = _bare(model)
    prefixes = ((prefix, family) for family in families for prefix in family.prefixes)
    matches = [match for match in prefixes if _matches(name, match[0])]
    return max(matches, key=lambda match: len(match[0]))[1] if matches else None


def _bare(model: str) -> str:
    """Return a model's name without the prefix of a vendor (`openai/`) or of a region (`us.anthropic.`)."""
    name = model.lower().rpartition("/")[2]
    at = name.find("anthropic.")
    return name if at < 0 else name[at + len("anthropic.") :]


def _matches(name: str, prefix: str) -> bool:
    """Return whether a name is a prefix, alone or followed by a date, a size or a variant.

    `gpt-5.9` does not match `gpt-5`, and `claude-sonnet-5-6` does not match `claude-sonnet-5`: another version number is another model.
    """
    if not name.startswith(prefix):
        return False
    rest = name[len(prefix) :]
    if not prefix or not rest:
        return True
    if rest[0].isalnum() or rest[0] == ".":
        return False
    number = rest[1:].partition("-")[0]
    return not (prefix[-1].isdigit() and number.isdigit() and len(number) <= _MAX_VERSION_DIGITS)


@cache
def _families() -> list[Family]:
    names = [name for name in Family._fields if name not in Family._field_defaults]
    return [Family(*(entry[name] for name in names)) for entry in model_table()["models"]]


def rejected_parts(error: bytes) -> frozenset[str]:
    """Return the parts of a request that a server's error rejects; empty if it names none.

    The first word counts, because vendors go on to say what to send instead; at the same position, the longest.
    """
    text = error.decode("utf-8", "replace").lower()
    words = model_table()["rejections"]["words"]
    matches = [(text.find(word), -len(word), parts) for word, parts in words.items() if word in text]
    return frozenset(min(matches)[2] if matches else ())


class Price(NamedTuple):
    """US dollars per million tokens: tiers with the prices `in` and `out` for prompts of `up_to` tokens, the last one for all others.

    `known` is False for an assumed price; `as_of` is the date of the price, or says that it is the user's own. A call counts for `least`
    against the caps, and its answer may have `room` more tokens.
    """

    tiers: Sequence[Mapping[str, float]]
    known: bool
    as_of: str
    least: float = 0.0
    room: int = 0

    def dollars(self, tokens_in: int, tokens_out: int) -> float:
        """Return the estimated price of a call."""
        tier = next(tier for tier in self.tiers if tokens_in <= tier.get("up_to", tokens_in))
        return (tokens_in * tier["in"] + tokens_out * tier["out"]) / 1_000_000

    def highest(self, question: Question, max_out: int) -> float:
        """Return the highest possible cost of a call whose answer may have `max_out` tokens.

        A question's data counts as one token per byte, the safe bound for any text, unless the question states a lower `max_in`.
        """
        texts = (question.rubric.system, question.message)
        rubric, data = (len(text.encode("utf-8", "replace")) for text in texts)
        data = data if question.max_in is None else min(data, question.max_in)
        tokens_in = rubric // _BYTES_PER_TOKEN + data + _OVERHEAD
        return max(self.least, self.dollars(tokens_in, max_out + self.room))

    def spent(self, reserved: float, verdict: Verdict) -> float:
        """Set a call's cost, None if it is unknown; return what counts against the caps: what was reserved unless the tokens are known."""
        if verdict.tokens_in is None or verdict.tokens_out is None:
            verdict.cost = 0.0 if verdict.is_free else None
            return 0.0 if verdict.is_free else reserved
        cost = self.dollars(verdict.tokens_in, verdict.tokens_out)
        verdict.cost = cost if self.known else None
        return max(self.least, cost)


def price_of(model: str, backend: str = "", own: Mapping[str, Sequence[float]] | None = None) -> Price:
    """Return the price of a model: the user's own, else its family's, else a high assumed one that keeps the caps safe.

    `own` is the setting `judge.prices`: a model's name, with or without a date at its end, to [in, out].
    """
    table, family = model_table(), priced_family(model, backend)
    price = Price([table["unknown"]], False, table["as_of"])
    if family is not None and family.price is not None:
        price = Price(family.price, True, family.as_of)
    for name, (price_in, price_out) in (own or {}).items():
        if re.fullmatch(re.escape(name) + _DATED, model):
            price = Price([{"in": price_in, "out": price_out}], True, "your own settings")
    if backend == "scripted":
        price = Price([{"in": 0.0, "out": 0.0}], True, table["as_of"])
    if backend == "host":
        price = price._replace(least=table["host"]["least"], room=table["host"]["room"])
    return price
