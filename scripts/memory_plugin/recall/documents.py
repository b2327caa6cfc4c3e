"""Build index documents from memories: the block to inject, the terms of each field for matching, and the paths that a memory names.

A field is one text in which every term has the form `" stem~ending "`; the ending is what the stemmer removed from the word. Ranking then
needs only substring searches at C speed: `" migrat~"` counts the term, `" migrat~ing "` that exact form, `"rat~"` a suffix of the stem,
`"igra"` any substring. A line feed separates the phrases of `asked_as`, so that each phrase can be compared with a prompt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..kernel.context import now_iso
from ..kernel.text import escape_content
from ..kernel.text.clean import block, escape, plain
from ..kernel.text.words import form, language, stems_of_forms, tokenize
from ..memories.guard_file import alternatives
from ..memories.hygiene import shown_block, shown_items, shown_line
from ..memories.memory_files import StoredMemory
from ..memories.memory_text import repeats_title, told_digests
from ..memories.nearby import NativeNote
from ..memories.record import ACTIVE, MAX_TITLE, Memory, body_text, categories
from ..memories.trust import TRUSTED
from .decision import MAX_RULE_LENGTH, rule_line
from .project_files import FILE, PATTERN, TEXT, folded

MAX_LESSON = 1500
# Context and alternatives are indexed in full, because prompts are worded like the problem. They are injected only if they are short,
# because Claude needs the answer.
MAX_CONTEXT = 160
_MORE = "More: memory show ID"
MAX_INDEXED = 20_000
# Words of one field that are indexed: a memory is a note, and a pasted log must not outweigh a thousand notes.
MAX_WORDS = 2000
_PHRASE_WORDS = 100
UNREADABLE = "unreadable"
_MAX_SHOWN_FILES = 5
_RULES = ("preference", "constraint")  # categories
_form = lru_cache(maxsize=20_000)(form)  # memories of one store share most of their words
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T|\Z)")
_PROJECT, _NATIVE = "project", "native"
_WILD = re.compile(r"[*?]|\A!")
_LINE_NUMBER = re.compile(r":\d+(?:[:-]\d+)?\Z")
_TOKEN = re.compile(r"[\w.@()\[\]{}+~/-]+")
_NAME = re.compile(r"[\w.@+~-]*\w\.[a-z][a-z0-9]{0,5}\Z", re.IGNORECASE)
# A top-level folder, such as that of all sources, says nothing about a single file.
_MIN_FOLDERS = 2
_MAX_LENGTH = 300  # characters of a path


class Document(NamedTuple):
    """One memory as the index stores it.

    key: unique over all scopes
    path, stamp, digest: its source file, "mtime_ns:size:inode" of that file, and the digest of its bytes
    full_digest, text_digest: those of the text without the phrases, which every decision of `memories.trust` names
    expires_at: "" for never, else ISO 8601 in UTC
    body: empty if the document was read from the index, which has only its terms
    inject: the text to inject, already redacted and escaped
    rule: the line of a standing rule in the session catalog, redacted but not escaped; empty for other memories
    superseded_by, supersedes: other memories that it names
    own: whether the user wrote it, instead of accepting or importing it
    new_phrases: the digest of a trusted text with phrases that await approval; empty if none do
    status: that of the memory; UNREADABLE for a file that is no memory, whose key is its path and whose `inject` is the reason
    """

    key: str
    scope: str
    path: str
    stamp: str
    digest: str = ""
    id: str = ""
    category: str = ""
    title: str = ""
    tags: Sequence[str] = ()
    body: str = ""
    files: Sequence[str] = ()
    asked_as: Sequence[str] = ()
    injectable: bool = False
    trust: str = ""
    expires_at: str = ""
    updated_at: str = ""
    inject: str = ""
    full_digest: str = ""
    text_digest: str = ""
    rule: str = ""
    superseded_by: str = ""
    supersedes: Sequence[str] = ()
    status: str = ACTIVE
    created_at: str = ""
    own: bool = False
    new_phrases: str = ""


def memory_document(stored: StoredMemory, trust: str) -> Document:
    """Return the document of a memory; it may be injected only if `trust` is TRUSTED."""
    memory = stored.memory
    digests = told_digests(memory)
    category = categories()[memory.category]
    text, lesson_text = body_text(memory), body_text(memory, MAX_CONTEXT)
    title = shown_line(memory.title, MAX_TITLE)
    body = shown_block(text, MAX_INDEXED)
    lesson = body if lesson_text == text else shown_block(lesson_text, MAX_INDEXED)
    files = shown_items(memory.files, 200)
    rule = memory.data["content"].get(category.primary)
    rule_text = shown_line(rule, MAX_RULE_LENGTH) if isinstance(rule, str) else ""
    return Document(
        stored.key,
        stored.store.scope,
        stored.path,
        stored.stamp,
        stored.digest,
        id=memory.id,
        category=category.label,
        title=title,
        tags=shown_items(memory.tags, 40),
        body=body,
        files=files,
        asked_as=shown_items(memory.asked_as, 200),
        injectable=_may_inject(stored, trust),
        trust=trust,
        expires_at=memory.expires_at,
        updated_at=memory.updated_at,
        inject=_block(memory.id, memory.category, memory.updated_at, title, lesson, files, body),
        full_digest=digests.full,
        text_digest=digests.text,
        rule=rule_line(title, rule_text) if is_standing_rule(memory) else "",
        superseded_by=shown_line(memory.superseded_by, 200),
        supersedes=[shown_line(name, 200) for name in memory.supersedes],
        status=memory.status,
        created_at=shown_line(memory.created_at, 40),
    )


def is_standing_rule(memory: Memory) -> bool:
    """Return whether a memory is a rule of every session: a preference or constraint without files."""
    return memory.category in _RULES and not memory.files


def _may_inject(stored: StoredMemory, trust: str) -> bool:
    """Return whether a memory may be injected, apart from other memories: it is trusted, has not expired, and names no successor."""
    memory = stored.memory
    has_expired = bool(memory.expires_at) and memory.expires_at <= now_iso()
    return (trust, memory.status) == (TRUSTED, ACTIVE) and not memory.superseded_by and not has_expired


def note_document(note: NativeNote) -> Document:
    """Return the document of a passage from Claude Code's own memory, which counts as trusted."""
    title = shown_line(note.title, MAX_TITLE)
    body = shown_block(note.body, MAX_INDEXED)
    return Document(
        note.key,
        "native",
        note.path,
        note.stamp,
        note.digest,
        id=note.key.partition(":")[2],
        category="NOTE",
        title=title,
        body=body,
        injectable=True,
        trust=TRUSTED,
        inject=_block(os.path.basename(note.path), "note", "", title, body, [], ""),
    )


