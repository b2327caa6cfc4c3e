"""Read Markdown as a source of memories: sections, titles, the rules of lists, and what is said in a note."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import groupby, takewhile
from typing import Any, NamedTuple

from ..kernel.paths import load_data
from .record import DEFAULT_CATEGORY, MAX_TITLE

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\Z")
# Code in backticks on one line opens no fence. One of the same character and at least its length closes it (CommonMark 4.5).
FENCED = re.compile(r"(?ms)^[ \t]*(`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)")
_RULER = re.compile(r"\n[ \t]*\n[ \t]*(?:-{3,}|\*{3,}|_{3,})\s*\Z")  # between sections
_CLAUSE = r"\*\*\d+(?:\.\d+)+[.)]?\*\*|\d+(?:\.\d+)+[.)]"  # the number of one, as "1.2."
_ITEM = re.compile(r"(\s*)(?:[-*+]|(\d{1,3})[.)]|%s)\s+\S" % _CLAUSE)
_MARK = re.compile(
    r"\A\s*(?:[-*+](?:\s+\[[ xX]\])?|\d{1,3}[.)]|%s|>+(?:\s*\[!\w+\][+-]?)?|#{1,6})(?:\s+|\Z)" % _CLAUSE
)
# What is to be done: a paragraph that says so, a box, or a mark of an outline.
_TASK = re.compile(
    r"\A(?:TODO|FIXME)\b|\A\s*[-*+]\s+(?:\[[ xX]\]|(?:DOING|NOW|LATER|DONE|WAITING|CANCELL?ED|TODO(?! (?:comment|item|marker)))\b)\s"
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
_WORD = re.compile(r"[^\W\d_]{2,}")
_PART_END = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d{1,3}[.)])\s)")
_MIN_PHRASE, _MAX_PHRASE, _MAX_PHRASES = 8, 160, 5
MIN_WORDS = 3
ANSWERS = frozenset(["answer", "steps", "proposal"])  # the fields of which a record has one
_MAX_TEXT = 160  # of an introduction; a longer text says something itself
_LONG_ITEM = 9  # words; names in lists are shorter
_TEXT, _RULE, _STEP = "text", "rule", "step"


class Section(NamedTuple):
    """A heading, the `path` of headings to it, the text up to the next one, and the lines of the heading and of the text, from 1.

    The title of the whole document distinguishes no section and is in no path.
    """

    heading: str
    path: tuple[str, ...]
    text: str
    line: int
    first: int


class Statement(NamedTuple):
    """A rule or a whole section; the paragraph that introduces a rule; its first and its `last` line in the whole text, from 1."""

    title: str
    text: str
    context: str
    line: int
    last: int


class _Block(NamedTuple):
    kind: str
    text: str
    line: int


@cache
def table() -> dict[str, Any]:
    """Return the data of `config/memories/importing.json`."""
    return load_data("memories", "importing")


@cache
def form(name: str) -> re.Pattern[str]:
    """Return a pattern of `forms_of_text` or `forms_of_documents` in `config/memories/importing.json`, with its shared words."""
    pattern = {**table()["forms_of_text"], **table()["forms_of_documents"]}[name]
    for kind, words in reversed(table()["words"].items()):
        pattern = pattern.replace("{%s}" % kind, words)
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


@cache
def role_of(heading: str) -> str:
    """Return the field of a record for a heading, whatever it adds in parentheses; empty if there is none."""
    words = re.findall(r"[^\W\d_]+", re.sub(r"\([^()]*\)", "", heading.lower()))
    roles, stems, joining, small = (table()[name] for name in ("roles", "stems", "joining", "small"))
    whole = next((role for role, headings in roles.items() if " ".join(words) in headings), "")
    telling = [word for word in words if word not in small and word not in joining]
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


def named_paragraphs(part: Section) -> list[Section]:
    """Return the paragraphs of a section that name their field in bold as sections below it; itself unless they are a record."""
    marks = [mark for mark in form("named").finditer(part.text) if role_of(mark[1])]
    roles = {role_of(mark[1]) for mark in marks}
    if any(map(role_of, part.path)) or len(roles) < max(2, len(marks)) or ANSWERS.isdisjoint(roles):
        return [part]
    ends = [*(mark.start() for mark in marks), len(part.text)]
    pieces = [part._replace(text=part.text[: ends[0]].rstrip())]
    for mark, end in zip(marks, ends[1:]):
        path, first = (*part.path, mark[1]), part.first + part.text.count("\n", 0, mark.end())
        pieces.append(Section(mark[1], path, part.text[mark.end() : end].rstrip(), part.line, first))
    return [piece for piece in pieces if piece.text]


def headings(text: str, is_record: bool = False) -> list[Section]:
    """Return the same, also with the sections whose text is empty. A record has one title, whatever other headings are of its level.

    A heading alone below that of an answer is the answer's text, as in `Decision > Use Postgres`.
    """
    lines = text.split("\n")
    matches = (
        (number, _HEADING.match(line))
        for number, line in enumerate(outside_code(text).split("\n"), 1)
        if "#" in line[:4]
    )
    marks = [(0, 0, ""), *((number, len(mark[1]), mark[2]) for number, mark in matches if mark)]
    found: list[Section] = []
    parents: list[tuple[int, int, str]] = []
    top, *others = [(line_of, heading) for line_of, level, heading in marks if level == 1] or [(0, "")]
    title = 0 if others and (role_of(top[1]) or not is_record) else top[0]
    for (line_of, level, heading), (end, next_level, _) in zip(marks, [*marks[1:], (len(lines) + 1, 0, "")]):
        parents = [*(parent for parent in parents if parent[1] < level), (line_of, level, heading)]
        untold = {0} if line_of == title and role_of(heading) else {0, title}
        path = tuple(name for line, _, name in parents if line not in untold)
        body = _RULER.sub("", "\n".join(lines[line_of : end - 1])).rstrip()
        first = line_of + 1 + len(body) - len(body.lstrip("\n"))
        name, _, said = heading.partition(": ")
        if said and role_of(name) in ANSWERS:  # "Decision: use Postgres"
            path, body = (*path[:-1], name), "\n\n".join(filter(None, (said, body.strip("\n"))))
        is_alone = not body and next_level <= level and not role_of(heading)
        if is_alone and role_of("".join(path[-2:-1])) in ANSWERS:
            path, body = path[:-1], heading
        found.append(Section(path[-1] if path else heading, path, body.lstrip("\n"), max(line_of, 1), first))
    return found


def outside_code(text: str) -> str:
    """Return a text in which the lines of a code block below its first one are blank."""
    if "```" not in text and "~~~" not in text:
        return text
    return FENCED.sub(lambda code: re.sub(r"(?<=\n)[^\n]+", "", code[0]), text)


@lru_cache(maxsize=1024)
def without_markdown(text: str) -> str:
    """Return a text as one line without Markdown's marks and tables; code keeps its backticks and every character in them."""
    text = _LINK.sub(_shown, text)
    lines = (_MARK.sub("", line).strip() for line in text.splitlines())
    text = " ".join(line for line in lines if not _NO_TEXT.match(line))
    return " ".join(_STRONG.sub(_shown, text).split())


