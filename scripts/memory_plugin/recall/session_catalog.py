"""The session catalog: rules and titles that are injected before any prompt, so that standing rules apply without a matching prompt.

For example, the rule "write the test first" would never match the prompt "add a message handler". Rules count as injected, titles of other
memories do not. A sub-agent gets only the rules. The texts were prepared in the index; a memory whose file changed since is left out.

A store of 10,000 memories takes no longer than a small one: SQLite's indexes return the newest entries, and only as many are read as fit
into a catalog.
"""

from __future__ import annotations

import os
from math import inf

from ..kernel.context import Context, now_iso
from ..kernel.files import os_error_text, stamp
from ..kernel.text import cut_at_word, escape_content, shown_tokens
from .decision import LISTED, MAX_RULE_LENGTH, estimated_tokens, first_sentence, one_line
from .gate import Answer
from .history import CATALOG, FOREVER, SUBAGENT, USED, USEFUL, RecallHistory
from .index_file import INDEX_ERRORS, IndexUnavailable, changed_paths, index_path, open_index
from .recall_rows import FEEDBACK, IGNORED_PLACES, RECALLS, latest_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.sqlite import Connection

    Entries = list["CatalogEntry"]

_RESUME = "resume"  # the only source after which the context still contains what was injected
_SUBAGENT_TOKENS = 300
_REFRESH_WAIT = 0.2  # seconds
_MIN_LINE = 5  # tokens; no list has more lines than its tokens divided by this
_MAX_USED = 50  # older memories that are listed because they were used recently
_WHOLE = "catalog"  # the key of the catalog's whole content in a session's history
_PENDING = "pending"
_UNREADABLE = "unreadable"  # the status of a file that is no memory
_CATEGORIES = ("CONSTRAINT", "DECISION", "RUNBOOK", "TECH_DEBT", "SESSION_SUMMARY")
_ORDER = dict(zip(_CATEGORIES, range(len(_CATEGORIES))))  # any other comes last
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
MAX_TITLE_LENGTH = 120
# Lengths of rules and titles in characters, tried in this order until everything fits. From the second on, a rule is its first sentence.
_CUTS = ((MAX_RULE_LENGTH, MAX_TITLE_LENGTH), (120, MAX_TITLE_LENGTH), (120, 70), (80, 52), (80, 40))
_OPEN, _CLOSE = "<memory-catalog>\n", "</memory-catalog>"
_HEADER = "Saved by the user or the team. Full text: memory show TITLE\n"
_RULES = "Standing rules, to follow:\n"
_SOME_RULES = "Standing rules, to follow (%d of %d; all: memory list --rules):\n"
_MORE_RULES, _TITLES = "More rules, by title:\n", "Other memories, by title:\n"
_UNLISTED = "and %d more: memory search WORDS\n"
_FRAME = shown_tokens(_OPEN + _HEADER + _RULES + _TITLES + _UNLISTED % 99_999 + _CLOSE) + 1
_RULES_FRAME = shown_tokens(_OPEN + _HEADER + _RULES + _CLOSE) + 1
_COUNT_FRAME = shown_tokens(_SOME_RULES % (99, 99_999) + _MORE_RULES) - shown_tokens(_RULES)
_LINE_END, _RULE_MARK = shown_tokens("\n"), shown_tokens("- ")


class CatalogEntry:
    """One memory in the catalog.

    `rule` is its line, empty unless it is a rule; `inject` the full text, `digest` that of the text; `is_own` whether the user wrote it.
    """

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


def count_without_phrases(connection: Connection) -> int:
    """Return the number of trusted memories without search phrases. Raises SqliteError."""
    query = "SELECT count(*) FROM documents WHERE %s AND asked_as = '[]'" % _LISTABLE
    return int(connection.execute(query).fetchone()[0])


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


