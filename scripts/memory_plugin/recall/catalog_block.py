"""Format the session catalog: choose which rules and titles fit into its tokens, and shorten them if needed.

Pure functions of prepared lines. If not everything fits, rules and titles are shortened before any is left out, because even a short title
tells Claude that there is something to look up.
"""

from __future__ import annotations

from ..kernel.text.tags import escape_content
from .decision import tokens_of

__all__ = ["MAX_RULE_TOKENS", "CatalogBlock", "arrange", "rule_line"]

MAX_RULE_TOKENS = 400
LONGEST_RULE, LONGEST_TITLE = 200, 120
# Characters of a rule and of a title, tried in this order until all rules and most titles fit; the last pair is what large stores get.
_CUTS = (
    (LONGEST_RULE, LONGEST_TITLE),
    (160, LONGEST_TITLE),
    (120, LONGEST_TITLE),
    (120, 100),
    (120, 85),
    (80, 70),
)
_MOST = (
    0.9  # of the titles; shortening all of them for the sake of the last few would cost more than it gives
)
_OPEN, _CLOSE = "<memory-catalog>\n", "</memory-catalog>"
_HEADER = "Saved by the user for this project; full text: memory show TITLE\n"
_RULES, _TITLES = "Standing rules:\n", "Other memories, by title:\n"
_LEFT = "and %d more: memory search WORDS\n"
_FRAME = tokens_of(_OPEN + _HEADER + _RULES + _TITLES + _LEFT % 99_999 + _CLOSE) + 1
_RULES_FRAME = tokens_of(_OPEN + _HEADER + _RULES + _CLOSE) + 1
_LINE_END, _RULE_MARK = tokens_of("\n"), tokens_of("- ")
_ENDS = (".", "!", "?", ":", "\u3002")


class CatalogBlock:
    """The lines of a catalog: as many of the first rules and titles as fit."""

    __slots__ = ("rules", "titles")

    def __init__(self, rules: list[str], titles: list[str]) -> None:
        self.rules = rules
        self.titles = titles

    def render(self, left: int) -> str:
        """Return the text for Claude, empty without rules and titles; of the `left` other memories it gives the number and a command."""
        if not self.rules and not self.titles:
            return ""
        parts = [_OPEN, _HEADER]
        if self.rules:
            parts += [_RULES, *("- %s\n" % line for line in self.rules)]
        if self.titles:
            parts += [_TITLES, *(line + "\n" for line in self.titles)]
        if left:
            parts.append(_LEFT % left)
        return "".join([*parts, _CLOSE])


def rule_line(title: str, rule: str) -> str:
    """Return a standing rule as one line of at most 200 characters, without the title if the rule repeats it."""
    rule = " ".join(rule.split())
    if not rule or title.casefold().startswith(rule.casefold()):
        return _cut(title, LONGEST_RULE)
    if rule.casefold().startswith(title.casefold()):
        return _cut(rule, LONGEST_RULE)
    return _cut(title + (" " if title.endswith(_ENDS) else ". ") + rule, LONGEST_RULE)


def arrange(rules: list[str], titles: list[str], max_tokens: int) -> CatalogBlock:
    """Return the rules and titles that fit into `max_tokens`, in the given order; without titles the block lists only rules."""
    room = max_tokens - (_FRAME if titles else _RULES_FRAME)
    block = CatalogBlock([], [])
    for rule_cut, title_cut in _CUTS:
        told, used = _fill(rules, rule_cut, min(MAX_RULE_TOKENS, room), _RULE_MARK)
        if len(told) < len(rules) and (rule_cut, title_cut) != _CUTS[-1]:
            continue
        listed, _ = _fill(titles, title_cut, room - used, 0.0)
        block = CatalogBlock(told, listed)
        if len(listed) >= _MOST * len(titles):
            break
    return block


def _fill(lines: list[str], cut: int, tokens: float, mark: float) -> tuple[list[str], float]:
    """Return the first lines that fit into `tokens`, cut and escaped, and the tokens they use; `mark` is the cost of each line's prefix."""
    kept: list[str] = []
    used = 0.0
    for line in lines:
        text = escape_content(_cut(line, cut))
        cost = tokens_of(text) + mark + _LINE_END
        if used + cost > tokens:
            break
        kept.append(text)
        used += cost
    return kept, used


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "\u2026"
