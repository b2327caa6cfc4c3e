"""Mask what is not a reply's own prose: code, quotations, tables, addresses. Offsets stay the same.

Every pass takes linear time, even for hostile text: an opening mark without an end has no effect beyond its line.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MASK = "\x01"
_FENCES = ("```", "~~~")
_BOXES = "|\u2502\u251c\u2514\u250c\u2570\u256d"
_PAIRS = {
    "\u201c": "\u201d",
    "\u201e": "\u201c",
    "\u00ab": "\u00bb",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
    "\u2039": "\u203a",
}
_MAX_QUOTE = 600
_MAX_SINGLE_QUOTE = 120
_BEFORE_QUOTE = " \t([{-*_/:=\u2014>,"
_AFTER_QUOTE = " \t.,;:!?)]}*_-/\u2014|"
_ADDRESS_MARKS = ("://", "www.")
_PATH_STARTS = ("/", "./", "../", "~/", "@/")


def mask(text: str) -> str:
    """Replace each passage of a folded text that is not prose by one `MASK` and spaces, with the same length."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        bare = line.lstrip(" \t")
        if fence:
            fence = "" if _closes(bare, fence) else fence
            lines.append(_masked(len(line)))
        elif bare.startswith(_FENCES):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
            if "`" in bare[len(fence) :] and fence[0] == "`":
                fence = ""  # an info string holds no backtick, so this is inline code (CommonMark 4.5)
                lines.append(_mask_line(line))
            else:
                lines.append(_masked(len(line)))
        elif bare[:1] == ">" or (bare[:1] in _BOXES and bare):
            lines.append(_masked(len(line)))
        else:
            lines.append(_mask_line(line))
    return "\n".join(lines)


def _closes(bare: str, fence: str) -> bool:
    """Return whether a line ends a fenced block: the same character at least as often, and nothing else (CommonMark 4.5)."""
    rest = bare.rstrip(" \t")
    return len(rest) >= len(fence) and rest == fence[0] * len(rest)


def _masked(length: int) -> str:
    return (" " + MASK + " " * (length - 2)) if length > 2 else MASK[:length].ljust(length)


def _mask_line(line: str) -> str:
    if "`" in line:
        line = _replace(line, _code_spans(line))
    if '"' in line:
        line = _replace(line, _double_quotes(line))
    if "'" in line:
        line = _replace(line, _single_quotes(line))
    if not line.isascii() and any(mark in line for mark in _PAIRS):
        line = _replace(line, _paired_quotes(line))
    if "/" in line or "www." in line or "\\" in line:
        line = _replace(line, _addresses(line))
    return line


def _replace(line: str, spans: Iterator[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += [line[done:start], _masked(end - start)]
        done = end
    return "".join([*parts, line[done:]]) if parts else line


def _code_spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield the code spans: a run of backticks up to the next run of the same length (CommonMark 6.1)."""
    runs: list[tuple[int, int]] = []
    at = line.find("`")
    while at >= 0:
        end = at + 1
        while line[end : end + 1] == "`":
            end += 1
        runs.append((at, end))
        at = line.find("`", end)
    # The partner of each run, found from the right in one pass.
    partner = [-1] * len(runs)
    latest: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        partner[number] = latest.get(length, -1)
        latest[length] = number
    number = 0
    while number < len(runs):
        if partner[number] >= 0:
            yield runs[number][0], runs[partner[number]][1]
            number = partner[number]
        number += 1


def _double_quotes(line: str) -> Iterator[tuple[int, int]]:
    """Yield the passages in straight double quotes; a mark after a letter or digit (inches) opens none."""
    start = -1
    at = line.find('"')
    while at >= 0:
        if start >= 0 and at - start <= _MAX_QUOTE:
            yield start, at + 1
            start = -1
        elif not at or not line[at - 1].isalnum() or not line[at - 1].isascii():
            start = at
        at = line.find('"', at + 1)


def _single_quotes(line: str) -> Iterator[tuple[int, int]]:
    """Yield the passages in straight single quotes; an apostrophe within a word opens none."""
    start = -1
    at = line.find("'")
    while at >= 0:
        opens = (not at or line[at - 1] in _BEFORE_QUOTE) and line[at + 1 : at + 2].isalnum()
        closes = (
            at > 0 and line[at - 1] not in " \t" and (at + 1 == len(line) or line[at + 1] in _AFTER_QUOTE)
        )
        if start >= 0 and closes and at - start <= _MAX_SINGLE_QUOTE:
            yield start, at + 1
            start = -1
        elif opens:
            start = at
        at = line.find("'", at + 1)


def _paired_quotes(line: str) -> Iterator[tuple[int, int]]:
    """Yield the passages between quotation marks that differ in opening and closing."""
    close = ""
    start = -1
    for at, char in enumerate(line):
        if close and char == close and at - start <= _MAX_QUOTE:
            yield start, at + 1
            close = ""
        elif char in _PAIRS and (not close or at - start > _MAX_QUOTE):
            close, start = _PAIRS[char], at


def _addresses(line: str) -> Iterator[tuple[int, int]]:
    """Yield URLs, paths, and other words with slashes, but not two words such as `and/or`."""
    at = 0
    for word in line.split():
        at = line.index(word, at)
        if _is_address(word.lstrip("([*_<")):
            yield at, at + len(word)
        at += len(word)


def _is_address(word: str) -> bool:
    if "/" not in word and "\\" not in word and not word.startswith("www."):
        return False
    if any(mark in word for mark in _ADDRESS_MARKS) or "\\" in word:
        return True
    inner = word.rstrip(".,;:!?)]*_>")
    return (
        (word.startswith(_PATH_STARTS) and len(inner) > 1)
        or inner.count("/") > 1
        or ("/" in inner and "." in inner)
    )
