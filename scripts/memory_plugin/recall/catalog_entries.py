"""Read the entries of the session catalog from the index, standing rules and titles, and choose what fits.

A store of 10,000 memories takes no longer than a small one: SQLite's indexes return the newest entries, and only as many are read as fit
into a catalog.
"""

from __future__ import annotations

import os
from math import inf

from ..kernel.context import now_iso
from ..kernel.files import stamp
from ..kernel.text import cut_at_word, escape_content
from .decision import first_sentence, joined, one_line, tokens_of
from .history import USED, USEFUL
from .recall_rows import FEEDBACK, IGNORED_PLACES, RECALLS, latest_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context
    from ..kernel.sqlite import Connection

    Entries = list["CatalogEntry"]

_ALL = -1  # a limit of SQLite
_USES = (USED, USEFUL)
_MATCHED = ("already_injected", "already_pointed")  # it bore on a prompt, but Claude had it already
# The same conditions as in the partial indexes of `index_refresh`; otherwise SQLite would not use these.
_LISTABLE = "injectable = 1 AND scope != 'native'"
_UNEXPIRED = "(expires_at = '' OR expires_at > ?)"
_SELECT = (
    "SELECT key, title, rule, updated_at, inject, full_digest, own, category, path, stamp FROM documents WHERE %s AND "
    + _LISTABLE
)

MAX_RULE_TOKENS = 400
MAX_RULE_LENGTH, MAX_TITLE_LENGTH = 200, 120
# Lengths of rules and titles in characters, tried in this order until everything fits. From the second on, a rule is its first sentence.
_CUTS = ((MAX_RULE_LENGTH, MAX_TITLE_LENGTH), (120, MAX_TITLE_LENGTH), (120, 70), (80, 52), (80, 40))
_OPEN, _CLOSE = "<memory-catalog>\n", "</memory-catalog>"
_HEADER = "Saved by the user or the team. Full text: memory show TITLE\n"
_RULES = "Standing rules, to follow:\n"
_SOME_RULES = "Standing rules, to follow (%d of %d; all: memory list --rules):\n"
_MORE_RULES, _TITLES = "More rules, by title:\n", "Other memories, by title:\n"
_UNLISTED = "and %d more: memory search WORDS\n"
_FRAME = tokens_of(_OPEN + _HEADER + _RULES + _TITLES + _UNLISTED % 99_999 + _CLOSE) + 1
_RULES_FRAME = tokens_of(_OPEN + _HEADER + _RULES + _CLOSE) + 1
_COUNT_FRAME = tokens_of(_SOME_RULES % (99, 99_999) + _MORE_RULES) - tokens_of(_RULES)
_LINE_END, _RULE_MARK = tokens_of("\n"), tokens_of("- ")


class CatalogEntry:
    """One memory in the catalog.

    `rule` is its line, empty unless it is a rule; `inject` the full text, `digest` that of the text; `is_own` whether the user wrote it.
    """

    __slots__ = ("category", "digest", "inject", "is_own", "key", "rule", "title", "updated_at")

    def __init__(self, row: tuple[Any, ...]) -> None:
        """`row`: the first columns of _SELECT."""
        self.key, title, self.rule, self.updated_at, self.inject, self.digest, own, self.category = row
        self.title = one_line(title)
        self.is_own = bool(own)


def standing_rules(connection: Connection) -> Entries:
    """Return the trusted rules that have not expired, the last changed first. Raises SqliteError."""
    return _entries(connection, "rule != ''", [], _ALL)


def by_claim(rules: Entries, context: Context) -> Entries:
    """Return the rules in the order in which they get the room, if there is too little for all.

    The user's own come first, so that no accepted pull displaces them; then those that applied most often lately; then the last changed.
    Only a store with too many rules pays for this.
    """
    applied = _applied(context)
    return sorted(rules, key=lambda rule: (not rule.is_own, -applied.count(rule.key)))


def _applied(context: Context) -> list[str]:
    """Return the key of a memory for each time lately that it bore on a prompt, a file or a command, or that a reply used it."""
    keys = recently_used(context)
    for row in latest_rows(RECALLS, context):
        if row.get("place") not in IGNORED_PLACES:
            keys += [c["key"] for c in row.get("candidates", ()) if c.get("withheld") in _MATCHED]
            keys += [*row.get("injected", ()), *row.get("guards", ())]
    return keys


def newest_titles(connection: Connection, limit: int) -> Entries:
    """Return at most `limit` trusted memories that are not rules, the last changed first. Raises SqliteError."""
    return _entries(connection, "rule = ''", [], limit)


def named_titles(connection: Connection, keys: list[str]) -> Entries:
    """Return the trusted memories with these keys, except rules. Raises SqliteError."""
    return _entries(connection, "rule = '' AND key IN (%s)" % ", ".join("?" * len(keys)), keys, _ALL)


