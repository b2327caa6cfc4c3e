"""Detect whether the user asks Claude to remember something, in a prompt that may also contain pasted text.

A pasted page, mail or file can ask to be remembered. Therefore only the first line counts, and there only a sentence that begins with the
request: the first one, or a later one of a short prompt of one line that speaks of no text. In doubt there is no request; then what Claude
saves is pending. Every prompt runs this module, so it does not import `re` before there is a hint of a request.
"""

from __future__ import annotations

from ..kernel.data import load_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from typing import Any

COMMAND = "/memory:save"
_MAX_LINE = 1000  # characters
_MAX_SHORT = 300
_MAX_FIRST_WORDS = 16
_NOT_OWN = ("    ", "\t", ">", "<", "```", "~~~", "#", "|", "//", "- ", "* ", "+ ", "\u2022", "[", "{")
_SENTENCE_ENDS = ".!?\u3002\uff01\uff1f"
_UNSPACED = ("zh", "ja", "ko")
_GAPS = (r"(?:\s*[,:!.;-]\s*|\s+)", "[,:\u3001\uff0c]?\\s*")  # between introductory words and the request
_loaded: list[list[Pattern[str]]] = []


def asks_to_save(prompt: str) -> bool:
    """Return whether a typed prompt asks for something to be saved: by `/memory:save`, or by a sentence."""
    text = prompt.strip("\r\n")
    if text.lstrip().split(None, 1)[:1] == [COMMAND]:
        return True
    line = text.partition("\n")[0][:_MAX_LINE].lower().replace("\u2019", "'").rstrip()
    table = load_data("memories", "save_requests")
    if not any(hint in line for hint in table["hints"]) or line.startswith(_NOT_OWN):
        return False
    first, *later = _sentences(line)
    if _is_request(first, table):
        return True
    is_short = "\n" not in text and len(line) <= _MAX_SHORT and len(first.split()) <= _MAX_FIRST_WORDS
    return is_short and not _speaks_of_text(first, table) and any(_is_request(text, table) for text in later)


def _sentences(line: str) -> list[str]:
    """Return the sentences of a line; a stop inside a word, such as in a version or a file's name, ends none."""
    sentences, start = [], 0
    for at, sign in enumerate(line):
        below = line[at + 1 : at + 2]
        if sign in _SENTENCE_ENDS and (not below or below.isspace() or sign > "\u3000"):
            sentences.append(line[start : at + 1].strip())
            start = at + 1
    return [*sentences, line[start:].strip()] if line[start:].strip() or not sentences else sentences


def _is_request(sentence: str, table: dict[str, Any]) -> bool:
    if not _loaded:
        _loaded.append(_patterns(table))
    found = (pattern.match(sentence) for pattern in _loaded[0])
    asked = next((match for match in found if match), None)
    # A question is a request only in a form such as "can you remember that ...?"
    return asked is not None and (sentence[-1] not in "?\uff1f" or " you " in asked.group(1) + " ")


def _patterns(table: dict[str, Any]) -> list[Pattern[str]]:
    import re

    return [
        re.compile(
            "((?:(?:%s)%s){0,4})(?:%s)" % (table["leads"][language], _GAPS[language in _UNSPACED], form)
        )
        for language, forms in table["sentences"].items()
        for form in forms
    ]


def _speaks_of_text(sentence: str, table: dict[str, Any]) -> bool:
    """Return whether a sentence is a question or speaks of somebody's text, which may follow it."""
    words = table["about_text"]["words"].split()
    spoken = set("".join(c if c.isalnum() or c in "-'" else " " for c in sentence).split())
    is_unspaced = (word in sentence for word in words if word[0] > "\u2fff")
    return sentence[-1:] in ("?", "\uff1f", ":") or not spoken.isdisjoint(words) or any(is_unspaced)
