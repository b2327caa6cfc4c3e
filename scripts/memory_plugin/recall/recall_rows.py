"""The forms of the ledgers `recalls` and `feedback`."""

from __future__ import annotations

from ..kernel.records import WRONG, Form, checked, count, mapping, number_or_null, signed, text, texts

_VOTES = ((bool, bool), (bool, type(None)), (type(None), bool), (type(None), type(None)))
_CANDIDATE = {
    **dict.fromkeys(("key", "way", "withheld"), text),
    **dict.fromkeys(("confidence", "pointer_confidence"), number_or_null),
    **dict.fromkeys(("score", "shift"), signed),
    "parts": mapping,
}


def _candidates(value: object) -> object:
    if not isinstance(value, list):
        return WRONG
    found = [checked(item, _CANDIDATE) for item in value if isinstance(item, dict)]
    return [item for item in found if "key" in item]


def _verdicts(value: object) -> object:
    """Check the judges' votes on each candidate: relevant and useful, each true, false, or null if that judge gave none."""
    if not isinstance(value, dict):
        return WRONG
    return {
        key: pair
        for key, pair in value.items()
        if isinstance(pair, list) and tuple(map(type, pair)) in _VOTES
    }


def _judge(value: object) -> object:
    form = {"path": text, "reasons": texts, "verdicts": _verdicts}
    return checked(value, form) if isinstance(value, dict) else WRONG


RECALLS = Form(
    "recalls",
    {
        **dict.fromkeys(("place", "outcome", "reason", "problem", "prompt_id", "tool_use_id"), text),
        **dict.fromkeys(("prompt", "answered_by"), text),
        **dict.fromkeys(("injected", "pointed", "guards"), texts),
        **dict.fromkeys(("tokens", "rules", "listed", "unlisted", "found", "unread"), count),
        **dict.fromkeys(("inject_threshold", "pointer_threshold", "ms"), number_or_null),
        "candidates": _candidates,
        "judge": _judge,
    },
)
FEEDBACK = Form("feedback", {"memories": texts})