def _shown(part: re.Match[str]) -> str:
    return part[0] if part["shown"] is None else part["shown"]


def title_for(text: str, heading: str = "") -> str:
    """Return the first sentence of a text as its title, after the heading if the sentence alone has fewer than three words."""
    sentence, heading = _first_sentence(text), without_markdown(heading)
    sentence = " ".join(with_lead(heading if len(sentence.split()) < MIN_WORDS else "", sentence).split())
    if len(sentence) <= MAX_TITLE:
        return sentence
    return textwrap.shorten(sentence, MAX_TITLE, placeholder="\u2026")


def with_lead(lead: str, text: str) -> str:
    """Return a text after a few words that it needs, which may be empty; a list, code or a table begins on a line of its own."""
    return (":\n" if _OWN_LINE.match(text) else ": ").join(filter(None, (lead.rstrip(" :."), text)))


@lru_cache(maxsize=1024)
def _first_sentence(text: str) -> str:
    parts = map(without_markdown, _PART_END.split(outside_code(text).strip()))
    lines = [*filter(None, parts), ""]
    # What introduces something says nothing without it.
    line = " ".join(lines[: 1 + lines[0].endswith(":")])
    match = form("sentence_end").search(line)
    return (line[: match.end()] if match else line).rstrip(" .:;,")


def statements_in(section: Section, unsaid: list[int], is_checklist: bool) -> list[Statement]:
    """Return a statement for each rule of a list, with the words above that it needs; one for a procedure, a list of names or a text.

    Empty for a section of links, placeholders, things to do or bare paths, which say nothing without what they point to; the lines of
    such items are added to `unsaid`.
    """
    headings = list(map(without_markdown, section.path or (section.heading,)))
    found = _unordered(list(_blocks(section.text, section.first)))
    blocks = _to_keep(found, headings, is_checklist)
    is_code = all(FENCED.match(block.text) for block in blocks)
    blocks = [] if is_code and form("examples").match(headings[-1]) else blocks
    says = any(content(block.text) for block in blocks)
    # A step is not taken without the others, also if a note stands between them.
    in_steps = [kind for kind, _ in groupby(block.kind for block in blocks)].count(_STEP) > 1
    is_whole = in_steps or all(block.kind == _TEXT for block in blocks)
    said = [_whole(section)] if is_whole and says else []
    statements = _rules_in(blocks, headings[-1]) if says and not is_whole else said
    lines = (block.line for block in found if block.kind != _TEXT or not statements)
    unsaid.extend(line for line in lines if not any(one.line <= line <= one.last for one in statements))
    return statements


