"""The tables of sentences beside this module.

The halves `tuned` and `held-out` were written before the first rules, those of the fifth before the frames. Each of the later ones was
written without looking at the rules, measured once, and only then used to improve them; docs/evaluation.md sums them up. The sixteenth
and later ones of crises, mostly indirect signs, are for the weights of `benchmarks/crisis_hints.py`, and no bound is set for them.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any

from memory_plugin.evaluation.packs import load_pack
from memory_plugin.evaluation.rule_matching import RulePack

HALVES = (
    "tuned", "held-out", "second", "third", "fourth", "fifth-tuned", "fifth-held-out", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth",
)  # fmt: skip


@cache
def shipped_pack(name: str) -> RulePack:
    """Return a shipped pack, read once."""
    return load_pack(name)


@cache
def table(name: str) -> list[dict[str, Any]]:
    """Return the records of a table: id, label, half and text."""
    with open(os.path.join(os.path.dirname(__file__), name + ".jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def sentences(name: str, half: str) -> list[dict[str, Any]]:
    """Return one half of a table."""
    return [record for record in table(name) if record["half"] == half]
