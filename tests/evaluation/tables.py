"""The tables of sentences beside this module.

The halves `tuned` and `held-out` were written before the first rules, those of the fifth before the frames. Each of the later ones was
written without looking at the rules, measured once, and only then used to improve them; docs/evaluation.md sums them up. The sixteenth
and later ones of crises, mostly indirect signs, are for the weights of `benchmarks/crisis_hints.py`, and no bound is set for them.
"""

from __future__ import annotations

import json
import os
from typing import Any

HALVES = (
    "tuned", "held-out", "second", "third", "fourth", "fifth-tuned", "fifth-held-out", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth",
)  # fmt: skip


def sentences(name: str, half: str) -> list[dict[str, Any]]:
    """Return one half of a table: records with id, label, half and text."""
    path = os.path.join(os.path.dirname(__file__), name + ".jsonl")
    with open(path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [record for record in records if record["half"] == half]