def count_memories(connection: Connection) -> int:
    """Return the number of trusted, unexpired memories, without the notes that Claude Code lists itself. Raises SqliteError."""
    query = "SELECT count(*) FROM documents WHERE %s AND %s" % (_LISTABLE, _UNEXPIRED)
    return int(connection.execute(query, (now_iso(),)).fetchone()[0])


def _entries(connection: Connection, condition: str, values: list[str], limit: int) -> Entries:
    query = "%s AND %s ORDER BY updated_at DESC LIMIT ?" % (_SELECT % condition, _UNEXPIRED)
    rows = connection.execute(query, (*values, now_iso(), limit))
    return [CatalogEntry(row[:8]) for row in rows.fetchall() if _is_current(*row[8:])]


def _is_current(path: str, indexed: str) -> bool:
    """Return whether a file still has the stamp that was indexed."""
    try:
        return stamp(os.lstat(path)) == indexed
    except (OSError, ValueError):
        return False


def recently_used(context: Context) -> list[str]:
    """Return the keys of memories that replies used or users called useful recently, once for each use, from the end of the ledger."""
    rows = [row for row in latest_rows(FEEDBACK, context) if row.get("kind") in _USES]
    return [key for row in rows for key in row.get("memories", ())]


def render(rules: list[str], more_rules: list[str], titles: list[str], *, number: int, unlisted: int) -> str:
    """Return the text for Claude, empty without rules and titles: the first of all `number` rules, the titles of further ones, and others.

    `unlisted` is the number of memories that do not fit.
    """
    if not rules and not titles and not more_rules:
        return ""
    parts = [_OPEN, _HEADER]
    if rules:
        parts.append(_RULES if len(rules) == number else _SOME_RULES % (len(rules), number))
        parts += ["- %s\n" % line for line in rules]
    for heading, lines in ((_MORE_RULES, more_rules), (_TITLES, titles)):
        parts += [heading, *(line + "\n" for line in lines)] if lines else []
    if unlisted:
        parts.append(_UNLISTED % unlisted)
    return "".join([*parts, _CLOSE])


def rule_line(title: str, rule: str) -> str:
    """Return a standing rule as one line of at most 200 characters, without the title if the rule repeats it."""
    rule = one_line(rule)
    if not rule or title.casefold().startswith(rule.casefold()):
        return cut_at_word(title, MAX_RULE_LENGTH)
    if rule.casefold().startswith(title.casefold()):
        return cut_at_word(rule, MAX_RULE_LENGTH)
    return cut_at_word(joined(title, rule), MAX_RULE_LENGTH)


def arrange(
    rules: Entries, titles: Entries, max_tokens: int, *, only_rules: bool
) -> tuple[list[str], list[str], list[str]]:
    """Return the lines that fit into `max_tokens`, in the given order: of rules, of the titles of the other rules, and of titles."""
    room = max_tokens - (_RULES_FRAME if only_rules else _FRAME)
    names = [entry.title for entry in titles]
    for rule_cut, title_cut in _CUTS:
        lines = [_rule(entry, rule_cut) for entry in rules]
        fitting, used = _fill(lines, rule_cut, room, _RULE_MARK)
        title_lines, _ = _fill(names, title_cut, room - used, 0.0)
        if len(fitting) == len(lines) and len(title_lines) == len(names):
            return fitting, [], title_lines
    # All titles come before the words of a rule, but a few rules are always read whole.
    room -= _COUNT_FRAME
    claimed = [] if only_rules else [entry.title for entry in rules] + names
    claim = sum(tokens_of(line) + _LINE_END for line in _fill(claimed, title_cut, inf, 0.0)[0])
    fitting, used = _fill(lines, rule_cut, max(min(MAX_RULE_TOKENS, room), room - claim), _RULE_MARK)
    left_out = [] if only_rules else [entry.title for entry in rules[len(fitting) :]]
    more_rules, more = _fill(left_out, title_cut, room - used, 0.0)
    title_lines, _ = _fill(names, title_cut, room - used - more, 0.0)
    return fitting, more_rules, title_lines


def _rule(entry: CatalogEntry, cut: int) -> str:
    return entry.rule if cut == MAX_RULE_LENGTH else first_sentence(entry.rule)


def _fill(lines: list[str], cut: int, tokens: float, prefix_tokens: float) -> tuple[list[str], float]:
    """Return the first lines that fit into `tokens`, cut and escaped, and their tokens; each line's prefix costs `prefix_tokens`."""
    fitting: list[str] = []
    used = 0.0
    for line in lines:
        text = escape_content(cut_at_word(line, cut))
        cost = tokens_of(text) + prefix_tokens + _LINE_END
        if used + cost > tokens:
            break
        fitting.append(text)
        used += cost
    return fitting, used
