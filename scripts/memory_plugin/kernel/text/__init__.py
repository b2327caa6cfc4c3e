"""Characters that matter to safety: `<private>` tags, characters that could forge tags, and invisible ones and look-alikes.

The latter can hide text or change how it appears (Unicode TR 36 and TR 39); each group is a tuple of (first, last) code points. All this
runs while a prompt waits or a reply is scored, so nothing here imports `re`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import AnyStr

Ranges = tuple[tuple[int, int], ...]

CONTROLS = ((0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F))  # without tab and line feed
# Soft hyphen, grapheme joiner, Mongolian selectors and vowel separator, zero width, directions, byte order mark.
FORMAT = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x180B, 0x180F), (0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E),
    (0x2060, 0x206F), (0xFEFF, 0xFEFF),
)  # fmt: skip
JOINERS = ((0x200C, 0x200D),)  # needed between letters of some scripts, and between emoji
SELECTORS = ((0xFE00, 0xFE0F),)  # choose the form of the symbol before them
FILLERS = ((0x115F, 0x1160), (0x17B4, 0x17B5), (0x3164, 0x3164), (0xFFA0, 0xFFA0))  # blank letters
# Noncharacters, annotations, shorthand, musical formatting, and tag characters, which can hold whole sentences.
OTHERS = (
    (0xFDD0, 0xFDEF), (0xFFF0, 0xFFFB), (0xFFFE, 0xFFFF), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
IN_WORDS = FORMAT + JOINERS + SELECTORS  # invisible in the middle of a word

LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0405\u0408"
    "\u03bf\u03b1\u03b5\u03b9\u03ba\u03bd\u03c1\u03c5\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03a5",
    "aeopcyxijshdqwABEKMHOPCTXISJoaeikvpuABEHIKMNOPTXY",
)
# A key of several lines: how it begins, what follows in the same line, and how it ends.
_KEYS = (("-----BEGIN ", "PRIVATE KEY", "-----END "), ("Private-Lines:", "", "Private-MAC:"))
_NAME = "private"
_SPACE = " \t\r\n\f\v"
# How the names of tags begin that frame text for Claude: ours, and those of the client.
_FRAMES = (
    "memory", "past-", "system-", "local-command", "command-name", "command-message", "task-notification", "user-prompt", "bash-input",
    "bash-std", "teammate-message", "agent-notification", "function_", "antml",
)  # fmt: skip

# Of transcripts, measured by benchmarks/token_estimate.py against the growth of their context.
_ASCII_PER_TOKEN = 2.75  # prose, code and tool output
_BYTES_PER_TOKEN = 2.1  # of UTF-8, of everything else
# Of what Claude is shown: the unit of the budgets in the settings, and of the tokens in ledgers.
_SHOWN_ASCII_PER_TOKEN, _SHOWN_OTHER_PER_TOKEN = 4.0, 1.5


def tokens_of(text: str) -> float:
    """Return an estimate of the tokens of a text from a transcript."""
    size, ascii_size = len(text.encode("utf-8", "replace")), len(text.encode("ascii", "ignore"))
    return ascii_size / _ASCII_PER_TOKEN + (size - ascii_size) / _BYTES_PER_TOKEN


def shown_tokens(text: str) -> float:
    """Return how much of a budget in tokens a text takes that Claude is shown, before rounding up."""
    ascii_size = len(text.encode("ascii", "ignore"))
    return ascii_size / _SHOWN_ASCII_PER_TOKEN + (len(text) - ascii_size) / _SHOWN_OTHER_PER_TOKEN


def positions(text: AnyStr, part: AnyStr) -> Iterator[int]:
    """Yield where a part begins in a text; such parts may overlap."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def cut_before(text: str, at: int) -> int:
    """Return the last position up to `at` where a text may end: not inside of a word or a private key, whose half no rule would find."""
    if at >= len(text):
        return len(text)
    at = max(text.rfind(blank, 0, at) for blank in " \n") + 1 or at
    return min([at, *(begin for begin, end in _keys(text, at) if not begin < end <= at)])


def cut_after(text: str, at: int) -> int:
    """Return the first position from `at` where a text may begin: not inside of a word or a private key, as in `cut_before`."""
    at = max([at, *(len(text) if end < 0 else end for _, end in _keys(text, at))])
    return min((place for place in (text.find(blank, at) for blank in " \n") if place >= 0), default=at)


def cut_at_word(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters; a longer one ends with an ellipsis, after a whole word if that keeps half of it."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip(" ,;:") + "\u2026"


def _keys(text: str, at: int) -> list[tuple[int, int]]:
    """Return where the last keys of each kind before a position begin and end, -1 for a key without an end."""
    begins = [(text.rfind(opening, 0, at + len(opening)), rest, closing) for opening, rest, closing in _KEYS]
    return [(at, text.find(end, at)) for at, rest, end in begins if at >= 0 and rest in text[at : at + 50]]


def without_private(text: str) -> str:
    """Return the text without its `<private>…</private>` parts.

    Case is ignored, tags may contain spaces and attributes, and parts may be nested. An unclosed part extends to the end of the text.
    `<private/>` opens a part, too, because removing too much is the safe error. A closing tag without an open part is removed.
    """
    if "<" not in text:
        return text
    # U+0130 is the only character whose lower case is longer, which would shift all offsets.
    lower = text.replace("\u0130", "i").lower()
    if _NAME not in lower:
        return text
    return _outside(text, lower)


def _outside(text: str, lower: str) -> str:
    """Return the parts of a text outside private tags; `lower` is the text in lower case, with the same offsets."""
    outside: list[str] = []
    depth = position = 0
    at = lower.find("<")
    while at >= 0:
        after, closes = _tag(lower, at)
        if after < 0:
            at = lower.find("<", at + 1)
            continue
        if depth == 0:
            outside.append(text[position:at])
        depth = max(0, depth - 1) if closes else depth + 1
        if closes:
            end = lower.find(">", after)
            if end < 0:
                return "".join(outside)
            position = after = end + 1
        at = lower.find("<", after)
    if depth == 0:
        outside.append(text[position:])
    return "".join(outside)


def _tag(lower: str, at: int) -> tuple[int, bool]:
    """Return the offset after the tag's name, or -1 if no private tag begins at `at`, and whether the tag closes a part."""
    position = _skip(lower, at + 1)
    closes = lower.startswith("/", position)
    if closes:
        position = _skip(lower, position + 1)
    if not lower.startswith(_NAME, position):
        return -1, closes
    position += len(_NAME)
    return (position, closes) if lower[position : position + 1] in _SPACE + "/>" else (-1, closes)


def _skip(lower: str, position: int) -> int:
    while lower[position : position + 1] in _SPACE and position < len(lower):
        position += 1
    return position


def escape_content(text: str) -> str:
    """Return the text with `<` as an entity where a tag of ours or of the host could begin; commands stay as they were typed."""
    if "<" not in text:
        return text
    first, *parts = text.split("<")
    return first + "".join(("&lt;" if _begins_tag(part) else "<") + part for part in parts)


def _begins_tag(rest: str) -> bool:
    """Return whether a text after `<` could begin a tag that frames text for Claude; at its end, what follows is not known."""
    closing = rest.lstrip()
    name = closing[1:].lstrip() if closing.startswith("/") else rest
    return not closing or name.lower().startswith(_FRAMES)


def character_class(ranges: Ranges) -> str:
    """Return the ranges as the inside of a character class of `re`."""
    return "".join("%s-%s" % (chr(first), chr(last)) for first, last in ranges)
