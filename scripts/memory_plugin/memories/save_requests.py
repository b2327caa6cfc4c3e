"""Detect whether the user asks for something to be remembered, in a prompt that may also contain pasted text.

A pasted page, mail or file can ask to be remembered. Therefore quoted, tagged, fenced and listed passages do not count. Text that a line
announces and prompts that the client or an editor wrote do not count either. When in doubt, there is no request. Every prompt runs this
module, so it does not import `re`.
"""

from __future__ import annotations

from ..kernel.data import load_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["APPROVAL", "NOTHING", "SAVE", "request_in"]

NOTHING, SAVE, APPROVAL = "", "save", "approval"
_MAX_READ = 4000  # characters of a prompt
_MAX_SHORT_PROMPT = 300
_MAX_PARAGRAPH = 1000
_MAX_LINES = 30
_FENCES = ("```", "~~~")
_INDENTED = ("    ", "\t")
_SEPARATOR_STARTS = ("---", "===", "***", "___", "#", "|", "//")
_BULLETS = ("- ", "* ", "+ ", "\u2022", "\u2013 ")
_QUOTES = {
    '"': '"',
    "\u201c": "\u201d",
    "\u201e": "\u201c\u201d",
    "\u00ab": "\u00bb",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
    "`": "`",
}
_ENDS = ".!?;\u3002\uff01\uff1f\n"
_CLAUSES = ",:(\u2014\u2013\uff0c\u3001\uff1a"


def request_in(prompt: str) -> str:
    """Return what a typed prompt asks for: APPROVAL of any command, SAVE of something, or NOTHING."""
    if prompt.lstrip().startswith("/memory:"):
        return APPROVAL
    text = prompt.strip("\r\n")
    phrases_of = load_data("memories", "save_requests")
    lower = text[:_MAX_READ].lower().replace("\u2019", "'").replace("\uff1a", ": ")
    groups = [_phrases(phrases_of, name) for name in ("strong", "weak", "approving", "unspaced")]
    if not any(phrase in lower for phrases in groups for phrase in phrases):
        return NOTHING
    # The file of rules is four times as long as that of phrases, and most prompts contain no phrase.
    table = {**phrases_of, **load_data("memories", "save_request_rules")}
    if any(mark in prompt.lower() for mark in table["client_marks"]["values"]):
        return NOTHING
    return _own_request(lower, len(text) > _MAX_READ, table, groups)


def _phrases(table: dict[str, Any], name: str) -> list[str]:
    return [phrase for phrases in table[name]["values"].values() for phrase in phrases]


def _own_request(text: str, is_cut: bool, table: dict[str, Any], groups: list[list[str]]) -> str:
    """Return what the user's own words ask for; in a long prompt, only those at its two ends count."""
    strong, weak, approving, unspaced = groups
    paragraphs = _paragraphs(_own_lines(_unquoted(_untagged(_unfenced(text))), table))
    text = "\n".join(paragraphs)
    if not paragraphs or any(mark in text for mark in table["about_text"]["values"]):
        return NOTHING
    ends = [paragraphs[0]] if is_cut else [paragraphs[0], paragraphs[-1]]
    ends = [paragraph for paragraph in ends if len(paragraph) <= _MAX_PARAGRAPH]
    is_short = len(paragraphs) == 1 and len(text) <= _MAX_SHORT_PROMPT
    if is_short and _asks(text, approving, table, starts_sentence=True):
        return APPROVAL
    if is_short and _asks(text, weak, table, starts_sentence=True):
        return SAVE
    asks = any(_asks(paragraph, strong, table, starts_sentence=False) for paragraph in ends)
    return SAVE if asks or any(phrase in paragraph for paragraph in ends for phrase in unspaced) else NOTHING


def _unfenced(text: str) -> str:
    """Return the text without fenced blocks; one that is not closed reaches to the end."""
    kept, fenced = [], False
    for line in text.splitlines():
        if line.lstrip().startswith(_FENCES):
            fenced = not fenced
        elif not fenced:
            kept.append(line)
    return "\n".join(kept)


def _untagged(text: str) -> str:
    """Return the text without tags, comments and the text between them; one that is not closed reaches to the end."""
    kept = ""
    while True:
        before, found, rest = text.partition("<")
        kept += before
        if not found:
            return kept
        if not rest[:1].isalpha() and rest[:1] not in "!/?":
            kept += "<"
            text = rest
            continue
        end = "-->" if rest.startswith("!--") else "</%s" % _tag_name(rest)
        # The last closing tag, so that pasted text cannot end the element early and pass as the user's own words.
        at = rest.rfind(end)
        if at < 0:
            return kept
        text = rest[at + len(end) :] if end == "-->" else rest[at:].partition(">")[2]


def _tag_name(text: str) -> str:
    end = 0
    while end < len(text) and (text[end].isalnum() or text[end] in "-_:"):
        end += 1
    return text[:end]