def _unordered(blocks: list[_Block]) -> list[_Block]:
    """Return the blocks with numbered items as rules, if most of them are no orders to do something, or whole sentences in bold."""
    texts = [_MARK.sub("", block.text) for block in blocks if block.kind == _STEP]
    are_rules = 2 * sum(map(bool, map(form("rule").match, texts))) > len(texts)
    return [block._replace(kind=_RULE) if are_rules and block.kind == _STEP else block for block in blocks]


def said_in(section: Section, unsaid: list[int], is_checklist: bool) -> str:
    """Return the text of a section of a note without links alone and things to do; the lines of such items are added to `unsaid`."""
    found = list(_blocks(section.text, section.first))
    kept = _to_keep(found, [*map(without_markdown, section.path)], is_checklist)
    said = [block for block in kept if content(block.text) or not LINK.search(block.text)]
    said = [block for block in said if not _leads_to_none(block, found, said)]
    unsaid.extend(block.line for block in found if block not in said and (block.kind != _TEXT or not said))
    pairs = zip(said, [*said[1:], None])
    ends = ("\n" if after and _TEXT not in (block.kind, after.kind) else "\n\n" for block, after in pairs)
    return "".join(block.text + end for block, end in zip(said, ends)).strip("\n")


def _leads_to_none(block: _Block, blocks: list[_Block], said: list[_Block]) -> bool:
    """Return whether a block introduces a list of which nothing is said."""
    is_lead = block.text.endswith(":") and len(block.text) <= _MAX_TEXT
    below = blocks[blocks.index(block) + 1 :] if is_lead else []
    items = list(takewhile(lambda other: other.kind != _TEXT, below))
    return bool(items) and not any(item in said for item in items)


def _to_keep(blocks: list[_Block], headings: list[str], is_checklist: bool = False) -> list[_Block]:
    """Return the blocks below these headings, without things to do; none below one as `See also`, or if they say that they are over."""
    is_checklist |= bool(form("checklist").search(" ".join(headings)))
    opening = [block.text for block in blocks[:1] if headings and block.kind == _TEXT]
    if any(map(form("ended").match, opening)) or any(map(form("structure").match, headings)):
        return []
    return [
        block
        for block in blocks
        if (is_checklist or not _TASK.match(block.text))
        and not (block.text.startswith(">") and form("ended").match(block.text))
    ]


def _rules_in(blocks: list[_Block], heading: str) -> list[Statement]:
    """Return the rules of the lists among these blocks, and the texts between them."""
    statements: list[Statement] = []
    lead, is_one = "", True
    for is_list, group in groupby(blocks, key=lambda block: block.kind != _TEXT):
        part = list(group)
        if is_list:
            found = _of_list(part, lead, heading)
            statements, lead, is_one = statements + found, "", len(found) == 1 < len(part)
        elif _leads(part[-1], blocks):
            lead = without_markdown(part.pop().text)
        for block in () if is_list else part:
            # Code explains the rule above it, as does a text, unless that stands alone below rules.
            if statements and (is_one or FENCED.match(block.text) or form("refers").match(block.text)):
                last = statements[-1]
                statements[-1] = last._replace(text="%s\n\n%s" % (last.text, block.text))
            elif content(block.text):
                title = title_for(block.text, heading)
                statements.append(Statement(title, block.text, "", block.line, block.line))
    return statements


def _leads(block: _Block, blocks: list[_Block]) -> bool:
    """Return whether a paragraph introduces the list below it: unless it is long, and ends as a text does that says something itself."""
    is_above = block.line < blocks[-1].line and not FENCED.match(block.text)
    looks_so = block.text.startswith("**") or not block.text.endswith((".", "!", "?", "\u3002"))
    return is_above and (looks_so or len(block.text) <= _MAX_TEXT)


def _whole(section: Section) -> Statement:
    """Return a section without rules as one statement."""
    heading = without_markdown(section.heading)
    says = len(heading.split()) >= MIN_WORDS and not form("document").search(heading)
    title = title_for(heading if heading and says else with_lead(heading, _first_sentence(section.text)))
    return Statement(title, section.text, "", section.line, section.first + section.text.count("\n"))


