"""What a proposed rule pack changes."""

from __future__ import annotations

import difflib
import json
from typing import Any

from ..replies.phrases import FillerRules
from ..replies.reply_signals import WordLists, measure_reply
from ..replies.score_history import PastScore, reread_replies

_MAX_RESCORED = 500


def pack_diff(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return the change to the pack as a unified diff; empty when there is none."""
    if {"exempt": {}, "rules": [], **before} == after:
        return ""
    old, new = ((json.dumps(pack, indent=2) if pack else "").splitlines() for pack in (before, after))
    return "\n".join(difflib.unified_diff(old, new, "your rule pack", "proposed", lineterm=""))


def rescored(scores: list[PastScore], before: dict[str, Any], after: dict[str, Any]) -> dict[str, int]:
    """Return the number of replies with filler, and of filler phrases, under both packs."""
    lists = WordLists()
    texts = [text for _, text in reread_replies(score.row for score in scores[-_MAX_RESCORED:])]
    totals = {"replies": len(texts)}
    for name, rules in (("before", FillerRules(before)), ("after", FillerRules(after))):
        counts = [measure_reply(text, rules, lists).padding for text in texts]
        totals["padded_" + name], totals["phrases_" + name] = sum(map(bool, counts)), sum(counts)
    return totals
