"""Format the session catalog: choose which rules and titles fit into its tokens, and shorten them if needed.

Pure functions of prepared lines. If not everything fits, rules and titles are shortened before any is left out, because even a short title
tells Claude that there is something to look up.
"""

from __future__ import annotations

from ..kernel.text.tags import escape_content
from .decision import tokens_of

MAX_RULE_TOKENS = 400
MAX_RULE_LENGTH, MAX_TITLE_LENGTH = 200, 120
# Lengths of rules and titles in characters, tried in this order until all rules and most titles fit. Large stores get the last pair.
_CUTS = (
    (MAX_RULE_LENGTH, MAX_TITLE_LENGTH),
    (160, MAX_TITLE_LENGTH),
    (120, MAX_TITLE_LENGTH),
    (120, 100),
    (120, 85),
    (80, 70),
)
# The share of the titles that must fit; shortening all of them to fit in the last few would cost more than it gains.
_MIN_TITLES_SHARE = 0.9
_OPEN, _CLOSE = "<memory-catalog>\n", "</memory-catalog>"
_HEADER = "Saved by the user for this project; full text: memory show TITLE\n"
_RULES, _TITLES = "Standing rules:\n", "Other memories, by title:\n"
_UNLISTED = "and %d more: memory search WORDS\n"
_FRAME = tokens_of(_OPEN + _HEADER + _RULES + _TITLES + _UNLISTED % 99_999 + _CLOSE) + 1
_RULES_FRAME = tokens_of(_OPEN + _HEADER + _RULES + _CLOSE) + 1
_LINE_END, _RULE_MARK = tokens_of("\n"), tokens_of("- ")
_ENDS = (".", "!", "?", ":", "\u3002")


class CatalogBlock:
    """The lines of a catalog: as many of the first rules and titles as fit."""

    __slots__ = ("rules", "titles")

    def __init__(self, rules: list[str], titles: list[str]) -> None:
        self.rules = rules
        self.titles = titles

    def render(self, unlisted: int) -> str:
        """Return the text for Claude, empty without rules and titles; `unlisted` is the number of memories that do not fit."""
        if not self.rules and not self.titles:
            return ""
        parts = [_OPEN, _HEADER]
        if self.rules:
            parts += [_RULES, *("- %s\n" % line for line in self.rules)]
        if self.titles:
            parts += [_TITLES, *(line + "\n" for line in self.titles)]
        if unlisted:
            parts.append(_UNLISTED % unlisted)
        return "".join([*parts, _CLOSE])


def rule_line(title: str, rule: str) -> str:
    """Return a standing rule as one line of at most 200 characters, without the title if the rule repeats it."""
    rule = " ".join(rule.split())
    if not rule or title.casefold().startswith(rule.casefold()):
        return _cut(title, MAX_RULE_LENGTH)
    if rule.casefold().startswith(title.casefold()):
        return _cut(rule, MAX_RULE_LENGTH)
    return _cut(title + (" " if title.endswith(_ENDS) else ". ") + rule, MAX_RULE_LENGTH)


def arrange(rules: list[str], titles: list[str], max_tokens: int) -> CatalogBlock:
    """Return the rules and titles that fit into `max_tokens`, in the given order; without titles the block lists only rules."""
    room = max_tokens - (_FRAME if titles else _RULES_FRAME)
    block = CatalogBlock([], [])
    for rule_cut, title_cut in _CUTS:
        rule_lines, used = _fill(rules, rule_cut, min(MAX_RULE_TOKENS, room), _RULE_MARK)
        if len(rule_lines) < len(rules) and (rule_cut, title_cut) != _CUTS[-1]:
            continue
        title_lines, _ = _fill(titles, title_cut, room - used, 0.0)
        block = CatalogBlock(rule_lines, title_lines)
        if len(title_lines) >= _MIN_TITLES_SHARE * len(titles):
            break
    return block


def _fill(lines: list[str], cut: int, tokens: float, prefix_tokens: float) -> tuple[list[str], float]:
    """Return the first lines that fit into `tokens`, cut and escaped, and their tokens; each line's prefix costs `prefix_tokens`."""
    fitting: list[str] = []
    used = 0.0
    for line in lines:
        text = escape_content(_cut(line, cut))
        cost = tokens_of(text) + prefix_tokens + _LINE_END
        if used + cost > tokens:
            break
        fitting.append(text)
        used += cost
    return fitting, used


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "\u2026"
