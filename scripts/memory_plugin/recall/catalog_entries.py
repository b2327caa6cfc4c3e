"""Read the entries of the session catalog from the index: standing rules, titles, and those related to the current work.

A store of 10,000 memories costs no more than a small one: SQLite's own indexes return the newest entries, and no more than a catalog can
hold are read.
"""

from __future__ import annotations

import os
from math import log

from ..kernel.clock import now_iso
from ..kernel.fastjson import loads
from ..kernel.files import stamp
from ..kernel.ledger import open_ledger
from .index_file import POSTINGS, STRONG_MARK, has_fts5

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..kernel.context import Context
    from ..kernel.sqlite import Connection

__all__ = [
    "CatalogEntry",
    "count_memories",
    "named_titles",
    "near_titles",
    "newest_titles",
    "recently_used",
    "standing_rules",
]

_MOST_RULES = 60
_MOST_NEAR = 20
_MOST_STEMS = 60
_COMMON_SHARE = 0.05  # of the memories: a word that more of them hold says nothing about the work
_FEW = 3
_TAIL_BYTES = 64 * 1024
_USES = ("used", "useful")
# In the words of the partial indexes in `index_tables`, without which SQLite would not use them.
_TOLD = "injectable = 1 AND scope != 'native'"
_RULE = "rule != ''"
_HOLDS = "(expires_at = '' OR expires_at > ?)"
_SELECT = "SELECT key, title, rule, updated_at, inject, path, stamp FROM documents WHERE %s AND " + _TOLD


class CatalogEntry:
    """One memory in the catalog: its key, title, rule line (empty unless it is a rule), time of change, and full text."""

    __slots__ = ("inject", "key", "rule", "title", "updated_at")

    def __init__(self, key: str, title: str, rule: str, updated_at: str, inject: str) -> None:
        self.key = key
        self.title = " ".join(title.split())
        self.rule = rule
        self.updated_at = updated_at
        self.inject = inject


def standing_rules(connection: Connection) -> list[CatalogEntry]:
    """Return the trusted rules that have not expired, the last changed first. Raises SqliteError."""
    return _entries(connection, _RULE, (), _MOST_RULES)


def newest_titles(connection: Connection, most: int) -> list[CatalogEntry]:
    """Return at most `most` trusted memories that are not rules, the last changed first. Raises SqliteError."""
    return _entries(connection, "rule = ''", (), most)


def named_titles(connection: Connection, keys: list[str]) -> list[CatalogEntry]:
    """Return the trusted memories with these keys, except rules. Raises SqliteError."""
    marks = ", ".join("?" * len(keys))
    return _entries(connection, "rule = '' AND key IN (%s)" % marks, keys, len(keys)) if keys else []


def count_memories(connection: Connection) -> int:
    """Return the number of trusted, unexpired memories without Claude Code's own notes, which it lists itself. Raises SqliteError."""
    query = "SELECT count(*) FROM documents WHERE %s AND %s" % (_TOLD, _HOLDS)
    found: int = connection.execute(query, (now_iso(),)).fetchone()[0]
    return found


def _entries(
    connection: Connection, condition: str, values: list[str] | tuple[()], most: int
) -> list[CatalogEntry]:
    query = "%s AND %s ORDER BY updated_at DESC LIMIT ?" % (_SELECT % condition, _HOLDS)
    rows = connection.execute(query, (*values, now_iso(), most))
    return [CatalogEntry(*row[:5]) for row in rows.fetchall() if _is_current(*row[5:])]


def _is_current(path: str, known: str) -> bool:
    """Return whether a file is unchanged since it was indexed."""
    try:
        return stamp(os.lstat(path)) == known
    except (OSError, ValueError):
        return False


def recently_used(context: Context) -> dict[str, str]:
    """Return key -> time of memories recently used by replies or called useful, as read from the end of the ledger."""
    try:
        with open(open_ledger(context.paths, context.settings, "feedback").path(), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).split(b"\n")
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in lines[1:] if size > _TAIL_BYTES else lines:
        found.update(_used(line, context.paths.project_key))
    return found


def _used(line: bytes, project: str) -> dict[str, str]:
    try:
        row = loads(line.decode("utf-8"))
    except ValueError:
        return {}
    if not isinstance(row, dict) or row.get("kind") not in _USES or row.get("project") != project:
        return {}
    keys, time = row.get("memories"), row.get("time")
    if not isinstance(keys, list) or not isinstance(time, str):
        return {}
    return {key: time for key in keys if isinstance(key, str)}


def near_titles(connection: Connection, text: str) -> list[CatalogEntry]:
    """Return at most 20 memories (no rules) that share rare words with a text in a strong field, nearest first. Raises SqliteError."""
    weights = _weights(connection, text) if has_fts5(connection) else {}
    found: dict[int, float] = {}
    for stem, weight in weights.items():
        query = '"%s"' % (stem + STRONG_MARK)
        for (row,) in connection.execute(
            "SELECT rowid FROM %s WHERE %s MATCH ?" % (POSTINGS[True], POSTINGS[True]), (query,)
        ):
            found[row] = found.get(row, 0.0) + weight
    best = sorted(found, key=lambda row: (-found[row], row))[:_MOST_NEAR]
    keys = [_key(connection, row) for row in best]
    by_key = {entry.key: entry for entry in named_titles(connection, keys)}
    return [by_key[key] for key in keys if key in by_key]


def _key(connection: Connection, row: int) -> str:
    found = connection.execute("SELECT key FROM documents WHERE rowid = ?", (row,)).fetchone()
    return str(found[0]) if found else ""


def _weights(connection: Connection, text: str) -> dict[str, float]:
    """Return the weights (by rarity) of the stems of a text that few memories contain."""
    from ..kernel.text.stem import form
    from ..kernel.text.tokens import words

    stems = list(dict.fromkeys(form(word).partition("~")[0] for word in words(text)))[:_MOST_STEMS]
    documents = connection.execute("SELECT documents FROM totals WHERE injectable = 1").fetchone()[0]
    most = max(_FEW, _COMMON_SHARE * documents)
    rows = connection.execute(
        "SELECT term, strong FROM vocabulary WHERE term IN (%s) AND strong BETWEEN 1 AND ?"
        % ", ".join("?" * len(stems)),
        (*stems, most),
    )
    return {term: log(1 + documents / strong) for term, strong in rows.fetchall()}
