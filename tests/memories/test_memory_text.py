"""One list: every character of a memory that is told is shown and hashed, and nothing else passes for a field of ours."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_plugin.memories import InvalidMemory
from memory_plugin.memories.memory_files import Store, StoredMemory
from memory_plugin.memories.memory_text import TEXT, changes, memory_fields, shown_fields, text_digests
from memory_plugin.memories.record import Memory, categories, parse_memory
from memory_plugin.memories.trust import TRUSTED
from memory_plugin.recall.documents import memory_document

OWN = (
    "title",
    "text",
    "tags",
    "files",
    "guard",
    "asked as",
    "asked_as",
    "expires",
    "status",
    "replaced by",
    "replaces",
)
NAMES = st.one_of(
    st.sampled_from(
        [
            *OWN,
            "decision",
            "Files",
            "a_b",
            "a b",
            "",
            " ",
            "x\ny: z",
            "\u202eseit",
            "st\u0430tus",
            "\u200b",
            '"',
            "\\",
        ]
    ),
    st.text(max_size=12),
)
VALUES = st.recursive(
    st.one_of(st.text(max_size=30), st.integers(0, 9), st.none(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)


def memory_of(content: dict[str, Any], **fields: Any) -> Memory:  # noqa: ANN401  (JSON)
    """Return a decision with this content."""
    return parse_memory(
        {"title": "Use pnpm", "content": content, **fields}, "use-pnpm", categories()["decision"]
    )


def told(memory: Memory) -> str:
    """Return the block that Claude gets."""
    store = Store("project", "/p/.claude/memory", "/p")
    return memory_document(StoredMemory(memory, store, "/p/x.json", "", ""), TRUSTED).inject


def visible(text: str) -> str:
    """Return the characters of a text without white space and escapes."""
    plain = unicodedata.normalize("NFC", text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return "".join(plain.split())


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=6))
@example({"decision": "d", "status": "HIDDEN", "title": "HIDDEN", "files": "x", "guard": "none"})
@example({"decision": "d", "x": {"b": "1", "a": "2"}})
def test_every_character_that_is_told_is_shown(content: dict[str, Any]) -> None:
    try:
        memory = memory_of(content)
    except InvalidMemory:
        return
    shown = visible("".join("".join(lines) for lines in shown_fields(memory).values()))
    block = told(memory).split("\n")
    for line in block[1:-1]:  # without the tags
        assert visible(line) in shown, line


@given(
    st.dictionaries(NAMES, VALUES, min_size=1, max_size=5),
    st.dictionaries(NAMES, VALUES, min_size=1, max_size=5),
)
@example({"decision": "d", "b": "1", "a": "2"}, {"decision": "d", "a": "2", "b": "1"})
@example({"decision": "d", "x": {"b": "1", "a": "2"}}, {"decision": "d", "x": {"a": "2", "b": "1"}})
@example({"decision": "d", "a_b": "1", "a b": "2"}, {"decision": "d", "a b": "2", "a_b": "1"})
def test_texts_with_one_digest_are_told_alike(first: dict[str, Any], second: dict[str, Any]) -> None:
    try:
        one, other = memory_of(first), memory_of(second)
    except InvalidMemory:
        return
    if text_digests(one) == text_digests(other):
        assert memory_fields(one) == memory_fields(other)
        assert told(one) == told(other)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=6))
def test_no_name_in_the_content_passes_for_a_field(content: dict[str, Any]) -> None:
    try:
        memory = memory_of(content)
    except InvalidMemory:
        return
    assert set(shown_fields(memory)) <= {"title", TEXT}


@pytest.mark.parametrize("field", ["changes", "updated_at", "created_at", "confidence", "note"], ids=str)
def test_what_is_not_on_the_list_is_neither_told_nor_shown(field: str) -> None:
    memory = memory_of({"decision": "pnpm"}, **{field: "2026-04-01 UNSEEN: run curl"})
    everything = json.dumps(shown_fields(memory)) + told(memory) + memory.updated_at + memory.created_at
    assert "UNSEEN" not in everything


def test_the_digest_of_an_ordinary_memory_is_that_of_its_sorted_fields() -> None:
    """So a text that was accepted stays accepted."""
    content = {"status": "accepted", "decision": "pnpm", "context": "npm was slow"}
    assert text_digests(memory_of(content)) == text_digests(memory_of(dict(sorted(content.items()))))


def test_a_change_is_shown_by_field_and_line() -> None:
    old, new = memory_of({"decision": "a\nb"}), memory_of({"decision": "a\nc"}, tags=["x"])
    assert [change._asdict() for change in changes(shown_fields(old), shown_fields(new))] == [
        {"field": TEXT, "lines": ["  a", "- b", "+ c"]},
        {"field": "tags", "lines": ["+ x"]},
    ]
