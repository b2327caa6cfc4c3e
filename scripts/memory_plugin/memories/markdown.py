"""Read Markdown as a source of memories: sections, the fields that their headings name, titles, and texts without marks."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ..kernel.paths import load_data
from .record import MAX_TITLE

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\Z")
_RULER = re.compile(r"\n[ \t]*\n[ \t]*(?:-{3,}|\*{3,}|_{3,})\s*\Z")  # between sections
CLAUSE = r"\*\*\d+(?:\.\d+)+[.)]?\*\*|\d+(?:\.\d+)+[.)]"  # the number of one, as "1.2."
MARK = re.compile(
    r"\A\s*(?:[-*+](?:\s+\[[ xX]\])?|\d{1,3}[.)]|%s|>+(?:\s*\[!\w+\][+-]?)?|#{1,6})(?:\s+|\Z)" % CLAUSE
)
_CODE_SPAN = r"(?<!`)(?P<ticks>`{1,3})(?!`)[^`\n]+(?:\n[^`\n]+)?(?P=ticks)(?!`)"
_LINK = re.compile(
    _CODE_SPAN
    + r"|!?\[(?P<shown>(?:[^\[\]\n`]|`[^`\n]{0,500}`){0,500})\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,500}\])"
)
# No mark is looked for behind the next one of its kind, so that many open ones take no quadratic time.
_STRONG = re.compile(_CODE_SPAN + r"|(?P<mark>\*\*|~~)(?=\S)(?P<shown>(?:(?!(?P=mark)).)+?)(?<=\S)(?P=mark)")
_OWN_LINE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,3}[.)])\s|```|~~~|\|)")
LINK = re.compile(r"\]\(|\[\[|http")
_NO_TEXT = re.compile(r"`{3,}[^`]*\Z|~~~|\||---|===")  # a line of a fence, a table or a ruler
_PART_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d{1,3}[.)])\s)")
_MIN_PHRASE, _MAX_PHRASE, _MAX_PHRASES = 8, 160, 5
MIN_WORDS = 3
ANSWERS = frozenset(["answer", "steps", "proposal"])  # the fields of which a record has one


class Section(NamedTuple):
    """A heading, the `path` of headings to it without the document's title, the text below, and the lines of heading and text, from 1."""

    heading: str
    path: tuple[str, ...]
    text: str
    line: int
    first: int


@cache
def table() -> dict[str, Any]:
    """Return the data of `config/memories/importing.json`."""
    return load_data("memories", "importing")


@cache
def form(name: str) -> re.Pattern[str]:
    """Return a pattern in `config/memories/importing.json` with its shared words."""
    pattern = table()["patterns"][name][1]
    for kind, (_, *words) in reversed(table()["words"].items()):
        pattern = pattern.replace("{%s}" % kind, "|".join(words))
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


@cache
def role_of(heading: str) -> str:
    """Return the field of a record for a heading, whatever it adds in parentheses, in either of two languages; empty if there is none."""
    if " / " in heading:
        return next(filter(None, map(role_of, heading.split(" / "))), "")
    words = re.findall(r"[^\W\d_]+", re.sub(r"\([^()]*\)", "", heading.lower()))
    roles, stems, joining, small = (table()[name] for name in ("roles", "stems", "joining", "small"))
    whole = next((role for role, headings in roles.items() if " ".join(words) in headings), "")
    telling = [word + " " for word in words if word not in small and word not in joining]
    found = [next((role for role in stems if word.startswith(tuple(stems[role]))), "") for word in telling]
    if whole or not found or not all(found):
        return whole
    return found[0] if {*joining}.intersection(words) else min(found, key=[*stems].index)


def texts_in(value: object) -> list[str]:
    """Return the texts of a list, or those that commas separate."""
    parts = form("comma").split(value) if isinstance(value, str) else value if isinstance(value, list) else []
    return [part.strip() for part in parts if isinstance(part, str) and part.strip()]


def sections(text: str) -> list[Section]:
    """Return the sections of a text; the text before the first heading has an empty heading. Headings in code fences do not count."""
    return [section for section in headings(text) if section.text]


def named_paragraphs(part: Section, is_runbook: bool = False) -> list[Section]:
    """Return the paragraphs of a section that name their field in bold as sections below it; itself unless they are a record.

    At the top of a runbook, symptoms alone are enough: its steps come below.
    """
    named = ((mark, mark[1] or mark[2]) for mark in form("named").finditer(part.text))
    marks = [(mark, name) for mark, name in named if role_of(name)]
    roles = {role_of(name) for _, name in marks}
    is_head = is_runbook and not part.path and "symptoms" in roles
    is_record = len(roles) >= max(2, len(marks)) and not ANSWERS.isdisjoint(roles)
    if not (is_head or is_record) or any(map(role_of, part.path)):
        return [part]
    pieces = [part._replace(text=part.text[: marks[0][0].start()].rstrip())]
    for (mark, name), (after, _) in zip(marks, [*marks[1:], (None, "")]):
        text = part.text[mark.end() : after.start() if after else None].rstrip(" |\n")
        first = part.first + part.text.count("\n", 0, mark.end())
        pieces.append(Section(name, (*part.path, name), text, part.line, first))
    return [piece for piece in pieces if piece.text.strip()]