def _block(name: str, kind: str, updated: str, title: str, body: str, files: list[str], whole: str) -> str:
    """Return a memory as an element of `<memory-context>`, escaped so that it cannot close the block or forge an attribute.

    `name` is the id that `memory show` accepts, or the file name of a note; it takes a third of the tokens of a path. `whole` is the text
    that the command shows, if it does.
    """
    date = ' updated="%s"' % updated[:10] if _DAY.match(updated) else ""
    head = '<memory id="%s" category="%s"%s>' % (escape(plain(name, 300)), escape(kind), date)
    lesson = block(body, MAX_LESSON)
    lines = [head, escape_content(_untold(title, lesson)), escape_content(lesson)]
    if files:
        lines.append("Files: " + escape_content(", ".join(files[:_MAX_SHOWN_FILES])))
    if whole not in ("", lesson):
        lines.append(_MORE)
    return "\n".join([*filter(None, lines), "</memory>"])


def _untold(title: str, lesson: str) -> str:
    """Return what the text does not repeat of its title: all of it, the heading before the first sentence, or nothing."""
    heading, separator, sentence = title.partition(": ")
    if separator and repeats_title(lesson, sentence):
        return heading + ":"
    return "" if repeats_title(lesson, title) else title


class Terms(NamedTuple):
    """The terms of one document, field by field."""

    title: str
    tags: str
    body: str
    files: str
    asked_as: str

    def lengths(self) -> list[int]:
        """Return the number of terms per field."""
        return [field.count("~") for field in self]

    def strong(self) -> set[str]:
        """Return the terms in the fields other than the body."""
        return stems_of_forms(self.title + self.tags + self.files + self.asked_as)

    def weak(self) -> set[str]:
        """Return the terms that only the body contains."""
        return stems_of_forms(self.body) - self.strong()


