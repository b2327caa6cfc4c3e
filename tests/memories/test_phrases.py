"""Phrases are accepted apart from the text: anyone who changes only them leaves the text trusted, and recall ignores new ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import InvalidMemory
from memory_plugin.memories.lifecycle import add_phrases, archive, edit, redact
from memory_plugin.memories.memory_files import Store, StoredMemory, project_store
from memory_plugin.memories.memory_text import memory_fields, shown_fields, text_digests, told_digests
from memory_plugin.memories.record import Memory, categories, parse_memory
from memory_plugin.memories.survey import PHRASES, survey, without_phrases
from memory_plugin.memories.trust import PENDING, REJECTED, TRUSTED, Trust
from memory_plugin.recall.documents import memory_document
from tests.memories.conftest import Put, find
from tests.project import Project

OWN, NEW = "where is it kept", "anything at all"


def memory_of(phrases: list[str]) -> Memory:
    data: dict[str, Any] = {"title": "Use pnpm", "content": {"decision": "pnpm"}, "asked_as": phrases}
    return parse_memory(data, "use-pnpm", categories()["decision"])


def told_block(memory: Memory) -> str:
    """Return the block that Claude gets."""
    store = Store("project", "/p/.claude/memory", "/p")
    return memory_document(StoredMemory(memory, store, "/p/x.json", "", ""), TRUSTED).inject


LISTS = st.lists(st.text(max_size=20), max_size=4)


@given(LISTS, LISTS)
def test_every_phrase_is_hashed_and_none_is_told(first: list[str], second: list[str]) -> None:
    one, other = memory_of(first), memory_of(second)
    assert told_digests(one) == told_digests(other)
    assert told_block(one) == told_block(other)
    assert (text_digests(one) == text_digests(other)) == (one.asked_as == other.asked_as)


@given(LISTS)
def test_every_phrase_is_shown(phrases: list[str]) -> None:
    memory = memory_of(phrases)
    fields = dict(memory_fields(memory))
    assert fields.get("asked as", "") == "\n".join(memory.asked_as)
    if not memory.asked_as:
        assert "asked as" not in shown_fields(memory)
        assert text_digests(memory) == told_digests(memory)


def accepted(paths: Paths, store: Store, put: Put, **fields: object) -> StoredMemory:
    put("mine", **fields)
    Trust(paths).accept([find(store, "mine")], "accept")
    return find(store, "mine")


def now(paths: Paths, store: Store) -> tuple[Trust, StoredMemory]:
    return Trust(paths), find(store, "mine")


@pytest.mark.parametrize(
    ("before", "change", "expected"),
    [
        pytest.param([], {"asked_as": [NEW]}, (TRUSTED, True, ()), id="the first phrase"),
        pytest.param([OWN], {"asked_as": [OWN, NEW]}, (TRUSTED, True, (OWN,)), id="one more"),
        pytest.param([OWN], {"asked_as": [NEW]}, (TRUSTED, True, ()), id="another one"),
        pytest.param([OWN, NEW], {"asked_as": [OWN]}, (TRUSTED, True, (OWN,)), id="one less"),
        pytest.param([OWN], {}, (TRUSTED, False, ()), id="none left"),
        pytest.param([OWN], {"asked_as": [OWN]}, (TRUSTED, False, (OWN,)), id="as before"),
        pytest.param([OWN], {"asked_as": [NEW], "title": "x"}, (PENDING, False, (NEW,)), id="title too"),
    ],
)
def test_a_change_of_phrases_leaves_the_text_trusted(
    paths: Paths,
    store: Store,
    put: Put,
    before: list[str],
    change: dict[str, object],
    expected: tuple[str, bool, tuple[str, ...]],
) -> None:
    state, awaits, used = expected
    accepted(paths, store, put, asked_as=before)
    put("mine", **change)
    trust, stored = now(paths, store)
    assert (trust.state_of(stored), bool(trust.new_phrases(stored))) == (state, awaits)
    assert trust.with_accepted_phrases(stored).memory.asked_as == used
    (item,) = survey(paths).items
    assert (item.reason == PHRASES, item.is_pending) == (awaits, awaits or state == PENDING)
    trust.accept([stored], "accept")
    trust, stored = now(paths, store)
    assert (trust.state_of(stored), bool(trust.new_phrases(stored))) == (TRUSTED, False)
    assert trust.with_accepted_phrases(stored) is stored


def test_a_text_in_place_of_the_list_accepts_none_of_its_parts(paths: Paths, store: Store, put: Put) -> None:
    accepted(paths, store, put, asked_as="anything at all, where is it kept")
    put("mine", asked_as=[NEW])
    trust, stored = now(paths, store)
    assert trust.with_accepted_phrases(stored).memory.asked_as == ()


def test_a_rejection_of_a_text_with_its_phrases_holds(paths: Paths, store: Store, put: Put) -> None:
    put("mine", asked_as=[OWN])
    trust, stored = now(paths, store)
    trust.rejected.append([trust._decision(stored, text_digests(stored.memory).text, REJECTED)])
    assert Trust(paths).state_of(stored) == REJECTED
    Trust(paths).accept([stored], "accept")
    assert Trust(paths).state_of(stored) == TRUSTED


def test_other_phrases_do_not_bring_a_rejected_text_back(paths: Paths, store: Store, put: Put) -> None:
    put("mine", asked_as=[OWN])
    Trust(paths).reject(find(store, "mine"))
    put("mine", asked_as=[NEW])
    trust, stored = now(paths, store)
    assert trust.state_of(stored) == REJECTED


def test_rejected_phrases_leave_the_text_trusted(paths: Paths, store: Store, put: Put) -> None:
    accepted(paths, store, put, asked_as=[OWN])
    put("mine", asked_as=[OWN, NEW])
    trust, stored = now(paths, store)
    trust.reject(stored)
    trust = Trust(paths)
    assert (trust.state_of(stored), bool(trust.new_phrases(stored))) == (TRUSTED, False)
    assert trust.with_accepted_phrases(stored).memory.asked_as == (OWN,)
    trust.accept([stored], "accept")
    assert Trust(paths).with_accepted_phrases(stored).memory.asked_as == (OWN, NEW)


@pytest.mark.parametrize("end", ["withdraw", "erase"])
def test_withdrawn_trust_covers_every_version_of_the_phrases(
    paths: Paths, store: Store, put: Put, end: str
) -> None:
    accepted(paths, store, put, asked_as=[OWN])
    put("mine", asked_as=[NEW])
    trust, stored = now(paths, store)
    getattr(trust, end)(stored)
    for phrases in ([OWN], [NEW], []):
        put("mine", asked_as=phrases)
        trust, stored = now(paths, store)
        assert trust.state_of(stored) == PENDING, phrases


def test_phrases_of_another_project_are_not_accepted(
    paths: Paths, store: Store, put: Put, make_project: Callable[..., Project]
) -> None:
    accepted(paths, store, put, asked_as=[OWN])
    elsewhere = Paths(make_project().root)
    for phrases, used in (([OWN], (OWN,)), ([NEW], ())):
        put("mine", to=project_store(elsewhere), asked_as=phrases)
        trust, stored = Trust(elsewhere), find(project_store(elsewhere), "mine")
        assert trust.state_of(stored) == TRUSTED
        assert trust.with_accepted_phrases(stored).memory.asked_as == used


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda paths, stored: edit(paths, stored, lambda _: {"tags": ["x"]}, "x", True), id="edit"
        ),
        pytest.param(redact, id="redact"),
    ],
)
def test_a_change_of_other_fields_accepts_no_phrases(
    paths: Paths, store: Store, put: Put, change: Callable[[Paths, StoredMemory], object]
) -> None:
    accepted(paths, store, put, asked_as=[OWN])
    put("mine", asked_as=[OWN, NEW])
    change(paths, find(store, "mine"))
    trust, stored = now(paths, store)
    assert (trust.state_of(stored), bool(trust.new_phrases(stored))) == (TRUSTED, True)
    assert stored.memory.asked_as == (OWN, NEW)
    assert trust.with_accepted_phrases(stored).memory.asked_as == (OWN,)


def test_phrases_are_added_to_a_trusted_memory_without_a_review(paths: Paths, store: Store, put: Put) -> None:
    stored = accepted(paths, store, put, updated_at="2026-01-01T00:00:00Z")
    assert [item.stored.memory.id for item in without_phrases(survey(paths).items)] == ["mine"]
    add_phrases(paths, stored, [OWN, "my key is ghp_" + "a1B2" * 9])
    trust, stored = now(paths, store)
    assert trust.state_of(stored) == TRUSTED
    assert trust.with_accepted_phrases(stored) is stored
    assert stored.memory.asked_as == (OWN, "my key is [redacted:github-token]")
    assert stored.memory.updated_at == "2026-01-01T00:00:00Z"
    assert stored.memory.data["changes"][-1]["summary"] == "phrases added"
    assert without_phrases(survey(paths).items) == []
    with pytest.raises(InvalidMemory, match="has search phrases already"):
        add_phrases(paths, stored, [NEW])


def test_only_the_user_adds_phrases_after_a_rejection(paths: Paths, store: Store, put: Put) -> None:
    accepted(paths, store, put)
    put("mine", asked_as=[NEW])
    Trust(paths).reject(find(store, "mine"))
    put("mine")
    with pytest.raises(InvalidMemory, match="you rejected its search phrases"):
        add_phrases(paths, find(store, "mine"), [OWN])
    edit(paths, find(store, "mine"), lambda _: {"asked_as": [NEW]}, "x", approved=True)
    trust, stored = now(paths, store)
    assert trust.with_accepted_phrases(stored).memory.asked_as == (NEW,)


@pytest.mark.parametrize("state", ["pending", "rejected", "archived", "its phrases are pending"])
def test_only_active_trusted_memories_without_phrases_need_some(
    paths: Paths, store: Store, put: Put, state: str
) -> None:
    put("mine")
    if state == "rejected":
        Trust(paths).reject(find(store, "mine"))
    elif state != "pending":
        Trust(paths).accept([find(store, "mine")], "accept")
    if state == "archived":
        archive(paths, find(store, "mine"), "")
    elif state == "its phrases are pending":
        put("mine", asked_as=[NEW])
    assert without_phrases(survey(paths).items) == []
