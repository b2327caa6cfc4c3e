"""The prompt gate: which prompts need no memory at all, told in microseconds and without an index."""

from __future__ import annotations

from ..kernel.native import loads
from ..kernel.paths import data_path
from ..kernel.text.private import without_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CONFIRMATION", "SHORT", "Gate", "effective_length", "load_gate"]

CONFIRMATION, COMMAND, EMPTY, NOT_TYPED, SHORT, TOLD_NOT_TO = "confirmation", "command", "empty", "not_typed", "short", "told_not_to"
_LONGEST_CHAT = 80
_LOOKED_AT = 2000
_WORD_MARKS = "'-"


def load_gate() -> Gate:
    """The gate that the plugin ships with."""
    with open(data_path("recall", "gate.json"), encoding="utf-8") as handle:
        table = loads(handle.read())
    assert isinstance(table, dict)
    return Gate(table)


class Gate:
    """The word lists of the gate."""

    __slots__ = ("_filler", "_followup", "_not_typed", "_told_not_to")

    def __init__(self, table: dict[str, Any]) -> None:
        self._filler = {word for words in table["filler_words"].values() for word in words.split()}
        self._followup = set(table["followup_words"].split())
        self._not_typed = tuple(table["not_typed"])
        self._told_not_to = table["told_not_to"]

    def refusal(self, prompt: str) -> str:
        """Why this prompt gets no memories whatever they are: command, empty, not_typed, told_not_to, confirmation. Empty: it may get some."""
        text = prompt.strip()
        if not text:
            return EMPTY
        if _is_command(text):
            return COMMAND
        head = text[:_LOOKED_AT].lower().replace("\u2019", "'")
        if head.startswith(self._not_typed):
            return NOT_TYPED
        if any(phrase in head for phrase in self._told_not_to):
            return TOLD_NOT_TO
        if len(text) <= _LONGEST_CHAT and all(word in self._filler for word in _words(head)):
            return CONFIRMATION
        return ""

    def is_followup(self, prompt: str, longest: int) -> bool:
        """Whether a prompt of at most `longest` characters points back at what was said before, as "fix that" does."""
        return len(prompt) <= longest and not self._followup.isdisjoint(_words(prompt.lower()))


def _is_command(text: str) -> bool:
    """Whether a text is a slash command rather than one that begins with a path."""
    if not text.startswith("/"):
        return False
    name = text.split(None, 1)[0][1:]
    return name[:1].isalpha() and all(c.isalnum() or c in ":_-." for c in name)


def _words(text: str) -> list[str]:
    spaced = "".join(c if c.isalnum() or c in _WORD_MARKS else " " for c in text)
    return [word.strip(_WORD_MARKS) for word in spaced.split() if word.strip(_WORD_MARKS)]


def effective_length(text: str) -> int:
    """How much a text says, in Latin characters: a CJK character counts three, spaces at the ends nothing."""
    return sum(3 if "\u3040" <= c <= "\u9fff" or "\uac00" <= c <= "\ud7af" or c >= "\U00020000" else 1 for c in text.strip())


def typed_text(prompt: str, longest: int = 200_000) -> str:
    """What of a prompt is looked at: without private passages, and of a very long one the head and the tail."""
    if len(prompt) > longest:
        prompt = prompt[: longest // 2] + "\n" + prompt[-longest // 2 :]
    return without_private(prompt)