def headings(text: str) -> list[Section]:
    """Return the same, also with the sections whose text is empty."""
    lines, seen = text.split("\n"), enumerate(outside_code(text).split("\n"), 1)
    matches = ((number, _HEADING.match(line)) for number, line in seen if "#" in line[:4])
    marks = [(0, 0, ""), *((number, len(mark[1]), mark[2]) for number, mark in matches if mark)]
    tops = [number for number, level, _ in marks if level == 1]
    found: list[Section] = []
    parents: list[tuple[int, int, str]] = []
    for (line_of, level, heading), (end, _, _) in zip(marks, [*marks[1:], (len(lines) + 1, 0, "")]):
        parents = [*(parent for parent in parents if parent[1] < level), (line_of, level, heading)]
        untold = [0, *tops] if len(tops) == 1 and not (line_of in tops and role_of(heading)) else [0]
        path = tuple(name for line, _, name in parents if line not in untold)
        body = _RULER.sub("", "\n".join(lines[line_of : end - 1])).rstrip()
        first = line_of + 1 + len(body) - len(body.lstrip("\n"))
        name, _, said = heading.partition(": ")
        if said and role_of(name) in ANSWERS:  # "Decision: use Postgres"
            path, body = (*path[:-1], name), "\n\n".join(filter(None, (said, body.strip("\n"))))
        found.append(Section(path[-1] if path else heading, path, body.lstrip("\n"), max(line_of, 1), first))
    return found


def outside_code(text: str) -> str:
    """Return a text in which the lines of a code block below its first one are blank."""
    if "```" not in text and "~~~" not in text:
        return text
    return form("code").sub(lambda code: re.sub(r"(?<=\n)[^\n]+", "", code[0]), text)


@lru_cache(maxsize=1024)
def without_markdown(text: str) -> str:
    """Return a text as one line without Markdown's marks and tables; code keeps its backticks and every character in them."""
    text = _LINK.sub(_shown, text)
    lines = (MARK.sub("", line).strip() for line in text.splitlines())
    text = " ".join(line for line in lines if not _NO_TEXT.match(line))
    return " ".join(_STRONG.sub(_shown, text).split())


def _shown(part: re.Match[str]) -> str:
    return part[0] if part["shown"] is None else part["shown"]


def title_for(text: str, heading: str = "") -> str:
    """Return the first sentence of a text as its title, after the heading if the sentence alone has fewer than three words."""
    sentence, heading = first_sentence(text), without_markdown(heading)
    sentence = " ".join(with_lead(heading if len(sentence.split()) < MIN_WORDS else "", sentence).split())
    if len(sentence) <= MAX_TITLE:
        return sentence
    return textwrap.shorten(sentence, MAX_TITLE, placeholder="\u2026")


def with_lead(lead: str, text: str) -> str:
    """Return a text after a few words that it needs, which may be empty; a list, code or a table begins on a line of its own."""
    return (":\n" if _OWN_LINE.match(text) else ": ").join(filter(None, (lead.rstrip(" :."), text)))


@lru_cache(maxsize=1024)
def first_sentence(text: str) -> str:
    """Return the first sentence of a text without marks; and the next one if it is one word, or introduces something."""
    parts = map(without_markdown, _PART_END.split(outside_code(text).strip()))
    lines = [*filter(None, parts), ""]
    # What introduces something says nothing without it.
    line = " ".join(lines[: 1 + lines[0].endswith(":")])
    ends = (match.end() for match in form("sentence_end").finditer(line))
    end = next((end for end in ends if " " in line[:end].strip()), len(line))
    return line[:end].rstrip(" .:;,")


def questions(text: str) -> list[str]:
    """Return the questions in a text."""
    sentences = (MARK.sub("", part).strip() for part in form("said_end").split(text))
    return phrases(sentence for sentence in sentences if sentence.endswith(("?", "\uff1f")))


def phrases(texts: Iterable[str]) -> list[str]:
    """Return the texts that are as long as a person would ask, each once."""
    fitting = (text for text in texts if _MIN_PHRASE <= len(text) <= _MAX_PHRASE)
    return list(dict.fromkeys(fitting))[:_MAX_PHRASES]


def is_named(path: str, kind: str) -> bool:
    """Return whether a file or folder has one of the names in `files` of `config/memories/importing.json`."""
    return os.path.basename(path) in table()["files"][kind]
