"""The session catalog: rules and titles that are injected before any prompt, so that standing rules apply without a matching prompt.

For example, the rule "write the test first" would never match the prompt "add a message handler". Rules count as injected, titles of other
memories do not. A sub-agent gets only the rules. The texts were prepared in the index; a memory whose file changed since is left out.

The user is told which memories await approval, or that several have no phrases. The modules that read memories and trust are imported
only if there is a problem.
"""

from __future__ import annotations

from ..kernel.context import days_ago, now_iso
from ..kernel.fastjson import digest
from ..kernel.files import open_to_read, os_error_text
from ..kernel.paths import read_state, record_once
from . import catalog_entries
from .decision import LISTED, estimated_tokens
from .gate import Answer
from .history import CATALOG, FOREVER, SUBAGENT, RecallHistory
from .index_file import INDEX_ERRORS, IndexUnavailable, changed_paths, index_path, open_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from ..kernel.paths import Paths
    from ..kernel.sqlite import Connection
    from .catalog_entries import Entries

_RESUME = "resume"  # the only source after which the context still contains what was injected
_SUBAGENT_TOKENS = 300
_REFRESH_WAIT = 0.2  # seconds
_MIN_LINE = 5  # tokens; no list has more lines than its tokens divided by this
_MAX_USED = 50  # older memories that are listed because they were used recently
_WHOLE = "catalog"  # the key of the catalog's whole content in a session's history
_PENDING, _PHRASES = "pending", "phrases"
_MIN_WITHOUT_PHRASES, _OFFER_DAYS = 5, 7
_CATEGORIES = ("CONSTRAINT", "DECISION", "RUNBOOK", "TECH_DEBT", "SESSION_SUMMARY")
_ORDER = dict(zip(_CATEGORIES, range(len(_CATEGORIES))))  # any other comes last


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
    rules = catalog_entries.standing_rules(connection)
    most = context.settings.integer("retrieval.catalog.max_tokens") // _MIN_LINE
    titles = catalog_entries.newest_titles(connection, most)
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
    total = catalog_entries.count_memories(connection) - len(known)
    unknown = [entry for entry in titles if entry.key not in known]
    ordered = _ordered(connection, unknown, known, context)
    new_rules = [entry for entry in rules if entry.key not in known]
    _fill_in(answer, new_rules, ordered, total, history, context)
    return answer


def _ordered(connection: Connection, titles: Entries, known: set[str], context: Context) -> Entries:
    """Return the titles by category, recently used ones first."""
    used = dict.fromkeys(catalog_entries.recently_used(context))
    present = {entry.key for entry in titles} | known
    others = [key for key in used if key not in present][-_MAX_USED:]
    ordered = titles + catalog_entries.named_titles(connection, others)
    ordered.sort(key=lambda entry: entry.updated_at, reverse=True)
    return sorted(ordered, key=lambda entry: (entry.key not in used, _ORDER.get(entry.category, len(_ORDER))))


def subagent_rules(connection: Connection, agent: str, context: Context) -> Answer | None:
    """Return the standing rules for a sub-agent with this id; None without rules. Raises SqliteError.

    It has its own history, because its context is its own.
    """
    rules = catalog_entries.standing_rules(connection)
    if not rules:
        return None
    answer = Answer(SUBAGENT, answered_by="index").withhold("unchanged")
    history = RecallHistory(context.paths, context.session, SUBAGENT, agent)
    _fill_in(answer, rules, [], 0, history, context)
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
    lines = catalog_entries.arrange(rules, titles, max_tokens, only_rules=only_rules)
    if len(lines[0]) < len(rules):
        rules = catalog_entries.by_claim(rules, context)
        lines = catalog_entries.arrange(rules, titles, max_tokens, only_rules=only_rules)
    whole, more, others = map(len, lines)
    injected, listed = rules[:whole], rules[whole : whole + more] + titles[:others]
    if not injected and not listed:
        return
    for entry in injected:
        history.record_injected(entry.key, entry.inject)
    for entry in listed:
        history.record_pointer(LISTED + entry.key, entry.title)
    unlisted = max(0, total - len(injected) - len(listed))
    answer.block = catalog_entries.render(*lines, number=len(rules), unlisted=unlisted)
    answer.receipt = _receipt(len(injected), len(rules), len(listed))
    answer.record.update(
        outcome="injected" if injected else "listed",
        reason="",
        injected=[entry.key for entry in injected],
        rules=len(rules),
        listed=len(listed),
        unlisted=unlisted,
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


def due_notice(paths: Paths, connection: Connection | None) -> str:
    """Return a line for the user about the memories that await approval, once per set of memories; usually empty.

    If none await it, several memories without phrases are a reason for a line, at most once a week in each project.

    `connection` is the index, or None if it cannot answer. Raises SqliteError.
    """
    for name in ("trusted.jsonl", "rejected.jsonl"):
        path = paths.state("trust", name)
        try:
            open(path, "rb", opener=open_to_read).close()
        except FileNotFoundError:
            pass
        except OSError as error:
            from ..memories.trust_file import TrustUnreadable

            return "memory: " + os_error_text(TrustUnreadable(path, os_error_text(error)))
    pending = [] if connection is None else pending_texts(connection)
    path = paths.state("notices", paths.project_key + ".json")
    if not pending:
        return "" if connection is None else _phrases_notice(path, connection)
    current = digest("\n".join(map("".join, pending)).encode("utf-8", "replace"))
    # Record first: if this fails, stay silent rather than repeat the line in every session.
    if not record_once(path, _PENDING, current):
        return ""
    phrases = sum(bool(new_phrases) for _, new_phrases in pending)
    texts = len(pending) - phrases
    lines = []
    if texts:
        number, them = ("1 pending memory", "it") if texts == 1 else ("%d pending memories" % texts, "them")
        lines.append("%s: Claude sees %s after you accept %s" % (number, them, them))
    if phrases:
        number = "1 memory has" if phrases == 1 else "%d memories have" % phrases
        lines.append(number + " new search phrases to review")
    return "memory: %s. To review: /memory:review" % "; ".join(lines)


def _phrases_notice(path: str, connection: Connection) -> str:
    if str(read_state(path).get(_PHRASES, "")) > days_ago(_OFFER_DAYS):
        return ""
    query = "SELECT count(*) FROM documents WHERE injectable = 1 AND scope != 'native' AND asked_as = '[]'"
    (number,) = connection.execute(query).fetchone()
    if number < _MIN_WITHOUT_PHRASES or not record_once(path, _PHRASES, now_iso()):
        return ""
    why = "have no search phrases, so prompts in other words miss them. To add some: /memory:phrases"
    return "memory: %d memories %s" % (number, why)