def _of_list(items: list[_Block], lead: str, heading: str) -> list[Statement]:
    """Return a statement for each item that is a rule, after the heading if that changes its meaning; or one for the whole list."""
    telling = [item for item in items if content(item.text)]
    texts = [_MARK.sub("", item.text) for item in telling]
    sentences = [_first_sentence(text) for text in texts]
    # What completes an order, as in `Always state:`, is no rule of its own just because it is long.
    is_free = not (lead and _states(lead))
    alone = [_states(said) or (is_free and _is_sentence(text, said)) for text, said in zip(texts, sentences)]
    ended = lead.endswith((".", "\u3002"))  # a whole sentence says something beside its items
    name = heading if ended else with_lead(heading, lead)
    if not telling or not (name or any(alone)) or form("structure").match(lead):
        return []
    is_procedure = telling[0].kind == _STEP
    label = lead or heading
    is_one = is_procedure or form("examples").search(label) or role_of(label) == "symptoms"
    if name and (is_one or 2 * sum(alone) < len(alone)):
        is_named = is_procedure and not lead and len(heading.split()) >= MIN_WORDS
        text = "\n".join(item.text for item in items)
        title = heading if is_named else with_lead(name, ", ".join(sentences))
        body = text if is_procedure and not lead else with_lead(name, text)
        return [Statement(title_for(title), body, lead if ended else "", items[0].line, items[-1].line)]
    binding = next((words for words in ("" if ended else lead, heading) if form("binding").search(words)), "")
    if form("place").search(heading) and heading not in binding:
        binding = with_lead(heading, binding)
    found: list[Statement] = []
    for item, text, sentence, is_rule in zip(telling, texts, sentences, alone):
        if found and form("refers").match(text):
            found[-1] = found[-1]._replace(text="%s\n%s" % (found[-1].text, item.text), last=item.line)
            continue
        is_whole = form("order").match(sentence) and not form("place").search(binding)
        above = "" if is_whole else binding or ("" if is_rule else name)
        last = form("sentence_end").split(above.rstrip(" .:"))[-1].strip()
        title = title_for(with_lead(last, sentence)) if above else title_for(text, heading)
        context = "" if lead in above else lead
        found.append(Statement(title, with_lead(above, text), context, item.line, item.line))
    return found


def _states(sentence: str) -> bool:
    """Return whether a sentence states or orders something by its own words, also after a label, as in `Names: use ...`."""
    pieces = (sentence, sentence.partition(": ")[2], sentence.partition(" - ")[2])
    return not form("label").match(sentence) and any(form("states").search(piece) for piece in pieces)


def _is_sentence(text: str, first: str) -> bool:
    """Return whether a text with this first sentence is too long for a name, or ends like a sentence."""
    words, ends = len(first.split()), text.rstrip().endswith((".", "\u3002"))
    return not form("label").match(text) and (words >= _LONG_ITEM or (ends and words > MIN_WORDS))


@lru_cache(maxsize=1024)  # a note is measured as rules, and then as a note
def content(text: str) -> int:
    """Return the number of words of a text beside code, paths, addresses and placeholders."""
    return len(_WORD.findall(form("nothing").sub(" ", text)))


def _blocks(text: str, first: int) -> Iterator[_Block]:
    """Yield the paragraphs, list items and code of a text from this line on; an item includes everything that is indented below it."""
    lines, starts = text.split("\n"), list[tuple[str, int]]()
    kind, indent, blank = "", 0, True
    for number, (line, seen) in enumerate(zip(lines, outside_code(text).split("\n"))):
        item = _ITEM.match(seen)
        is_inside = kind in (_RULE, _STEP) and len(line) - len(line.lstrip()) > indent
        if seen.strip() and not is_inside and (item or blank):
            kind = _TEXT if item is None else _STEP if item[2] else _RULE
            indent = len(item[1]) if item else 0
            starts.append((kind, number))
        blank = not line.strip()
    for (kind, start), (_, end) in zip(starts, [*starts[1:], ("", len(lines))]):
        yield _Block(kind, "\n".join(lines[start:end]).rstrip(), first + start)


def statement_category(text: str) -> str:
    """Return the category of a statement for which nobody named one, by the form of its first sentence; in doubt a decision."""
    sentence = without_markdown(form("statement_end").split(text.strip(), maxsplit=1)[0])
    forms = table()["forms"]
    hits = (row["category"] for row in forms if re.search(row["pattern"], sentence, re.IGNORECASE))
    return next(hits, DEFAULT_CATEGORY)


def questions(text: str) -> list[str]:
    """Return the questions in a text."""
    sentences = (_MARK.sub("", part).strip() for part in form("said_end").split(text))
    return phrases(sentence for sentence in sentences if sentence.endswith(("?", "\uff1f")))


def phrases(texts: Iterable[str]) -> list[str]:
    """Return the texts that are as long as a person would ask, each once."""
    fitting = (text for text in texts if _MIN_PHRASE <= len(text) <= _MAX_PHRASE)
    return list(dict.fromkeys(fitting))[:_MAX_PHRASES]


def is_named(path: str, kind: str) -> bool:
    """Return whether a file or folder has one of the names in `files` of `config/memories/importing.json`."""
    return os.path.basename(path) in table()["files"][kind]
