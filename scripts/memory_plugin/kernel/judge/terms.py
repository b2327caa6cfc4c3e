"""How one model at one server is asked: as its family wants it, without the parts of a request that the server refused before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..native import loads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .models import Family
    from .question import Question

    Names = Sequence[tuple[str, tuple[str, ...]]]

__all__ = ["EFFORT", "PARTS", "SCHEMA", "THINKING", "TOKENS", "Terms", "named_parts"]

THINKING, EFFORT, SCHEMA, TOKENS = "thinking", "effort", "schema", "tokens"
PARTS = (THINKING, EFFORT, SCHEMA, TOKENS)
_THINKING_ROOM = 4000  # tokens, where what keeps the thinking short was refused
_PROSE_ROOM = 500  # tokens, where the schema was refused: the answer may come with words around it
_OTHER_FIELD = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


class Terms(NamedTuple):
    """A model's family and the `refused` ones of PARTS."""

    family: Family
    refused: frozenset[str] = frozenset()

    @property
    def thinking(self) -> Mapping[str, Any] | None:
        """The thinking switch as it is sent; None for none."""
        return None if THINKING in self.refused else self.family.thinking

    @property
    def effort(self) -> str | None:
        """The effort; None for none."""
        return None if EFFORT in self.refused else self.family.effort

    @property
    def structured(self) -> bool:
        """Whether the schema of the answer is sent."""
        return SCHEMA not in self.refused

    @property
    def tokens_field(self) -> str:
        """The name of the field that bounds the answer: the other one of two where the family's was refused."""
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


def named_parts(body: bytes, names: Names) -> frozenset[str]:
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
