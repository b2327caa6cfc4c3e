"""What the index knows about its documents."""

from __future__ import annotations

from ...kernel.fastjson import loads
from .document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...kernel.sqlite import Connection

_COLUMNS = "key, scope, id, category, title, tags, files, asked_as, path, stamp, digest, injectable, trust, expires_at, updated_at, inject"


def stamps(connection: Connection, scope: str) -> dict[str, tuple[str, str, str]]:
    """Source file -> (key, stamp, digest) of every document of a scope."""
    rows = connection.execute("SELECT path, key, stamp, digest FROM documents WHERE scope = ?", (scope,))
    return {path: (key, stamp, digest) for path, key, stamp, digest in rows}


def notes_by_file(connection: Connection) -> dict[str, tuple[str, list[str]]]:
    """Source file -> (stamp, keys) of the notes of Claude Code's own memory."""
    found: dict[str, tuple[str, list[str]]] = {}
    for path, key, stamp in connection.execute(
        "SELECT path, key, stamp FROM documents WHERE scope = 'native' ORDER BY key"
    ):
        found.setdefault(path, (stamp, []))[1].append(key)
    return found


def documents_held(connection: Connection) -> int:
    """The number of documents, without counting them one by one."""
    found: int = connection.execute("SELECT coalesce(sum(documents), 0) FROM totals").fetchone()[0]
    return found


def rows(connection: Connection, scope: str = "") -> Iterator[Document]:
    """All documents of a scope, or of all scopes, by key; their bodies empty."""
    for found in connection.execute(
        "SELECT %s FROM documents WHERE ? IN ('', scope) ORDER BY key" % _COLUMNS, (scope,)
    ):
        yield _document(found)


def count(connection: Connection, scope: str = "") -> int:
    """The number of documents of a scope, or of all scopes."""
    found: int = connection.execute(
        "SELECT count(*) FROM documents WHERE ? IN ('', scope)", (scope,)
    ).fetchone()[0]
    return found


def _document(found: tuple[object, ...]) -> Document:
    (
        key,
        scope,
        id_,
        category,
        title,
        tags,
        files,
        asked_as,
        path,
        stamp,
        digest,
        injectable,
        trust,
        expires_at,
        updated_at,
        inject,
    ) = found
    return Document(
        key=str(key),
        scope=str(scope),
        id=str(id_),
        category=str(category),
        title=str(title),
        tags=_texts(tags),
        body="",
        files=_texts(files),
        asked_as=_texts(asked_as),
        path=str(path),
        stamp=str(stamp),
        digest=str(digest),
        injectable=bool(injectable),
        trust=str(trust),
        expires_at=str(expires_at),
        updated_at=str(updated_at),
        inject=str(inject),
    )


def _texts(value: object) -> list[str]:
    found = loads(str(value))
    return [str(item) for item in found] if isinstance(found, list) else []


def standings_but(connection: Connection, trust: str) -> dict[str, str]:
    """Return key -> trust of every document whose trust is another than the one named; superseded ones are left out."""
    return dict(
        connection.execute(
            "SELECT key, trust FROM documents WHERE trust != ? AND key NOT IN (SELECT key FROM superseded) ORDER BY key",
            (trust,),
        ).fetchall()
    )


def superseded(connection: Connection) -> dict[str, str]:
    """Return key -> the key of the memory that replaces it, or its name, for every superseded document."""
    return dict(connection.execute("SELECT key, by FROM superseded").fetchall())


def inherited(connection: Connection) -> dict[str, list[str]]:
    """Return key -> the phrases of older memories that a document was indexed with."""
    return {
        key: _texts(asked_as) for key, asked_as in connection.execute("SELECT key, asked_as FROM inherited")
    }


def links(connection: Connection) -> list[tuple[str, str, list[str]]]:
    """Return key, `superseded_by` and `supersedes` of every document that names others."""
    rows = connection.execute("SELECT key, superseded_by, supersedes FROM links")
    return [(key, by, _texts(named)) for key, by, named in rows]


def one(connection: Connection, key: str) -> Document | None:
    """Return the document with a key, its body empty; None when there is none."""
    found = connection.execute("SELECT %s FROM documents WHERE key = ?" % _COLUMNS, (key,)).fetchone()
    return None if found is None else _document(found)
