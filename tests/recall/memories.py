"""Memories to put into an index."""

from __future__ import annotations

from memory_plugin.kernel.fastjson import digest
from memory_plugin.recall.documents import Document
from memory_plugin.recall.ranking import Hit

with open(__file__, "rb") as _file:
    _DIGEST = digest(_file.read())


def memory(  # noqa: PLR0913 - a record, made by keyword
    title: str,
    body: str = "",
    key: str = "",
    *,
    tags: str = "",
    files: str = "",
    asked_as: tuple[str, ...] = (),
    category: str = "DECISION",
    injectable: bool = True,
    expires_at: str = "",
    scope: str = "project",
) -> Document:
    """Return a document of this title and body; its key is the title unless another is given."""
    key = key or title
    return Document(
        key=key,
        scope=scope,
        id=key,
        category=category,
        title=title,
        tags=tags.split(),
        body=body,
        files=files.split(),
        asked_as=list(asked_as),
        path="/p/%s.json" % key,
        stamp="1:2:3",
        digest=digest(key.encode("utf-8", "replace")),
        injectable=injectable,
        trust="trusted" if injectable else "pending",
        expires_at=expires_at,
        updated_at="2026-01-01T00:00:00Z",
        inject="%s: %s" % (title, body),
    )


def hit(  # noqa: PLR0913 - a record, made by keyword
    key: str,
    confidence: float,
    pointer: float | None = None,
    *,
    title: str = "",
    tags: str = "[]",
    text: str = "",
    scope: str = "project",
    name: str = "",
) -> Hit:
    """Return a ranked memory with these confidences and this text; its score is the confidence, and its file this one, unchanged."""
    row = (key, name or key, scope, "DECISION", title or "Title of " + key, tags, __file__)
    made = Hit((*row, _DIGEST, "trusted", "", text))
    made.score = made.confidence = confidence
    made.pointer_confidence = confidence if pointer is None else pointer
    return made
