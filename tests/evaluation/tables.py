"""The tables of sentences beside this module, written before the rules."""

from __future__ import annotations

import json
import os
from typing import Any

HALVES = ("tuned", "held-out")


def sentences(name: str, half: str) -> list[dict[str, Any]]:
    """One half of a table: records with id, label, half and text."""
    path = os.path.join(os.path.dirname(__file__), name + ".jsonl")
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [record for record in records if record["half"] == half]
