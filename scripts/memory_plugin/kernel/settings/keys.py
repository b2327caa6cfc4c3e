"""The keys that can be set, out of the schema, for the command line. Not for the prompt's path."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..native import loads
from .load import schema
from .values import expected, fits, got, misfit, nearest_choice, shown

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "Key",
    "WrongValueError",
    "canonical",
    "is_block",
    "keys",
    "must_fit",
    "parsed",
    "replacements",
    "top_level",
]


class Key(NamedTuple):
    """One key: its dotted name, its part of the schema, what a project may do to it, and what it means."""

    name: str
    rule: dict[str, Any]
    default: object
    project: str
    description: str


class WrongValueError(Exception):
    """A value that does not fit its key: what was expected and what was found."""

    def __init__(self, key: str, wanted: str, got: str) -> None:
        super().__init__("%s: expected %s, got %s" % (key, wanted, got))


def keys() -> dict[str, Key]:
    """All keys by name, in the order of the schema. Raises SettingsFileError when the schema is damaged."""
    found: dict[str, Key] = {}
    _gather(schema(), "", found)
    return found


def _gather(rule: dict[str, Any], name: str, found: dict[str, Key]) -> None:
    for part, below in rule.get("properties", {}).items():
        _gather(below, name + "." + part if name else part, found)
    if "default" in rule:
        found[name] = Key(name, rule, rule["default"], rule["x-project"], rule["description"])


def top_level() -> tuple[str, ...]:
    """The blocks that are read outside the block `memory` too."""
    return tuple(schema()["x-top-level"])


def replacements() -> dict[str, str]:
    """Return what to use in place of a key that there was once, by its dotted name. Raises SettingsFileError when the schema is damaged."""
    return dict(schema()["x-replaced"])


def canonical(name: str) -> str:
    """A key as people write it, without the leading `memory.` that it has in a file."""
    return name.removeprefix("memory.")


def is_block(name: str) -> bool:
    """Whether this names a block of keys rather than one."""
    return any(key.startswith(name + ".") for key in keys())


def parsed(key: Key, text: str) -> object:
    """The value that a person wrote for a key: JSON, or for a text the text itself.

    Raises WrongValueError when it does not fit.
    """
    value: object = text
    if key.rule["type"] != "string" or text.startswith('"'):
        try:
            value = loads(text)
        except ValueError:
            raise WrongValueError(key.name, expected(key.rule), shown(text)) from None
    must_fit(key, value)
    return value


def must_fit(key: Key, value: object) -> None:
    """Raises WrongValueError, which names the nearest choice, for a value that does not fit a key."""
    if fits(key.rule, value):
        return
    near = nearest_choice(key.rule, misfit(key.rule, value))
    raise WrongValueError(
        key.name, expected(key.rule), got(key.rule, value) + ("; nearest: " + near if near else "")
    )
