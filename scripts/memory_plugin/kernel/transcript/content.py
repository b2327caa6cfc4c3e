"""The content of a message: its blocks and texts, and an estimate of its tokens, because the provider's tokenizer is not public."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_TEXT = 200_000  # characters of one text or result, from both ends
_MEDIA = {"image": 1500, "document": 3000}  # tokens, roughly: the provider counts pixels and pages
# Measured by benchmarks/token_estimate.py against the growth of the context in transcripts.
CHARACTERS = 2.75  # characters per token of ASCII prose, code and tool output
_BYTES = 2.1  # UTF-8 bytes per token of everything else


def blocks_of(content: object) -> list[Any]:
    """Return the blocks of a message's content, which is a list, a string or missing."""
    if isinstance(content, list):
        return content
    return [content] if isinstance(content, str) else []


def words(content: object) -> str:
    """Return the text of a row in the user's place, without tool results."""
    texts = (
        block if isinstance(block, str) else _text(block)
        for block in blocks_of(content)
        if isinstance(block, (str, dict))
    )
    return "\n".join(filter(None, texts))


def _text(block: dict[str, Any]) -> str:
    text = block.get("text")
    if isinstance(text, str):
        return text
    kind = str(block.get("type"))
    return "[%s]" % kind if kind in _MEDIA else ""


def joined(content: object) -> str:
    """Return the text of a tool result."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        block if isinstance(block, str) else _text(block)
        for block in content
        if isinstance(block, (str, dict))
    )


def media(content: object) -> int:
    """Return the estimated tokens of the images and documents in a result."""
    blocks = content if isinstance(content, list) else ()
    return sum(_MEDIA.get(str(block.get("type")), 0) for block in blocks if isinstance(block, dict))


def bounded(text: object) -> str:
    """Return a text, without its middle if it is longer than 200,000 characters; empty for anything else."""
    if not isinstance(text, str):
        return ""
    half = _MAX_TEXT // 2
    return text if len(text) <= _MAX_TEXT else text[:half] + "\n[...]\n" + text[-half:]


def size_of(value: object, depth: int = 4) -> int:
    """Return the approximate size of a JSON value in characters."""
    if isinstance(value, str):
        return len(value)
    if depth == 0:
        return 0
    if not isinstance(value, (dict, list)):
        return 4
    size = 0
    for item in value.values() if isinstance(value, dict) else value:
        size += len(item) if item.__class__ is str else size_of(item, depth - 1)
    return size + sum(map(len, value)) if isinstance(value, dict) else size


def tokens_of(text: str) -> float:
    """Return an estimate of the tokens of a text."""
    if text.isascii():
        return len(text) / CHARACTERS
    size = len(text.encode("utf-8", "replace"))
    beyond_ascii = sum(1 for character in text if character > "\x7f") if len(text) < 4096 else _sampled(text)
    plain = len(text) - beyond_ascii
    return plain / CHARACTERS + (size - plain) / _BYTES


def _sampled(text: str) -> int:
    """Return an estimate of the non-ASCII characters of a long text, from every eighth character."""
    part = text[::8]
    return round(sum(1 for character in part if character > "\x7f") * len(text) / len(part))
