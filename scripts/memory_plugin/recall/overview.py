"""List the memories of the current stores from the index, which a refresh brings up to date first, without reading every file."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..kernel.paths import Paths
from ..kernel.settings import Settings
from ..kernel.sqlite import Connection, SqliteError
from ..memories.hygiene import Shown
from ..memories.memory_files import FileProblem, Store, StoredMemory, skipped_entries, stores, why_not_read
from ..memories.record import Memory, categories
from ..memories.relations import plain_title
from ..memories.survey import CHANGED, NEW, PHRASES, REFUSED, Item, Survey, Unread, may_mean, nearest, survey
from ..memories.trust import PENDING, TRUSTED, Trust, load_trust
from .documents import UNREADABLE
from .index_documents import storable, texts
from .index_file import IndexUnavailable, index_path, open_index
from .index_refresh import refresh_index

_WAIT = 0.5  # seconds for another process that refreshes the index
_QUERY = """SELECT d.key, d.id, d.category, d.title, d.tags, d.files, d.status, d.created_at, d.updated_at, d.expires_at, d.path, d.stamp,
    d.digest, d.trust, CASE d.status WHEN 'unreadable' THEN d.inject ELSE '' END, d.superseded_by,
    d.supersedes, coalesce(s.by, ''), d.new_phrases
    FROM documents d LEFT JOIN superseded s USING (key) WHERE d.scope = ? %s ORDER BY d.path"""
_NAMED = "SELECT key FROM documents WHERE id = ?"
_TITLED = "SELECT id FROM documents WHERE plain_title = ?"


def overview(
    paths: Paths,
    settings: Settings,
    scope: str = "",
    *,
    is_current: bool = False,
    names: Collection[str] | None = None,
    title: str = "",
) -> Survey:
    """Return what `survey` returns, with titles as they are shown and without texts: `read_item` reads the file of a memory.

    If the index cannot be used or more files are due than one round reads, all files are read instead. Raises TrustUnreadable.

    Args:
        paths: the project's folders.
        settings: the user's settings.
        scope: limits the result to one store.
        is_current: skip the refresh.
        names: limits the result to the memories that one of these names may mean, and the refresh to folders that changed; None does not.
        title: with `names`, adds the memories with this title, and those that share an id with one of them.
    """
    accept_from = settings.texts("trust.accept_from")
    try:
        if not is_current:
            report = refresh_index(paths, settings, 1, full=names is None, wait=_WAIT)
            if report.remaining or report.problem:
                return survey(paths, accept_from, scope)
        connection = open_index(index_path(paths), timeout=_WAIT)
    except (IndexUnavailable, SqliteError, OSError, RuntimeError):
        return survey(paths, accept_from, scope)
    result = Survey([], [], [])
    trust = load_trust(paths, accept_from)
    try:
        keys = None if names is None else _keys(connection, names, plain_title(title))
        for store in stores(paths):
            if scope in ("", store.scope):
                _add_store(connection, store, trust, result, keys)
    finally:
        connection.close()
    return result


def _keys(connection: Connection, names: Collection[str], title: str) -> list[str]:
    """Return the keys of the memories that names may mean or come near, and of those with their ids or the title (`plain_title`)."""
    ids = {storable(name.rpartition("/")[2]) for name in names}
    if title:
        ids.update(row[0] for row in connection.execute(_TITLED, (storable(title),)))
    ids.discard("")  # of a file that is no memory
    for name in names:
        if connection.execute(_NAMED, (storable(name.rpartition("/")[2]),)).fetchone() is None:
            rows = connection.execute("SELECT id, key, title FROM documents WHERE id > ''").fetchall()
            meant = [identity for identity, key, begun in rows if may_mean(name, key, begun)]
            ids.update(meant or nearest(name, [(identity, begun) for identity, _, begun in rows]))
    return [row[0] for identity in sorted(ids) for row in connection.execute(_NAMED, (identity,))]


def _add_store(
    connection: Connection, store: Store, trust: Trust, result: Survey, keys: list[str] | None
) -> None:
    """Add the memories and problems of one store, or only the memories with some keys."""
    by_label = {category.label: category.name for category in categories().values()}
    reason = why_not_read(store)
    if reason:
        result.left_alone.append(reason)
    if keys is not None:
        for key in keys:
            for row in connection.execute(_QUERY % "AND d.key = ?", (store.scope, key)):
                result.items.append(_item(row, by_label[row[2]], store, trust))
        return
    for row in connection.execute(_QUERY % "", (store.scope,)):
        if row[6] == UNREADABLE:
            result.problems.append(FileProblem(row[10], row[14]))
        else:
            result.items.append(_item(row, by_label[row[2]], store, trust))
    result.problems.extend(skipped_entries(store))


def _item(row: tuple[Any, ...], category: str, store: Store, trust: Trust) -> Item:
    (
        _,
        identity,
        _,
        title,
        tags,
        files,
        status,
        created,
        updated,
        expires,
        path,
        stamp,
        digest,
        state,
        _,
        by,
        supersedes,
        superseded,
        new_phrases,
    ) = row
    memory = Memory(
        identity, category, Shown(title), _shown(tags), _shown(files), (), status, created, updated, expires, by, _shown(supersedes), None,
        Unread(),
    )  # fmt: skip
    why = PHRASES if new_phrases else ""
    if state == PENDING:
        why = CHANGED if trust.has_trusted_name(store, category, identity) else NEW
    elif state != TRUSTED:
        why = REFUSED
    return Item(StoredMemory(memory, store, path, stamp, digest), state, why, superseded)


def _shown(items: str) -> tuple[str, ...]:
    return () if items == "[]" else tuple(map(Shown, texts(items)))
