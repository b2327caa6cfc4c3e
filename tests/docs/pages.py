"""Read the documentation: pages, their sections, fenced blocks and tables."""

from __future__ import annotations

import glob
import os
import re
from typing import NamedTuple

from tests.project import PLUGIN_ROOT

_DOCS = glob.glob(os.path.join(PLUGIN_ROOT, "docs", "*.md"))
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(os.path.relpath(path, PLUGIN_ROOT) for path in _DOCS)]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_FENCE = re.compile(r"^ *```\w*\n.*?^ *```$", re.MULTILINE | re.DOTALL)  # in lists they are indented


class Fence(NamedTuple):
    """A fenced block: the number of its first line on the page, its language and its text."""

    line: int
    language: str
    text: str


def page(name: str) -> str:
    """Return the text of a page."""
    with open(os.path.join(PLUGIN_ROOT, name), encoding="utf-8") as file:
        return file.read()


def fences(text: str, language: str) -> list[Fence]:
    """Return the unindented fenced blocks of one language in a page's text."""
    blocks = (Fence(text.count("\n", 0, hit.start()) + 1, hit[1], hit[2]) for hit in FENCE.finditer(text))
    return [fence for fence in blocks if fence.language == language]


def prose(text: str) -> str:
    """Return a page's text without its fenced blocks."""
    return ANY_FENCE.sub("", text)


def section(text: str, heading: str) -> str:
    """Return the text below a second-level heading, up to the next one. Raises ValueError if there is no such heading."""
    _, match, rest = text.partition("\n## %s\n" % heading)
    if not match:
        raise ValueError("no section %r" % heading)
    return rest.partition("\n## ")[0]


def first_column(text: str) -> list[str]:
    """Return the code words in the first column of a text's tables."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)
