"""Read the lists of Markdown as statements: the rules of a list, a procedure or a text, and what a note says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from . import markdown
from .markdown import MARK, MIN_WORDS, Section, first_sentence, form, title_for, without_markdown
from .record import DEFAULT_CATEGORY

# A list item, or a paragraph that begins with the name of a rule, as 7.1 or **R-7**, or with one in bold.
_ITEM = re.compile(
    r"(\s*)(?:[-*+]|(\d{1,3})[.)]|%s|\d+(?:\.\d+)+(?=\s[A-Z])|\*\*[A-Z]{1,6}-?\d[\d.]*\*\*)\s+\S"
    % markdown.CLAUSE
    + r"|(\s*)\*\*[^*\n]{3,140}[.!]\*\*(?:\s|\Z)"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_MAX_TEXT = 160  # of an introduction; a longer text says something itself
_MAX_RULE = 60  # words of a paragraph that is a rule
_LONG_ITEM = 9  # words; names in lists are shorter
_TEXT, _RULE, _STEP = "text", "rule", "step"


class Statement(NamedTuple):
    """A rule or a whole section; the paragraph that introduces a rule; its first and its `last` line in the whole text, from 1."""

    title: str
    text: str
    context: str
    line: int
    last: int


class Block(NamedTuple):
    """A paragraph, list item or step with its first line in the whole text."""

    kind: str
    text: str
    line: int


def statements_in(section: Section, unsaid: list[int], is_checklist: bool, is_rules: bool) -> list[Statement]:
    """Return the rules of a list; one for a procedure, names or a text; the lines of links, tasks and the like go into `unsaid`.

    In a file of rules (`is_rules`), each short paragraph is one, if there is no code between them.
    """
    found = list(blocks_of(section.text, section.first))
    steps = [MARK.sub("", block.text) for block in found if block.kind == _STEP]
    if 2 * sum(map(bool, map(form("rule").match, steps))) >= len(steps):  # no orders to do something
        found = [block._replace(kind=_RULE) if block.kind == _STEP else block for block in found]
    blocks = _to_keep(found, section, "ordering" if is_rules else "", is_checklist)
    heading = without_markdown(section.heading)
    is_sample = all(form("program").match(block.text) for block in blocks) and not _states(heading)
    says = not is_sample and any(content(block.text) for block in blocks)
    # A step is not taken without the others, also if a note stands between them.
    in_steps = [kind for kind, _ in groupby(block.kind for block in blocks)].count(_STEP) > 1
    is_text = all(block.kind == _TEXT for block in blocks)
    is_free = is_rules and is_text and _are_rules([block.text for block in blocks])
    is_whole = in_steps or (is_text and not is_free)
    said = [_whole(section, blocks)] if is_whole and says else []
    statements = _rules_in(blocks, heading, not is_free) if says and not is_whole else said
    statements = [one for one in statements if not form("lead").match(one.text)]
    lines = (block.line for block in found if block.kind != _TEXT or not statements)
    unsaid.extend(line for line in lines if not any(one.line <= line <= one.last for one in statements))
    return statements


def said_in(section: Section, unsaid: list[int], is_checklist: bool = False) -> str:
    """Return the text of a section of a note without links alone and things to do; the lines of such items are added to `unsaid`."""
    found = list(blocks_of(section.text, section.first))
    kept = _to_keep(found, section, "", is_checklist)
    said = [block for block in kept if content(block.text) or not markdown.LINK.search(block.text)]
    unsaid.extend(block.line for block in found if block not in said and (block.kind != _TEXT or not said))
    return _joined(said)


def _joined(blocks: list[Block]) -> str:
    pairs = zip(blocks, [*blocks[1:], None])
    ends = ("\n" if after and _TEXT not in (block.kind, after.kind) else "\n\n" for block, after in pairs)
    return "".join(block.text + end for block, end in zip(blocks, ends)).strip("\n")


def _to_keep(blocks: list[Block], section: Section, kept: str, is_checklist: bool) -> list[Block]:
    """Return the blocks of a section without quotes that say that they are over, and none below a heading as `See also`.

    Nor are things to do kept, but items of a checklist, or those of this form (`kept`).
    """
    headings = list(map(without_markdown, section.path))
    is_checklist |= bool(form("checklist").search(" ".join(headings)))
    is_over = blocks and blocks[0].kind == _TEXT and form("ended").match(blocks[0].text)
    if is_over or any(map(form("structure").match, headings)):
        return []
    return [
        block
        for block in blocks
        if (
            not form("task").search(block.text)
            or (block.kind != _TEXT and (is_checklist or (kept and form(kept).search(block.text))))
        )
        and not (block.text.startswith(">") and form("ended").match(block.text))
    ]


def _rules_in(blocks: list[Block], heading: str, is_one: bool) -> list[Statement]:
    """Return the rules of the lists among these blocks, and the texts between them; if all is about one, texts explain it."""
    statements: list[Statement] = []
    lead = ""
    for is_list, group in groupby(blocks, key=lambda block: block.kind != _TEXT):
        part = list(group)
        if is_list:
            found = _of_list(part, lead, heading)
            statements, lead, is_one = statements + found, "", len(found) == 1 < len(part)
        elif part[-1].line < blocks[-1].line and _leads(part[-1].text):
            lead = form("number").sub("", without_markdown(part.pop().text))
        for block in () if is_list else part:
            # Code explains the rule above it, as does a text, unless that stands alone below rules.
            if statements and (is_one or form("code").match(block.text) or form("refers").match(block.text)):
                last = statements[-1]
                statements[-1] = last._replace(text="%s\n\n%s" % (last.text, block.text))
            elif content(block.text):
                title = title_for(block.text, heading)
                statements.append(Statement(title, block.text, "", block.line, block.line))
    return statements


def _are_rules(texts: list[str]) -> bool:
    """Return whether these paragraphs, at least two beside what explains one, are short, state something, and are no code."""
    told = [text for text in texts if not form("refers").match(text)]
    if len(told) < 2 or any(content(text) > _MAX_RULE or form("code").match(text) for text in texts):
        return False
    return 3 * sum(_states(first_sentence(text)) for text in told) >= 2 * len(told)


def _leads(text: str) -> bool:
    """Return whether a paragraph introduces a list below it: not a long one that says something itself, nor one that is a whole order."""
    is_ended = text.endswith((".", "!", "?", "\u3002"))
    looks_so = text.startswith("**") or not is_ended or len(text) <= _MAX_TEXT
    looks_so &= not (is_ended and statement_category(text) in ("constraint", "preference"))
    return looks_so and text[0] != ">" and not form("code").match(text) and content(text) > 0


def _whole(section: Section, blocks: list[Block]) -> Statement:
    """Return these blocks of a section without rules as one statement."""
    text = _joined(blocks)
    heading = without_markdown(section.heading)
    says = len(heading.split()) >= MIN_WORDS and not form("document").search(heading)
    title = title_for(heading if heading and says else markdown.with_lead(heading, first_sentence(text)))
    return Statement(title, text, "", section.line, section.first + section.text.count("\n"))


def _of_list(items: list[Block], lead: str, heading: str) -> list[Statement]:
    """Return a statement for each item that is a rule, after the heading if that changes its meaning; or one for the whole list."""
    telling = [item for item in items if content(item.text)]
    texts = [MARK.sub("", item.text) for item in telling]
    sentences = [first_sentence(text) for text in texts]
    ended = lead.endswith((".", "\u3002"))  # a whole sentence says something beside its items
    # What completes an order, as in `Always state:`, is no rule of its own just because it is long.
    is_free = ended or not (lead and _states(lead))
    alone = [_states(said) or (is_free and _is_sentence(text, said)) for text, said in zip(texts, sentences)]
    name = heading if ended else markdown.with_lead(heading, lead)
    is_map = all(form("listing").match(text) for text in texts)  # of folders and files
    if not telling or is_map or not (name or any(alone)) or form("structure").match(lead):
        return []
    is_procedure = telling[0].kind == _STEP
    if name and (is_procedure or 2 * sum(alone) < len(alone)):
        is_named = is_procedure and not lead and len(heading.split()) >= MIN_WORDS
        text = "\n".join(item.text for item in items)
        title = heading if is_named else markdown.with_lead(name, ", ".join(sentences))
        body = text if is_procedure and not lead else markdown.with_lead(name, text)
        return [Statement(title_for(title), body, lead if ended else "", items[0].line, items[-1].line)]
    binding = next((words for words in ("" if ended else lead, heading) if form("binding").search(words)), "")
    found: list[Statement] = []
    for item, text, sentence, is_rule in zip(telling, texts, sentences, alone):
        is_whole = form("order").search("%s\n%s" % (binding, sentence))
        above = "" if is_whole else binding or ("" if is_rule else name)
        last = form("sentence_end").split(above.rstrip(" .:"))[-1].strip()
        title = title_for(markdown.with_lead(last, sentence)) if above else title_for(text, heading)
        context = "" if lead in above else lead
        found.append(Statement(title, markdown.with_lead(above, text), context, item.line, item.line))
    return found


def _states(sentence: str) -> bool:
    """Return whether a sentence states or orders something by its own words, also after a label, as in `Names: use ...`."""
    pieces = (sentence, sentence.partition(": ")[2], sentence.partition(" - ")[2])
    is_other = sentence.endswith("?") or form("label").match(sentence)
    return not is_other and any(form("states").search(piece) for piece in pieces)


def _is_sentence(text: str, first: str) -> bool:
    """Return whether a text with this first sentence is too long for a name, or ends like a sentence."""
    enough = MIN_WORDS + 1 if text.rstrip().endswith((".", "\u3002")) else _LONG_ITEM
    return len(first.split()) >= enough and not form("label").match(text)


@lru_cache(maxsize=1024)  # a note is measured as rules, and then as a note
def content(text: str) -> int:
    """Return the number of words of a text beside code, paths, addresses and placeholders."""
    return len(_WORD.findall(form("nothing").sub(" ", text)))


def blocks_of(text: str, first: int = 1) -> Iterator[Block]:
    """Yield the paragraphs, list items and code of a text from this line on; an item includes everything that is indented below it."""
    lines, starts = text.split("\n"), list[tuple[str, int]]()
    kind, indent, blank = "", 0, True
    for number, (line, seen) in enumerate(zip(lines, markdown.outside_code(text).split("\n"))):
        item = _ITEM.match(seen)
        is_inside = kind in (_RULE, _STEP) and len(line) - len(line.lstrip()) > indent
        if seen.strip() and not is_inside and (item or blank):
            kind = _TEXT if item is None else _STEP if item[2] else _RULE
            indent = len(item[1] or item[3] or "") if item else 0
            starts.append((kind, number))
        blank = not line.strip()
    for (kind, start), (_, end) in zip(starts, [*starts[1:], ("", len(lines))]):
        yield Block(kind, "\n".join(lines[start:end]).rstrip(), first + start)


def statement_category(text: str) -> str:
    """Return the category of a statement for which nobody named one, by the form of its first sentence; in doubt a decision."""
    sentence = without_markdown(form("statement_end").split(text.strip(), maxsplit=1)[0])
    sentence = form("emphasis").sub("", sentence) or sentence
    forms = markdown.table()["forms"]
    hits = (row["category"] for row in forms if re.search(row["pattern"], sentence, re.IGNORECASE))
    return next(hits, DEFAULT_CATEGORY)
