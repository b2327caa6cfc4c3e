"""Invisible characters and look-alikes, which can hide text or change how it appears (Unicode TR 36 and TR 39).

Each group is a tuple of (first, last) code points. Nothing here imports `re`, because scoring a reply does without it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
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


def code_points(ranges: Ranges) -> frozenset[int]:
    """Return the code points of some ranges."""
    return frozenset(code for first, last in ranges for code in range(first, last + 1))


def character_class(ranges: Ranges) -> str:
    """Return the ranges as the inside of a character class of `re`."""
    return "".join("%s-%s" % (chr(first), chr(last)) for first, last in ranges)