def document_terms(document: Document, stopwords: dict[str, frozenset[str]]) -> Terms:
    """Return the terms of a document without its language's stop words."""
    body = document.body.removeprefix(document.title)  # a line that was typed without a title is both
    texts = (document.title, "\n".join(document.tags), body, "\n".join(document.files))
    fields = [tokenize(text)[:MAX_WORDS] for text in texts]
    phrases = [tokenize(text)[:_PHRASE_WORDS] for text in document.asked_as]
    ignored = stopwords[language([word for field in (*fields, *phrases) for word in field], stopwords)]
    return Terms._make([*(_field(field, ignored) for field in fields), _joined(phrases, ignored)])


def phrases_field(texts: Sequence[str], stopwords: dict[str, frozenset[str]]) -> str:
    """Return the terms of phrases without the stop words of their language, as in the last field of `Terms`."""
    phrases = [tokenize(text)[:_PHRASE_WORDS] for text in texts]
    return _joined(phrases, stopwords[language([word for words in phrases for word in words], stopwords)])


def _joined(phrases: list[list[str]], ignored: frozenset[str]) -> str:
    return "\n".join(filter(None, (_field(phrase, ignored) for phrase in phrases)))


def _field(field_words: list[str], ignored: frozenset[str]) -> str:
    forms = [_form(word) for word in field_words if word not in ignored]
    return " " + "  ".join(forms) + " " if forms else ""


def named_rows(document: Document, root: str) -> list[tuple[str, str, str]]:
    """Return (path or pattern, key, way) for each path that a memory names, once, in the most certain way."""
    ways: dict[str, str] = {}
    for entry in () if document.scope == _NATIVE else document.files:
        for path, way in named_in_files(entry, root):
            # A user-scope memory is about many projects, which have files of the same name.
            if document.scope == _PROJECT or way == PATTERN:
                ways[path if way == PATTERN else folded(path)] = way
    if document.scope == _PROJECT:
        for path in named_in_text(document.inject.rpartition("\nFiles: ")[0] or document.inject):
            ways.setdefault(folded(path), TEXT)
    return [(path, document.key, way) for path, way in ways.items()]


def named_in_files(entry: str, root: str) -> list[tuple[str, str]]:
    """Return (path or pattern relative to the root, way) for an entry of `files`; an empty list if it is outside the root."""
    entry = _LINE_NUMBER.sub("", entry.strip()).replace("\\", "/")
    entry = entry.removeprefix(root.replace(os.sep, "/").rstrip("/") + "/")
    found = []
    for name in alternatives(entry):
        is_pattern = bool(_WILD.search(name))
        path = name.removeprefix("./") if is_pattern else _relative(name)
        if len(path.strip("*?/.")) > 1 if is_pattern else path:
            found.append((path, PATTERN if is_pattern else FILE))
    return found


def named_in_text(text: str) -> set[str]:
    """Return the paths in a title or body: those with a slash, names with an ending, and folders that end in a slash."""
    paths: set[str] = set()
    for token in _TOKEN.findall(text):
        if "/" not in token and "." not in token:
            continue
        # A bracket or a dot may belong to the name, as in `.github/` and `app/(shop)/`, or to the sentence.
        paths.update(filter(_is_specific, {_relative(token.rstrip(".,")), _relative(token.strip(".,()"))}))
    return paths


def _is_specific(path: str) -> bool:
    if not path or len(path) > _MAX_LENGTH:
        return False
    if path.endswith("/"):
        return path.count("/") >= _MIN_FOLDERS
    return "/" in path or bool(_NAME.match(path))


def _relative(path: str) -> str:
    """Return a normalized path relative to the root; empty if it leads out of the root or is empty."""
    while path.startswith("./"):
        path = path[2:]
    parts = path.rstrip("/").split("/")
    if not path or path.startswith(("/", "~")) or any(part in ("", ".", "..") for part in parts):
        return ""
    return "/".join(parts) + ("/" if path.endswith("/") else "")
