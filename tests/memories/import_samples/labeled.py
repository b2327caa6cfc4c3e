"""Read the samples: write them as the files people have, and say which memories they should become.

A guide has sections of lines `LETTER TEXT`; `r+ TITLE|STEP|...` is a procedure below a heading of its own.
"""

from __future__ import annotations

import os
import re
import textwrap
from typing import NamedTuple

_HERE = os.path.dirname(os.path.abspath(__file__))
_RECORD = re.compile(r"^=== (\S+) \| (\w+) \| (\w+) \| (.*)\n", re.MULTILINE)


class Record(NamedTuple):
    """A record with its file, its text, and what it should become; `fragment` is a part of a fitting title."""

    path: str
    text: str
    category: str
    status: str
    fragment: str


def guide(name: str) -> tuple[str, list[str]]:
    """Return the Markdown of a guide, and the texts of its rules."""
    lines = ["# CLAUDE.md"]
    expected: list[str] = []
    later: list[str] = []
    with open(os.path.join(_HERE, name + "_guide.txt"), encoding="utf-8") as file:
        rows = file.read().splitlines()
    for row in [*rows, "# "]:
        mark, _, text = row.partition(" ")
        if mark == "#":
            lines += [*later, "", "## " + text, ""] if text else later
            later = []
            continue
        title, *steps = text.split("|")
        expected.append(title)
        if steps:
            later += ["", "### " + title, ""]
            later += ["%d. %s" % pair for pair in enumerate(steps, 1)]
        else:
            lines += textwrap.wrap(
                text,
                46,
                initial_indent="- ",
                subsequent_indent="  ",
                break_on_hyphens=False,
                break_long_words=False,
            )
    return "\n".join(lines) + "\n", expected


def records(name: str) -> list[Record]:
    """Return the records of a sample."""
    with open(os.path.join(_HERE, name + "_records.txt"), encoding="utf-8") as file:
        parts = _RECORD.split(file.read())
    return [
        Record(path, text, category, status, fragment)
        for path, category, status, fragment, text in zip(*(parts[at::5] for at in range(1, 6)))
    ]


def fits(title: str, text: str) -> bool:
    """Return whether a title says what a text says: at least three words, most of them from it, and no heading or number alone."""
    words = re.findall(r"[^\W_]+", title.lower())
    words_of_text = set(re.findall(r"[^\W_]+", text.lower()))
    return len(words) >= 3 and sum(word in words_of_text for word in words) >= 0.8 * len(words)
