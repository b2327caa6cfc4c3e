"""How many tokens a text has, estimated: no tokenizer is at hand, and the provider's is not public."""

from __future__ import annotations

__all__ = ["CHARACTERS", "tokens_of"]

# Measured by benchmarks/token_estimate.py against the growth of the context that transcripts record.
CHARACTERS = 2.75  # a token of prose, code and tool output in ASCII
_BYTES = 2.1  # a token of everything else, in UTF-8


def tokens_of(text: str) -> float:
    """The estimated tokens of a text."""
    if text.isascii():
        return len(text) / CHARACTERS
    size = len(text.encode("utf-8", "replace"))
    foreign = sum(1 for character in text if character > "\x7f") if len(text) < 4096 else _sampled(text)
    plain = len(text) - foreign
    return plain / CHARACTERS + (size - plain) / _BYTES


def _sampled(text: str) -> int:
    """How many characters beyond ASCII a long text has, told by every eighth."""
    part = text[::8]
    return round(sum(1 for character in part if character > "\x7f") * len(text) / len(part))
