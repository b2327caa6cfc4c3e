"""What one call came to, before its text is read; filled in by the thread that makes the call.

Failures in plain words, out of `config/judge/failures.json`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..fastjson import loads
from ..paths import data_path

__all__ = ["FailureText", "JudgeError", "explain_failure", "setup_options"]

_FEATURE = "FEATURE"


class JudgeError(Exception):
    """A call that brought no text: the failure's name, more in words, and how long the server asks to wait."""

    def __init__(self, name: str, detail: str = "", wait: float | None = None) -> None:
        super().__init__(name)
        self.name = name
        self.detail = detail
        self.wait = wait


class FailureText(NamedTuple):
    """What a failure means, and what to do about it."""

    says: str
    do: str


def explain_failure(failure: str, feature: str) -> FailureText:
    """Return the words for a failure's name, to somebody whose question came from a feature."""
    table = _table()["failures"]
    entry = table.get(failure) or table["http" if failure.startswith("http_") else "error"]
    return FailureText(entry["says"], entry["do"].replace(_FEATURE, feature))


def setup_options(feature: str) -> list[str]:
    """For somebody without a key: the ways to get a judge for a feature."""
    return [way.replace(_FEATURE, feature) for way in _table()["ways"]]


def _table() -> dict[str, Any]:
    with open(data_path("judge", "failures.json"), encoding="utf-8") as file:
        table = loads(file.read())
    assert isinstance(table, dict)
    return table
