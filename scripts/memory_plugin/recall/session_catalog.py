"""The session catalog: rules and titles that are injected before any prompt, so that standing rules apply without a matching prompt.

For example, the rule "write the test first" would never match the prompt "add a message handler". Rules count as injected, titles of other
memories do not. A sub-agent gets only the rules. The texts were prepared in the index; a memory whose file changed since is left out.
"""

from __future__ import annotations

from ..kernel.files import os_error_text
from .answer import Answer
from .catalog_entries import (
    arrange,
    count_memories,
    named_titles,
    newest_titles,
    recently_used,
    related_titles,
    standing_rules,
)
from .decision import estimated_tokens
from .history import CATALOG, SUBAGENT, RecallHistory
from .index_file import INDEX_ERRORS, IndexUnavailable, changed_paths, index_path, open_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from ..kernel.sqlite import Connection
    from .catalog_entries import CatalogEntry

_RESUME = "resume"  # the only source after which the context still contains what was injected
_SUBAGENT_TOKENS = 300
_REFRESH_WAIT = 0.2  # seconds
_MIN_LINE = 5  # tokens; no list has more lines than its tokens divided by this
_MAX_USED = 50  # older memories that are listed because they were used recently
_FOREVER = 1 << 30  # turns
# Keys in a session's history: of the catalog's whole content, and the prefix for one of its titles, which is not a pointer.
_WHOLE, _LISTED = "catalog", "catalog "
_ALWAYS_FITS = 30  # memories whose titles fit into any catalog


def is_catalog_on(context: Context) -> bool:
    """Return whether the settings switch the catalog on."""
    return context.settings.flag("retrieval.enabled") and bool(
        context.settings.integer("retrieval.catalog.max_tokens")
    )


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
    from .lookup import refresh_some

    refresh_some(context, _REFRESH_WAIT)
    try:
        return open_index(path)
    except IndexUnavailable:
        return None


def session_catalog(connection: Connection, source: str, context: Context) -> Answer | None:
    """Return the catalog for a session that starts or resumes; None without memories. Raises SqliteError.

    A resumed session gets a catalog only if something changed, and then only the rules and titles that it does not have.
    """
    rules = standing_rules(connection)
    titles = newest_titles(connection, context.settings.integer("retrieval.catalog.max_tokens") // _MIN_LINE)
    if not rules and not titles:
        return None
    answer = Answer(CATALOG, answered_by="index", source=source).withhold("unchanged")
    history = RecallHistory(context.paths, context.session, CATALOG)
    content = "\n".join([entry.inject for entry in rules] + sorted(entry.title for entry in titles))
    known: set[str] = set()
    if source == _RESUME:
        if history.was_pointed(_WHOLE, content):
            return answer
        known = {entry.key for entry in rules if history.was_injected(entry.key, entry.inject, _FOREVER)}
        known |= {entry.key for entry in titles if history.was_pointed(_LISTED + entry.key, entry.title)}
    history.record_pointer(_WHOLE, content)
    total = count_memories(connection) - len(known)
    ordered = _ordered(
        connection, [entry for entry in titles if entry.key not in known], known, total, context
    )
    _fill_in(answer, [entry for entry in rules if entry.key not in known], ordered, total, history, context)
    return answer


def _ordered(
    connection: Connection, titles: list[CatalogEntry], known: set[str], total: int, context: Context
) -> list[CatalogEntry]:
    """Return the titles, recently used and changed ones first; in a store too large for a catalog, those related to the work come first."""
    used = recently_used(context)
    present = {entry.key for entry in titles} | known
    ordered = titles + named_titles(connection, [key for key in used if key not in present][-_MAX_USED:])
    ordered.sort(
        key=lambda entry: (max(used.get(entry.key, ""), entry.updated_at), entry.key in used), reverse=True
    )
    if total <= _ALWAYS_FITS:
        return ordered
    related = [entry for entry in related_titles(connection, _work_words(context)) if entry.key not in known]
    keys = {entry.key for entry in related}
    return related + [entry for entry in ordered if entry.key not in keys]


def _work_words(context: Context) -> str:
    """Return the branch's name and the paths of the changed files, as a text to search for."""
    from .working_tree import branch_name, changed_files

    root = context.paths.project_root
    return "\n".join([branch_name(root), *changed_files(root)])


def subagent_rules(connection: Connection, agent: str, context: Context) -> Answer | None:
    """Return the standing rules for a sub-agent with this id; None without rules. Raises SqliteError.

    It has its own history, because its context is its own.
    """
    rules = standing_rules(connection)
    if not rules:
        return None
    answer = Answer(SUBAGENT, answered_by="index").withhold("unchanged")
    history = RecallHistory(context.paths, context.session, SUBAGENT, agent)
    _fill_in(answer, rules, [], 0, history, context)
    return answer


def _fill_in(
    answer: Answer,
    rules: list[CatalogEntry],
    titles: list[CatalogEntry],
    total: int,
    history: RecallHistory,
    context: Context,
) -> None:
    """Fill in the answer with the rules and titles that fit, and add them to the session's history; rules count as injected."""
    max_tokens = context.settings.integer("retrieval.catalog.max_tokens")
    if answer.record["place"] == SUBAGENT:
        max_tokens = min(_SUBAGENT_TOKENS, max_tokens)
    block = arrange([entry.rule for entry in rules], [entry.title for entry in titles], max_tokens)
    injected, listed = rules[: len(block.rules)], titles[: len(block.titles)]
    if not injected and not listed:
        return
    for entry in injected:
        history.record_injected(entry.key, entry.inject)
    for entry in listed:
        history.record_pointer(_LISTED + entry.key, entry.title)
    unlisted = max(0, total - len(injected) - len(listed))
    answer.block = block.render(unlisted)
    answer.receipt = _receipt(len(injected), len(listed))
    answer.record.update(
        outcome="injected" if injected else "listed",
        reason="",
        injected=[entry.key for entry in injected],
        listed=len(listed),
        unlisted=unlisted,
        tokens=estimated_tokens(answer.block),
        characters=len(answer.block),
    )
    try:
        history.save()
    except OSError as error:  # a rule may be injected twice, which is better than not at all
        answer.record["problem"] = "session: " + os_error_text(error)


def _receipt(rules: int, titles: int) -> str:
    parts = []
    if rules:
        parts.append("1 standing rule" if rules == 1 else "%d standing rules" % rules)
    if titles:
        parts.append("1 title" if titles == 1 else "%d titles" % titles)
    return "memory: told Claude " + " and ".join(parts)