def _unquoted(text: str) -> str:
    """Return the text without quoted passages; one that is not closed reaches to the end."""
    kept = ""
    at = 0
    while at < len(text):
        sign = text[at]
        closing = _QUOTES.get(sign, "")
        if sign == "'" and (at == 0 or text[at - 1].isspace()):
            closing = "'"
        if not closing:
            kept += sign
            at += 1
            continue
        ends = [end for mark in closing if (end := text.find(mark, at + 1)) >= 0]
        if not ends:
            return kept
        kept += " "
        at = min(ends) + 1
    return kept


def _own_lines(text: str, table: dict[str, Any]) -> list[str]:
    """Return the lines that the user seems to have written, up to the first one that announces or begins someone else's text."""
    own: list[str] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        stripped = line.strip()
        if _starts_pasted_text(stripped, table):
            break
        below = any(map(str.strip, lines[number + 1 :]))
        if own and below and stripped.strip(" ,.!-") in table["sign_offs"]["values"]:
            return []  # the lines above are a letter
        if _is_quoted_or_listed(line):
            continue
        before, colon, _ = stripped.partition(": ")
        announces = colon and not _may_precede(before, table)
        own.append(before if announces else stripped)
        if announces or (below and _introduces(stripped, table)):
            break
    return own if len(own) <= _MAX_LINES else []


def _starts_pasted_text(line: str, table: dict[str, Any]) -> bool:
    """Return whether a line, stripped, begins someone else's text: a separator, a greeting, or a chat message."""
    greetings = tuple(table["greetings"]["values"])
    return line.startswith(_SEPARATOR_STARTS) or line.startswith(greetings) or _is_stamped(line)


def _is_quoted_or_listed(line: str) -> bool:
    """Return whether a line is indented like code, quoted like a mail, or an item of a list."""
    stripped = line.strip()
    return line.startswith(_INDENTED) or stripped.startswith(">") or _is_listed(stripped)


def _introduces(line: str, table: dict[str, Any]) -> bool:
    """Return whether a line, stripped, announces the text below it: it ends with a colon or has an announcing word or phrase."""
    words = set(" ".join(c if c.isalnum() or c in "-'" else " " for c in line).split())
    padded = " %s " % " ".join(line.split())
    phrases = table["announcing"]["values"]
    return line.endswith(":") or any(phrase in words or " %s " % phrase in padded for phrase in phrases)


def _may_precede(before: str, table: dict[str, Any]) -> bool:
    """Return whether the user's own words may follow this text and a colon: a request, or a form of address."""
    groups = ("strong", "weak", "unspaced")
    phrases = (phrase.strip(" :,") for name in groups for phrase in _phrases(table, name))
    return before.strip() in table["before_colon"]["values"] or any(phrase in before for phrase in phrases)


def _is_stamped(line: str) -> bool:
    """Return whether a line begins a chat message: `[10:32] bob: hello`, or `bob  10:32 AM`."""
    words = line.split()
    times = [word.strip("[]()").replace(":", "").isdigit() and ":" in word for word in words[:4]]
    return any(times) and (times[0] or (len(words) <= 4 and line.endswith((" am", " pm"))))


def _is_listed(line: str) -> bool:
    number = line.partition(" ")[0]
    return line.startswith(_BULLETS) or (number[:-1].isdigit() and number[-1] in ".)")


def _paragraphs(lines: list[str]) -> list[str]:
    return [part.strip() for part in "\n".join(lines).split("\n\n") if part.strip()]


def _asks(text: str, phrases: list[str], table: dict[str, Any], *, starts_sentence: bool) -> bool:
    """Return whether one of the phrases begins a clause (or a sentence) of a text, apart from introductory words."""
    for phrase in phrases:
        at = text.find(phrase)
        while at >= 0:
            if not text[at - 1 : at].isalnum() and _is_request(text, at, table, starts_sentence):
                return True
            at = text.find(phrase, at + 1)
    return False


def _is_request(text: str, at: int, table: dict[str, Any], starts_sentence: bool) -> bool:
    """Return whether the phrase at an offset is addressed to Claude, and not part of a report or a question."""
    start = 1 + max(text.rfind(end, 0, at) for end in _ENDS)
    ends = [end for sign in _ENDS if (end := text.find(sign, at)) >= 0]
    before = text[start:at]
    if any(word.strip(_CLAUSES) in table["others"]["values"] for word in before.split()):
        return False
    is_question = bool(ends) and text[min(ends)] in "?\uff1f"
    if is_question and not any(phrase in before for phrase in table["asking"]["values"]):
        return False
    clause = before if starts_sentence else before[1 + max(before.rfind(sign) for sign in _CLAUSES) :]
    for sign in _CLAUSES:
        clause = clause.replace(sign, " ")
    return _leads(clause.split(), table, starts_sentence)


def _leads(words: list[str], table: dict[str, Any], starts_sentence: bool) -> bool:
    """Return whether only introductory words precede a request, from the beginning of the clause or from a conjunction."""
    leads = table["leads"]["values"]
    first = len(words)
    while first > 0 and words[first - 1] in leads:
        first -= 1
    # A word such as "do" or "can" leads to a request only after certain words.
    before_last = table["dangling"]["values"].get(words[-1]) if words else None
    if before_last is not None and not (len(words) > 1 and words[-2] in before_last):
        return False
    return first == 0 or (
        not starts_sentence and first < len(words) and words[first] in table["joining"]["values"]
    )
