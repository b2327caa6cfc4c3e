"""Score how much the words of a message hint at a crisis, where no rule matches. `benchmarks/crisis_hints.py` fits the weights."""

from __future__ import annotations

import re
from functools import cache
from math import sqrt
from typing import Any

from ..kernel.paths import load_data
from .rule_matching import fold_text

_WORD = re.compile(r"[a-z']+")
_MAX_TEXT = 400  # characters; the weights come from messages of a few sentences


def hint_features(text: str) -> set[str]:
    """Return the words of a text and its pairs of neighboring words."""
    words = _WORD.findall(fold_text(text).lower())
    return {*words, *map(" ".join, zip(words, words[1:]))}


@cache
def _model() -> dict[str, Any]:
    return load_data("evaluation", "hints")


def is_hint(text: str) -> bool:
    """Return whether the words of a short message hint at a crisis."""
    if len(text) > _MAX_TEXT:
        return False
    model, features = _model(), hint_features(text)
    weights = model["weights"]
    total = sum(weights.get(feature, 0) for feature in features) / sqrt(len(features) + 1)
    return bool(weights[""] + total > model["threshold"])
