"""Whether a prompt may hold a lasting statement, told by substrings: the end of every turn asks this, so nothing here uses `re`."""

from __future__ import annotations

from ..kernel.data import load_data

__all__ = ["HOLDS_NOTHING", "holds", "may_hold_statement"]

HOLDS_NOTHING = 12  # characters below which no prompt says anything lasting
_LOOKED_AT = 20_000
_ASKING = (
    "what",
    "which",
    "who",
    "where",
    "when",
    "is",
    "are",
    "was",
    "does",
    "did",
    "do",
    "has",
    "have",
    "should",
)


def may_hold_statement(prompt: str) -> bool:
    """Return whether a rule of `config/capture/statements.json` could apply; False for most prompts."""
    if len(prompt) < HOLDS_NOTHING or _only_asks(prompt):
        return False
    text = " %s " % " ".join(prompt[:_LOOKED_AT].lower().replace("\u2019", "'").split())
    rules = load_data("capture", "statements")["rules"]
    return any(holds(hint, text) for rule in rules for hint in rule["hints"])


def holds(hint: str, text: str) -> bool:
    """Return whether a text in lower case holds all parts of a hint, which `+` separates."""
    return all(part in text for part in hint.split("+"))


def _only_asks(prompt: str) -> bool:
    """Return whether a prompt is one question for information; "can you never ..." is an order."""
    text = prompt.strip()
    return (
        text.endswith("?")
        and not any(sign in text for sign in ".!\n;")
        and text.split(None, 1)[0].lower() in _ASKING
    )
