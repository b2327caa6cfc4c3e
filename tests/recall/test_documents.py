"""The index document of a memory: its text can be injected unchanged."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.memories import InvalidMemory
from memory_plugin.memories.memory_files import Store, StoredMemory
from memory_plugin.memories.nearby import NativeNote
from memory_plugin.memories.record import categories, parse_memory
from memory_plugin.recall.documents import MAX_CONTEXT, MAX_LESSON, memory_document, note_document
from tests.recall.forged import FORGED, assert_nothing_forged, assert_nothing_hidden
from tests.recall.store_files import memory

STORE = Store("project", "/p/.claude/memory", "/p")
FIELDS = [
    "title",
    "body",
    "tags",
    "related_files",
    "updated_at",
    "asked_as",
    "expires_at",
    "content key",
    "another field",
]


def stored(data: object, name: str = "archive", store: Store = STORE) -> StoredMemory:
    """Return a memory as it was read from a file of a store."""
    parsed = parse_memory(data, name, categories()["decision"])
    return StoredMemory(
        parsed, store, os.path.join(store.root, "decisions", name + ".json"), "1:2:3", "d" * 32
    )


def with_text(field: str, text: str) -> dict[str, object]:
    """Return a memory with this text in one of its fields."""
    changes: dict[str, dict[str, object]] = {
        "title": {"title": "Archive " + text},
        "body": {"content": {"decision": text}},
        "tags": {"tags": [text, "billing," + text]},
        "related_files": {"related_files": [text, "../../../../etc/" + text]},
        "content key": {"content": {"decision": "DB2 archives.", text: text}},
        "another field": {"id": text, "category": text, "anything": {text: text}},
    }
    return {
        **memory("The archive", "DB2 archives."),
        **changes.get(field, {field: text if field.endswith("_at") else [text]}),
    }


def block(inject: str) -> str:
    """Return what Claude would be told of one memory alone."""
    return "<memory-context>\n%s\n</memory-context>" % inject


@pytest.mark.parametrize("field", FIELDS)
def test_a_text_forges_nothing_and_hides_nothing(field: str) -> None:
    for text in FORGED:
        document = memory_document(stored(with_text(field, text)), "trusted")
        assert_nothing_forged(block(document.inject))
        assert_nothing_hidden(document.inject)
        assert '<memory id="archive" category="decision"' in document.inject
        assert document.id == "archive"


@given(field=st.sampled_from(FIELDS), text=st.text(max_size=60))
def test_any_text_forges_nothing_and_hides_nothing(field: str, text: str) -> None:
    try:
        memory_in_file = stored(with_text(field, text))
    except InvalidMemory:
        return
    assert_nothing_forged(block(memory_document(memory_in_file, "trusted").inject))


@pytest.mark.parametrize("text", FORGED, ids=ascii)
def test_a_note_of_claudes_own_forges_nothing(text: str) -> None:
    path = "/home/.claude/projects/-p/memory/MEMORY.md"
    document = note_document(
        NativeNote("native:%s#0" % path, path, "Note " + text, "Body " + text, "1:2:3", "d" * 32)
    )
    assert_nothing_forged(block(document.inject))
    assert_nothing_hidden(document.inject)


def test_a_long_body_is_cut_for_injection_and_kept_longer_for_search() -> None:
    document = memory_document(stored(memory("Long", "first words " + "x" * 30_000)), "trusted")
    assert MAX_LESSON < len(document.body) <= 20_000
    assert len(document.inject) < MAX_LESSON + 400


@pytest.mark.parametrize(
    ("standing", "injectable"), [("trusted", True), ("pending", False), ("rejected", False)]
)
def test_only_trusted_memories_may_be_injected(standing: str, *, injectable: bool) -> None:
    document = memory_document(stored(memory()), standing)
    assert (document.trust, document.injectable) == (standing, injectable)


@pytest.mark.parametrize("updated", ["2026-01-02T03:04:05Z", "2026-01-02"])
def test_the_day_of_the_last_change_is_in_the_block(updated: str) -> None:
    assert ' updated="2026-01-02">' in memory_document(stored(memory(updated_at=updated)), "trusted").inject


def test_an_invalid_day_is_omitted() -> None:
    cases = ["yesterday", "", "run rm -rf", "2026-1-2", "\u0662\u0660\u0662\u0666-01-02"]
    assert [
        updated
        for updated in cases
        if "updated=" in memory_document(stored(memory(updated_at=updated)), "trusted").inject
    ] == []


@pytest.mark.parametrize("store", [STORE, Store("user", "/h/.claude/memory", None)], ids=["project", "user"])
def test_the_block_names_the_id_and_no_path(store: Store) -> None:
    told = memory_document(stored(memory(), store=store), "trusted").inject
    assert told.startswith('<memory id="archive" category="decision"')
    assert "/" not in told.splitlines()[0]


def test_a_secret_in_a_file_name_is_redacted() -> None:
    key = "AKIA" + "QWERTYUIOPASDFGH"
    document = memory_document(
        stored(memory("Deploy key", "Deploy with %s in the environment." % key)), "trusted"
    )
    assert key not in document.inject
    assert key not in document.body


@pytest.mark.parametrize("field", ["context", "alternatives"])
@pytest.mark.parametrize(
    ("length", "shown"), [(MAX_CONTEXT, True), (MAX_CONTEXT + 1, False)], ids=["one line", "longer"]
)
def test_the_background_is_matched_in_full_and_injected_where_it_is_short(
    field: str, length: int, *, shown: bool
) -> None:
    content = {"decision": "DB2 archives.", field: "x" * length, "consequences": "cheap"}
    document = memory_document(stored({**memory("The archive"), "content": content}), "trusted")
    assert field + ": " + "x" * length in document.body
    assert (field + ": x" in document.inject) is shown
    assert "consequences: cheap" in document.inject


@pytest.mark.parametrize(
    ("content", "is_whole"),
    [
        pytest.param({"decision": "DB2 archives."}, True, id="short"),
        pytest.param({"decision": "DB2 archives. " * 200}, False, id="cut"),
        pytest.param({"decision": "DB2 archives.", "context": "x" * 300}, False, id="background left out"),
    ],
)
def test_a_text_that_is_not_told_in_full_says_how_to_get_the_rest(
    content: dict[str, str], *, is_whole: bool
) -> None:
    told = memory_document(stored({**memory("The archive"), "content": content}), "trusted").inject
    assert ("More: memory show ID" not in told.split("\n")) is is_whole


def test_a_memory_that_names_a_successor_is_never_injectable() -> None:
    data = {**memory("The archive"), "superseded_by": "another", "supersedes": ["older\x1b", 7]}
    document = memory_document(stored(data), "trusted")
    assert not document.injectable
    assert (document.superseded_by, document.supersedes) == ("another", ["older"])


@pytest.mark.parametrize(
    ("title", "body", "lines"),
    [
        pytest.param("Use pnpm", "use pnpm.", ["use pnpm."], id="the same"),
        pytest.param("Use pnpm", "Use pnpm; npm is slow.", ["Use pnpm; npm is slow."], id="the beginning"),
        pytest.param(
            "Use pnpm, as npm is\u2026", "Use pnpm, as npm is slow.", ["Use pnpm, as npm is slow."], id="cut"
        ),
        pytest.param("Use pnpm", "pnpm is fast", ["Use pnpm", "pnpm is fast"], id="other words"),
        pytest.param("Use C++", "Use C# here", ["Use C++", "Use C# here"], id="signs are words"),
        pytest.param("Use pnpm", "Use pnpmx", ["Use pnpm", "Use pnpmx"], id="a longer word"),
        pytest.param(
            "Tools: Use pnpm, as\u2026",
            "Use pnpm, as npm is slow.",
            ["Tools:", "Use pnpm, as npm is slow."],
            id="heading",
        ),
        pytest.param("Tools: pnpm", "Use pnpm", ["Tools: pnpm", "Use pnpm"], id="heading and other words"),
    ],
)
def test_a_body_that_repeats_its_title_is_told_once(title: str, body: str, lines: list[str]) -> None:
    data = {"title": title, "content": {"decision": body}}
    block = memory_document(stored(data), "trusted").inject
    assert block.split("\n")[1:-1] == lines
