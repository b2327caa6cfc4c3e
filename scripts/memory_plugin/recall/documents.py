"""Turning a memory into the document that the index holds: text for matching, and the block to inject, redacted and escaped."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ..kernel.clock import now_iso
from ..kernel.text.clean import block, escape, escape_content, plain
from ..memories.hygiene import shown_block, shown_items, shown_line
from ..memories.record import MAX_TITLE, body_text, categories
from ..memories.trust import TRUSTED
from .index_documents import Document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..memories.files import StoredMemory
    from ..memories.native import NativeNote

__all__ = ["MAX_CONTEXT", "MAX_LESSON", "may_inject", "memory_document", "note_document"]

MAX_LESSON = 1500
# A context is indexed in full, because prompts are worded like the problem. Claude needs the answer, and the problem only if it is short.
MAX_CONTEXT = 160
MAX_INDEXED = 20_000
_MAX_SHOWN_FILES = 5
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T|\Z)")


def memory_document(stored: StoredMemory, trust: str, inherited: Sequence[str] = ()) -> Document:
    """Return the document of a memory; it may be injected only if `trust` is TRUSTED.

    `inherited` are the phrases of memories that this one replaces.
    """
    memory = stored.memory
    label = categories()[memory.category].label
    title = shown_line(memory.title, MAX_TITLE)
    text, short = body_text(memory), body_text(memory, MAX_CONTEXT)
    body = shown_block(text, MAX_INDEXED)
    lesson = body if short == text else shown_block(short, MAX_INDEXED)
    files = shown_items(memory.files, 200)
    return Document(
        key=stored.key,
        scope=stored.store.scope,
        id=memory.id,
        category=label,
        title=title,
        tags=shown_items(memory.tags, 40),
        body=body,
        files=files,
        asked_as=shown_items(memory.asked_as, 200),
        path=stored.path,
        stamp=stored.stamp,
        digest=stored.digest,
        injectable=may_inject(stored, trust),
        trust=trust,
        expires_at=memory.expires_at,
        updated_at=memory.updated_at,
        inject=_block(memory.id, memory.category, memory.updated_at, title, lesson, files),
        superseded_by=shown_line(memory.superseded_by, 200),
        supersedes=[shown_line(name, 200) for name in memory.supersedes],
        inherited=[shown_line(phrase, 200) for phrase in inherited],
    )


def may_inject(stored: StoredMemory, trust: str) -> bool:
    """Return whether a memory may be injected by itself: it is trusted, has not expired, and names no successor."""
    expires_at = stored.memory.expires_at
    holds = not (expires_at and expires_at <= now_iso())
    return trust == TRUSTED and holds and not stored.memory.superseded_by


def note_document(note: NativeNote) -> Document:
    """Return the document of a passage from Claude Code's own memory, which the user trusts by using it."""
    title = shown_line(note.title, MAX_TITLE)
    body = shown_block(note.body, MAX_INDEXED)
    return Document(
        key=note.key,
        scope="native",
        id=note.key.partition(":")[2],
        category="NOTE",
        title=title,
        tags=[],
        body=body,
        files=[],
        asked_as=[],
        path=note.path,
        stamp=note.stamp,
        digest=note.digest,
        injectable=True,
        trust=TRUSTED,
        expires_at="",
        updated_at="",
        inject=_block(os.path.basename(note.path), "note", "", title, body, []),
    )


def _block(name: str, category: str, updated: str, title: str, body: str, files: list[str]) -> str:
    """Return one memory as an element of `<memory-context>`; nothing in it can close the block or forge an attribute.

    `name` is what `memory show` takes, or the file of a note; it costs a third of the tokens of a path.
    """
    dated = ' updated="%s"' % updated[:10] if _DAY.match(updated) else ""
    head = '<memory id="%s" category="%s"%s>' % (escape(plain(name, 300)), escape(category), dated)
    lines = [head, escape_content(title), escape_content(block(body, MAX_LESSON))]
    if files:
        lines.append("Files: " + escape_content(", ".join(files[:_MAX_SHOWN_FILES])))
    return "\n".join([*filter(None, lines), "</memory>"])