def arrange(
    rules: Entries, titles: Entries, max_tokens: int, *, only_rules: bool
) -> tuple[list[str], list[str], list[str]]:
    """Return the lines that fit into `max_tokens`, in the given order: of rules, of the titles of the other rules, and of titles."""
    room = max_tokens - (_RULES_FRAME if only_rules else _FRAME)
    names = [entry.title for entry in titles]
    for rule_cut, title_cut in _CUTS:
        lines = [entry.rule if rule_cut == MAX_RULE_LENGTH else first_sentence(entry.rule) for entry in rules]
        fitting, used = _fill(lines, rule_cut, room, _RULE_MARK)
        title_lines, _ = _fill(names, title_cut, room - used, 0.0)
        if len(fitting) == len(lines) and len(title_lines) == len(names):
            return fitting, [], title_lines
    # All titles come before the words of a rule, but a few rules are always read whole.
    room -= _COUNT_FRAME
    claimed = [] if only_rules else [entry.title for entry in rules] + names
    claim = sum(shown_tokens(line) + _LINE_END for line in _fill(claimed, title_cut, inf, 0.0)[0])
    fitting, used = _fill(lines, rule_cut, max(min(MAX_RULE_TOKENS, room), room - claim), _RULE_MARK)
    left_out = [] if only_rules else [entry.title for entry in rules[len(fitting) :]]
    more_rules, more = _fill(left_out, title_cut, room - used, 0.0)
    title_lines, _ = _fill(names, title_cut, room - used - more, 0.0)
    return fitting, more_rules, title_lines


def _fill(lines: list[str], cut: int, tokens: float, prefix_tokens: float) -> tuple[list[str], float]:
    """Return the first lines that fit into `tokens`, cut and escaped, and their tokens; each line's prefix costs `prefix_tokens`."""
    fitting: list[str] = []
    used = 0.0
    for line in lines:
        text = escape_content(cut_at_word(line, cut))
        cost = shown_tokens(text) + prefix_tokens + _LINE_END
        if used + cost > tokens:
            break
        fitting.append(text)
        used += cost
    return fitting, used


def is_catalog_on(context: Context) -> bool:
    """Return whether the settings switch the catalog on."""
    settings = context.settings
    return settings.flag("retrieval.enabled") and settings.integer("retrieval.catalog.max_tokens") > 0


def current_index(context: Context) -> Connection | None:
    """Return the index, first brought up to date if that takes little time and nobody else does it; None if it cannot answer."""
    path = index_path(context.paths)
    try:
        connection = open_index(path)
        if changed_paths(connection) == set():
            return connection
        connection.close()
    except INDEX_ERRORS:
        pass
    # Most starts do without the modules that read memories.
    from .pipeline import refresh_some

    refresh_some(context, _REFRESH_WAIT)
    try:
        return open_index(path)
    except IndexUnavailable:
        return None


def session_catalog(
    connection: Connection, source: str, context: Context, trial: RecallHistory | None = None
) -> Answer | None:
    """Return the catalog for a session that starts or resumes; None without memories. Raises SqliteError.

    With `trial`, what it contains is added to that history instead of the session's.
    A resumed session gets a catalog only if something changed, and then only the rules and titles that it does not have.
    """
    rules = standing_rules(connection)
    most = context.settings.integer("retrieval.catalog.max_tokens") // _MIN_LINE
    titles = newest_titles(connection, most)
    if not rules and not titles:
        return None
    answer = Answer(CATALOG, answered_by="index", source=source).withhold("unchanged")
    history = trial or RecallHistory(context.paths, context.session, CATALOG)
    content = "\n".join([entry.digest for entry in rules] + sorted(entry.title for entry in titles))
    known: set[str] = set()
    if source == _RESUME:
        if history.was_pointed(_WHOLE, content):
            return answer
        known = {entry.key for entry in rules if history.was_injected(entry.key, entry.inject, FOREVER)}
        entries = rules + titles
        known |= {one.key for one in entries if history.was_pointed(LISTED + one.key, one.title)}
    history.record_pointer(_WHOLE, content)
    total = count_memories(connection) - len(known)
    unknown = [entry for entry in titles if entry.key not in known]
    ordered = _ordered(connection, unknown, known, context)
    _fill_in(answer, [entry for entry in rules if entry.key not in known], ordered, total, history, context)
    return answer


