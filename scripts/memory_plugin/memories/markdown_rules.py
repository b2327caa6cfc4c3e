"""Split a Markdown section into statements: one for each rule of a list, one for a procedure, one for running text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .import_titles import (
    first_sentence,
    is_general,
    is_usable_title,
    shortened,
    subject_of,
    title_for,
    without_markdown,
    without_number,
    without_self_description,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .markdown import Section

_ITEM = re.compile(r"(\s*)(?:[-*+]|(\d{1,3})[.)])\s+\S")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_WORD = re.compile(r"[^\W_]+")
_RULES = re.compile(
    r"\b(?:rules|principles|conventions|guidelines|requirements|policies|standards)\b", re.IGNORECASE
)
_TEXT, _RULE, _STEP, _CODE = "text", "rule", "step", "code"
_MAX_LEAD = 400
_MIN_WORDS = 3


class WrittenStatement(NamedTuple):
    """One statement of a section; `context` is the paragraph that introduces it, `line` counts from 1 in the whole text."""

    title: str
    text: str
    context: str
    is_procedure: bool
    line: int


class _Block(NamedTuple):
    kind: str
    text: str
    line: int


def statements_in(section: Section) -> list[WrittenStatement]:
    """Return the statements of a section; a first sentence about the document itself is left out."""
    text = without_self_description(section.text)
    if not text:
        return []
    skipped = section.text[: len(section.text) - len(text)].count("\n")
    section = section._replace(text=text, first=section.first + skipped)
    blocks = _with_numbered_rules(list(_blocks(section.text)), section.heading)
    rules = [block for block in blocks if block.kind == _RULE]
    if not rules or _are_names(rules):
        return [_whole_section(section, blocks)]
    lead, rest = _lead(blocks)
    statements: list[WrittenStatement] = []
    for block, following in zip(rest, [*rest[1:], None]):
        if following is not None and following.kind == _RULE and _introduces_list(block):
            lead = without_markdown(block.text)
        elif block.kind == _RULE:
            statements.append(_rule(block, section, lead))
        elif statements:  # a paragraph or code after a rule explains it
            statements[-1] = statements[-1]._replace(text="%s\n\n%s" % (statements[-1].text, block.text))
        else:
            title = title_for(block.text, section.heading)
            statements.append(WrittenStatement(title, block.text, "", False, section.first + block.line))
    return statements


def _with_numbered_rules(blocks: list[_Block], heading: str) -> list[_Block]:
    """Return the blocks with numbered items as rules instead of steps if the heading or an introduction calls them rules."""
    introductions = (block.text for block in blocks if _introduces_list(block))
    if not any(_RULES.search(text) for text in (heading, *introductions)):
        return blocks
    return [block._replace(kind=_RULE) if block.kind == _STEP else block for block in blocks]


def _introduces_list(block: _Block) -> bool:
    return block.kind == _TEXT and block.text.rstrip().endswith(":") and len(block.text) <= _MAX_LEAD


def _rule(block: _Block, section: Section, lead: str) -> WrittenStatement:
    text = re.sub(r"\A\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?", "", block.text)
    is_label = lead.endswith(":") and len(_WORD.findall(lead)) <= _MIN_WORDS + 3
    title = title_for(text, without_markdown(lead.rstrip(" :.") if is_label else section.heading))
    return WrittenStatement(title, text, lead, False, section.first + block.line)


def _are_names(rules: list[_Block]) -> bool:
    """Return whether most items of a list are names or other short texts, which say nothing alone."""
    short = [len(_WORD.findall(first_sentence(block.text))) < _MIN_WORDS for block in rules]
    return 2 * sum(short) > len(short)


def _lead(blocks: list[_Block]) -> tuple[str, list[_Block]]:
    """Return the short paragraph that introduces a list, or "", and the other blocks."""
    has_lead = len(blocks) > 1 and blocks[0].kind == _TEXT and blocks[1].kind == _RULE
    if has_lead and len(blocks[0].text) <= _MAX_LEAD:
        return without_markdown(blocks[0].text), blocks[1:]
    return "", blocks


def _whole_section(section: Section, blocks: list[_Block]) -> WrittenStatement:
    """Return the whole section as one statement."""
    heading = subject_of(without_number(without_markdown(section.heading)))
    general = is_general(heading)
    if general and section.above and not is_general(section.above):
        heading, general = without_markdown(section.above), True
    items = [first_sentence(block.text) for block in blocks if block.kind == _RULE]
    sentence = ", ".join(items) if items else first_sentence(section.text) or _first_command(section.text)
    procedure = sum(block.kind in (_STEP, _CODE) for block in blocks) * 2 > len(blocks)
    if is_usable_title(heading) or not sentence:
        title = shortened(heading)
    elif general and len(_WORD.findall(sentence)) > _MIN_WORDS and not items and not section.above:
        title = shortened(sentence)
    else:
        title = shortened("%s: %s" % (heading, sentence) if heading else sentence)
    line = section.line if section.heading else section.first
    return WrittenStatement(title, section.text, "", procedure, line)


def _first_command(text: str) -> str:
    lines = (line.strip() for line in text.splitlines() if not _FENCE.match(line))
    return next((line for line in lines if line and not line.startswith("#")), "")


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the paragraphs, list items and code of a text; an item includes everything that is indented below it."""
    kind, start, indent, blank, fence = "", 0, 0, False, False
    lines: list[str] = []
    for number, line in enumerate(text.splitlines()):
        item = None if fence else _ITEM.match(line)
        inside = kind in (_RULE, _STEP) and (len(line) - len(line.lstrip()) > indent or not (blank or item))
        starts_item = item is not None and not (kind in (_RULE, _STEP) and len(item[1]) > indent)
        if line.strip() and not fence and (starts_item or (not inside and (blank or not kind))):
            if lines:
                yield _Block(kind, "\n".join(lines).rstrip(), start)
            lines, start = [], number
            kind = _kind(line, item)
            indent = len(item[1]) if item else 0
        if _FENCE.match(line):
            fence = not fence
        if kind:
            lines.append(line)
        blank = not line.strip()
    if lines:
        yield _Block(kind, "\n".join(lines).rstrip(), start)


def _kind(line: str, item: re.Match[str] | None) -> str:
    if item is None:
        return _CODE if _FENCE.match(line) else _TEXT
    return _STEP if item[2] else _RULE
