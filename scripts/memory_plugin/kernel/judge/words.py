"""Failures in plain words, out of `config/judges/words.json`."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..native import loads
from ..paths import data_path

__all__ = ["Words", "ways_to_a_judge", "words_for"]

_FEATURE = "FEATURE"


class Words(NamedTuple):
    """What a failure means, and what to do about it."""

    says: str
    do: str


def words_for(failure: str, feature: str) -> Words:
    """The words for a failure's name, to somebody whose question came from a feature."""
    table = _table()["failures"]
    entry = table.get(failure) or table["http" if failure.startswith("http_") else "error"]
    return Words(entry["says"], entry["do"].replace(_FEATURE, feature))


def ways_to_a_judge(feature: str) -> list[str]:
    """For somebody without a key: the ways to get a judge for a feature."""
    return [way.replace(_FEATURE, feature) for way in _table()["ways"]]


def _table() -> dict[str, Any]:
    with open(data_path("judges", "words.json"), encoding="utf-8") as file:
        table = loads(file.read())
    assert isinstance(table, dict)
    return table