def _ordered(connection: Connection, titles: Entries, known: set[str], context: Context) -> Entries:
    """Return the titles by category, recently used ones first."""
    used = dict.fromkeys(recently_used(context))
    present = {entry.key for entry in titles} | known
    ordered = titles + named_titles(connection, [key for key in used if key not in present][-_MAX_USED:])
    ordered.sort(key=lambda entry: entry.updated_at, reverse=True)
    return sorted(ordered, key=lambda entry: (entry.key not in used, _ORDER.get(entry.category, len(_ORDER))))


def subagent_rules(connection: Connection, agent: str, context: Context) -> Answer | None:
    """Return the standing rules for a sub-agent with this id; None without rules. Raises SqliteError.

    It has its own history, because its context is its own.
    """
    rules = standing_rules(connection)
    if not rules:
        return None
    answer = Answer(SUBAGENT, answered_by="index").withhold("unchanged")
    _fill_in(answer, rules, [], 0, RecallHistory(context.paths, context.session, SUBAGENT, agent), context)
    return answer


def _fill_in(
    answer: Answer, rules: Entries, titles: Entries, total: int, history: RecallHistory, context: Context
) -> None:
    """Fill in the answer with the rules and titles that fit, and add them to the session's history; rules count as injected.

    `total` is the number of memories.
    """
    max_tokens = context.settings.integer("retrieval.catalog.max_tokens")
    only_rules = answer.record["place"] == SUBAGENT
    if only_rules:
        max_tokens = min(_SUBAGENT_TOKENS, max_tokens)
    lines = arrange(rules, titles, max_tokens, only_rules=only_rules)
    if len(lines[0]) < len(rules):
        rules = by_claim(rules, context)
        lines = arrange(rules, titles, max_tokens, only_rules=only_rules)
    whole, more, others = map(len, lines)
    injected, listed = rules[:whole], rules[whole : whole + more] + titles[:others]
    if not injected and not listed:
        return
    for entry in injected:
        history.record_injected(entry.key, entry.inject)
    for entry in listed:
        history.record_pointer(LISTED + entry.key, entry.title)
    unlisted = max(0, total - len(injected) - len(listed))
    answer.block = render(*lines, number=len(rules), unlisted=unlisted)
    answer.receipt = _receipt(len(injected), len(rules), len(listed))
    answer.record.update(
        outcome="injected" if injected else "listed",
        reason="",
        injected=[entry.key for entry in injected],
        listed=len(listed),
        tokens=estimated_tokens(answer.block),
    )
    try:
        history.save()
    except OSError as error:  # a rule may be injected twice, which is better than not at all
        answer.record["problem"] = "session: " + os_error_text(error)


def _receipt(told: int, rules: int, titles: int) -> str:
    parts = []
    if told:
        of = " of your %d" % rules if told < rules else ""
        all_rules = " (all rules: memory list --rules)" if of else ""
        parts.append("%d%s standing rule%s%s" % (told, of, "" if rules == 1 else "s", all_rules))
    if titles:
        numbers = ("", 1, "memory") if titles == 1 else ("s", titles, "memories")
        parts.append("the title%s of %d %s" % numbers)
    return "memory: Claude has " + " and ".join(parts)


def pending_texts(connection: Connection) -> list[tuple[str, str]]:
    """Return key and `Document.new_phrases` of the memories that await approval, or whose phrases do, in order.

    Superseded ones are left out. Raises SqliteError.
    """
    return connection.execute(
        "SELECT key, new_phrases FROM documents WHERE rowid IN (SELECT rowid FROM documents WHERE trust = ? "
        "UNION SELECT rowid FROM documents WHERE new_phrases != '') AND status = 'active' "
        "AND key NOT IN (SELECT key FROM superseded) ORDER BY key",
        (_PENDING,),
    ).fetchall()


def unreadable_files(connection: Connection) -> list[str]:
    """Return the paths of the files in stores that are no memories, in order. Raises SqliteError."""
    rows = connection.execute(
        "SELECT key FROM documents WHERE trust = '' AND status = ? ORDER BY key", (_UNREADABLE,)
    )
    return [path for (path,) in rows]
