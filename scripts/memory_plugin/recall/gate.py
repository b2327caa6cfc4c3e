"""The prompt gate: which prompts need no memory at all, told in microseconds and without an index."""

from __future__ import annotations

from ..kernel.fastjson import loads
from ..kernel.paths import data_path
from ..kernel.text.tags import without_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CONFIRMATION", "SHORT", "Gate", "effective_length", "load_gate"]

CONFIRMATION, COMMAND, EMPTY, NOT_TYPED, SHORT, TOLD_NOT_TO = (
    "confirmation",
    "command",
    "empty",
    "not_typed",
    "short",
    "told_not_to",
)
_LONGEST_CHAT = 80
_LOOKED_AT = 2000
_LAST_WORDS = 400
_LONGEST = 200_000
_WORD_MARKS = "'-"
_loaded: list[Gate] = []


def load_gate() -> Gate:
    """The gate that the plugin ships with, read once."""
    if not _loaded:
        with open(data_path("recall", "gate.json"), encoding="utf-8") as handle:
            table = loads(handle.read())
        assert isinstance(table, dict)
        _loaded.append(Gate(table))
    return _loaded[0]


class Gate:
    """The word lists of the gate."""

    __slots__ = ("_filler", "_followup", "_followup_starts", "_not_typed", "_opt_out_hints")

    def __init__(self, table: dict[str, Any]) -> None:
        self._filler = {word for words in table["filler"]["words"].values() for word in words.split()}
        self._followup = set(table["followup"]["words"].split())
        self._followup_starts = tuple(table["followup"]["starts"])
        self._not_typed = tuple(table["not_typed"]["starts"])
        self._opt_out_hints = table["opt_out"]["hints"].split()

    def refusal(self, prompt: str) -> str:
        """Why this prompt gets no memories, whatever they are; empty when it may get some.

        One of command, empty, not_typed, told_not_to, confirmation.
        """
        text = prompt.strip()
        if not text:
            return EMPTY
        if _is_command(text):
            return COMMAND
        if not self.is_typed(text):
            return NOT_TYPED
        head = _folded(text)
        words = split_words(head)
        if self._opts_out(text):
            return TOLD_NOT_TO
        if len(text) <= _LONGEST_CHAT and self._filler.issuperset(words):
            return CONFIRMATION
        return ""

    def is_typed(self, prompt: str) -> bool:
        """Whether a person typed this, as far as one can tell, rather than the client sending a notice of its own."""
        return not _folded(prompt.lstrip()[:_LOOKED_AT]).startswith(self._not_typed)

    def is_followup(self, prompt: str, longest: int) -> bool:
        """Whether a prompt of an effective length of at most `longest` points back at what was said before, as "fix that" does."""
        text = prompt.strip()
        if len(text) > longest or effective_length(text) > longest:
            return False
        return text.startswith(self._followup_starts) or not self._followup.isdisjoint(
            split_words(_folded(text))
        )

    def _opts_out(self, text: str) -> bool:
        """Return whether a prompt asks for no memories: by a tag anywhere, or in words near its beginning or end."""
        lowered = text.lower()
        if not any(hint in lowered for hint in self._opt_out_hints):
            return False  # the rules are read for a prompt that may hold one
        from .opt_out import load_opt_out

        rules = load_opt_out()
        ends = [_folded(text)] + ([_folded(text[-_LAST_WORDS:])] if len(text) > _LOOKED_AT else [])
        return rules.is_tagged(text) or any(map(rules.is_told, ends))


def _folded(text: str) -> str:
    return text[:_LOOKED_AT].lower().replace("\u2019", "'")


def _is_command(text: str) -> bool:
    """Whether a text is a slash command rather than one that begins with a path."""
    if not text.startswith("/"):
        return False
    name = text.split(None, 1)[0][1:]
    return name[:1].isalpha() and all(c.isalnum() or c in ":_-." for c in name)


def split_words(text: str) -> list[str]:
    """Return the words of a text; apostrophes and hyphens inside a word stay."""
    spaced = "".join(c if c.isalnum() or c in _WORD_MARKS else " " for c in text)
    return [word.strip(_WORD_MARKS) for word in spaced.split() if word.strip(_WORD_MARKS)]


def effective_length(text: str) -> int:
    """How much a text says, in Latin characters: a CJK character counts three, spaces at the ends nothing."""
    return sum(
        3 if "\u3040" <= c <= "\u9fff" or "\uac00" <= c <= "\ud7af" or c >= "\U00020000" else 1
        for c in text.strip()
    )


def typed_text(prompt: str) -> str:
    """What of a prompt is looked at: without private passages, and of a very long one the head and the tail.

    Where a private passage could reach from the part that is left out into the tail, the tail is left out too.
    """
    if len(prompt) <= _LONGEST:
        return without_private(prompt)
    head, tail = prompt[: _LONGEST // 2], prompt[-_LONGEST // 2 :]
    return without_private(head if "private" in prompt[len(head) :].lower() else head + "\n" + tail)
