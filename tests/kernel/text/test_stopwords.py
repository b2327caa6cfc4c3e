"""The language of a text by its stop words."""

from __future__ import annotations

from memory_plugin.kernel.text.words import language

STOP = {"en": frozenset(("the", "is", "die")), "de": frozenset(("die", "das", "ist"))}
CASES = {
    "English": ("the die is cast", "en"),
    "German": ("die Datenbank ist das Problem", "de"),
    "a draw is English": ("die", "en"),
    "none is English": ("postgres", "en"),
    "nothing is English": ("", "en"),
}


def test_language() -> None:
    assert [
        (text, expected) for text, expected in CASES.values() if language(text.split(), STOP) != expected
    ] == []
