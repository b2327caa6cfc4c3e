"""Memories to put into an index."""

from __future__ import annotations

from memory_plugin.kernel.fastjson import digest
from memory_plugin.recall.documents import Document
from memory_plugin.recall.ranking import Hit


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


class HitWithoutFile(Hit):
    """A hit whose file counts as unchanged, unless `is_edited`."""

    is_edited = False

    def is_current(self) -> bool:
        """Return whether its file counts as unchanged."""
        return not self.is_edited


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
) -> HitWithoutFile:
    """Return a ranked memory with these confidences and this text; its score is the confidence."""
    row = (key, name or key, scope, "DECISION", title or "Title of " + key, tags, "/p/" + key)
    made = HitWithoutFile((*row, "digest", "trusted", "", text))
    made.score = made.confidence = confidence
    made.pointer_confidence = confidence if pointer is None else pointer
    return made
