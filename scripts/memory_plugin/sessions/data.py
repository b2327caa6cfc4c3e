"""The tables that sessions are read and graded with, as the plugin ships them in `config/sessions/`."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from ..kernel.native import loads
from ..kernel.paths import data_path

if TYPE_CHECKING:
    from typing import Any

__all__ = ["load_table", "pattern"]


@cache
def load_table(name: str) -> dict[str, Any]:
    """A file of `config/sessions/`."""
    with open(data_path("sessions", name + ".json"), encoding="utf-8") as file:
        table = loads(file.read())
    assert isinstance(table, dict)
    return table


@cache
def pattern(name: str) -> re.Pattern[str]:
    """A pattern of `patterns.json` by its id. Raises KeyError for one that does not exist."""
    entries = {entry["id"]: entry["pattern"] for entry in load_table("patterns")["patterns"]}
    return re.compile(entries[name], re.IGNORECASE | re.MULTILINE)
