"""The life cycle of a memory, and which steps need the user's approval."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.kernel.context import iso, now
from memory_plugin.kernel.files import replace_file
from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import InvalidMemory, lifecycle, writing
from memory_plugin.memories.memory_files import Store, StoredMemory, all_memories
from memory_plugin.memories.record import categories, new_memory
from memory_plugin.memories.trust import PENDING, TRUSTED, Trust
from tests.memories.conftest import Put, find

DAYS = 30


def data(title: str = "Use Postgres", body: str = "b") -> dict[str, Any]:
    return new_memory(categories()["decision"], "", title, {"decision": body}, {})


def save(paths: Paths, store: Store, title: str = "Use Postgres", approved: bool = True) -> StoredMemory:
    return lifecycle.save(paths, store, data(title), approved).stored


def state_of(paths: Paths, store: Store, identity: str) -> str:
    return Trust(paths).state_of(find(store, identity))


def accept(paths: Paths, *memories: StoredMemory) -> None:
    Trust(paths).accept(memories, "accept")


@pytest.mark.parametrize(("approved", "expected"), [(True, TRUSTED), (False, PENDING)])
def test_a_save_is_trusted_only_if_the_user_approved_it(
    paths: Paths, store: Store, put: Put, approved: bool, expected: str
) -> None:
    put("theirs")
    save(paths, store, approved=approved)
    assert (state_of(paths, store, "theirs"), state_of(paths, store, "use-postgres")) == (PENDING, expected)


def test_saving_a_memory_that_a_repository_contains_trusts_it(paths: Paths, store: Store, put: Put) -> None:
    put("use-postgres", title="Use Postgres", content={"decision": "b"})
    written = lifecycle.save(paths, store, data(), approved=True)
    assert not written.created
    assert state_of(paths, store, "use-postgres") == TRUSTED


@pytest.mark.parametrize(
    "more",
    [{"asked_as": ["anything"]}, {"guard": {"files": ["*"]}}, {"supersedes": ["other"]}, {"tags": ["x"]}],
)
def test_saving_a_memory_does_not_trust_a_repositorys_file_with_more_text(
    paths: Paths, store: Store, put: Put, more: dict[str, object]
) -> None:
    put("use-postgres", title="Use Postgres", content={"decision": "b"}, **more)
    lifecycle.save(paths, store, data(), approved=True)
    assert state_of(paths, store, "use-postgres") == PENDING


def test_many_are_saved_as_one_by_one(paths: Paths, store: Store) -> None:
    results = lifecycle.save_all(paths, store, [data("One"), data(""), data("Two")], approved=True)
    assert [isinstance(result, InvalidMemory) for result in results] == [False, True, False]
    assert state_of(paths, store, "two") == TRUSTED
    lifecycle.save_all(paths, store, [data("Three")], approved=False)
    assert state_of(paths, store, "three") == PENDING


def test_an_edit_without_approval_is_pending(paths: Paths, store: Store) -> None:
    stored = save(paths, store)
    lifecycle.edit(paths, stored, lambda _: {"title": "Use MySQL"}, "edited", approved=False)
    assert state_of(paths, store, "use-postgres") == PENDING
    lifecycle.edit(paths, stored, lambda _: {"title": "Use Postgres"}, "edited", approved=False)
    assert state_of(paths, store, "use-postgres") == TRUSTED


def test_an_edit_after_a_concurrent_change_is_pending(paths: Paths, store: Store, put: Put) -> None:
    stored = save(paths, store)
    put("use-postgres", title="Use Postgres", asked_as=["anything"])
    lifecycle.edit(paths, stored, lambda _: {"title": "Use Postgres 17"}, "edited", approved=True)
    assert state_of(paths, store, "use-postgres") == PENDING


def tagged(tag: str, found: dict[str, Any]) -> dict[str, Any]:
    return {"tags": [*found["tags"], tag]}


def test_an_edit_works_on_what_is_there_now(paths: Paths, store: Store) -> None:
    stored = save(paths, store)
    for tag in "ab":
        lifecycle.edit(paths, stored, partial(tagged, tag), "tag", approved=True)
    assert find(store, "use-postgres").memory.tags == ("a", "b")
    assert state_of(paths, store, "use-postgres") == TRUSTED  # both were the user's


def test_edits_at_once_are_all_kept_and_trusted(paths: Paths, store: Store) -> None:
    stored = save(paths, store)
    edits = [partial(lifecycle.edit, paths, stored, partial(tagged, tag), "tag", True) for tag in "abcdefgh"]
    with ThreadPoolExecutor() as pool:
        for result in [pool.submit(one) for one in edits]:
            result.result()
    assert sorted(find(store, "use-postgres").memory.tags) == list("abcdefgh")
    assert state_of(paths, store, "use-postgres") == TRUSTED


def test_a_rewrite_does_not_undo_a_concurrent_change(paths: Paths, store: Store) -> None:
    stored = save(paths, store)
    lifecycle.edit(paths, stored, lambda _: {"tags": ["theirs"]}, "edited", approved=True)
    with pytest.raises(InvalidMemory, match="someone else changed it"):
        lifecycle.rewrite(paths, stored, {**stored.memory.data, "title": "Mine"}, "by hand")
    fresh = find(store, "use-postgres")
    lifecycle.rewrite(paths, fresh, {**fresh.memory.data, "title": "Mine"}, "by hand")
    assert find(store, "use-postgres").memory.title == "Mine"


def test_a_forgotten_memory_stays_until_its_time_is_over(paths: Paths, store: Store) -> None:
    stored = save(paths, store)
    removal = lifecycle.forget(paths, stored, "wrong", at_once=False, grace_days=DAYS)
    assert removal.deleted == []
    assert removal.goes_at > iso(now() + (DAYS - 1) * 86400)
    found = find(store, "use-postgres").memory
    assert (found.status, found.data["retired_reason"]) == ("retired", "wrong")
    assert lifecycle.remove_expired_retired(paths, store, list(all_memories(store)), DAYS) == []
    assert lifecycle.remove_expired_retired(paths, store, list(all_memories(store)), 0) == [stored.path]
    assert not os.path.exists(stored.path)


def test_forgetting_now_leaves_nothing(paths: Paths, store: Store) -> None:
    stored = save(paths, store)
    removal = lifecycle.forget(paths, stored, "", at_once=True, grace_days=DAYS)
    assert (removal.deleted, removal.goes_at) == ([stored.path], "")
    assert not os.path.exists(stored.path)
    assert not Trust(paths).is_trusted(stored)
    assert os.listdir(paths.state("trust", "texts")) == []


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"title": "t", "content": {}}', id="without content"),
        pytest.param(
            b'{"title": "\\u200b", "content": {"decision": "x"}}', id="a title of hidden characters"
        ),
        pytest.param(
            b'{"title": "t", "content": {"decision": "\\ud800"}, "changes": 7}', id="a lone surrogate"
        ),
    ],
)
def test_a_file_with_any_content_can_be_forgotten(paths: Paths, store: Store, put: Put, raw: bytes) -> None:
    put("odd", raw=raw)
    lifecycle.forget(paths, find(store, "odd"), "", at_once=False, grace_days=DAYS)
    assert find(store, "odd").memory.status == "retired"


def test_a_reason_may_hold_no_secret(paths: Paths, store: Store) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    stored = save(paths, store)
    lifecycle.forget(paths, stored, "leaks " + secret, at_once=False, grace_days=DAYS)
    with open(stored.path, encoding="utf-8") as file:
        assert secret not in file.read()


def test_a_restored_memory_is_trusted_only_if_the_user_approved_it(paths: Paths, store: Store) -> None:
    stored = save(paths, store)
    lifecycle.forget(paths, stored, "", at_once=False, grace_days=DAYS)
    lifecycle.restore(paths, find(store, "use-postgres"), approved=False)
    assert state_of(paths, store, "use-postgres") == PENDING
    lifecycle.forget(paths, find(store, "use-postgres"), "", at_once=False, grace_days=DAYS)
    lifecycle.restore(paths, find(store, "use-postgres"), approved=True)
    assert state_of(paths, store, "use-postgres") == TRUSTED
    with pytest.raises(InvalidMemory, match="active already"):
        lifecycle.restore(paths, find(store, "use-postgres"), approved=True)


def test_an_archived_memory_is_kept_for_good(paths: Paths, store: Store) -> None:
    stored = save(paths, store)
    lifecycle.archive(paths, stored, "old")
    assert find(store, "use-postgres").memory.status == "archived"
    assert lifecycle.remove_expired_retired(paths, store, list(all_memories(store)), 0) == []
    lifecycle.restore(paths, find(store, "use-postgres"), approved=True)
    assert find(store, "use-postgres").memory.status == "active"


def test_a_memory_that_someone_else_retired_is_not_deleted(paths: Paths, store: Store, put: Put) -> None:
    path = put("theirs", record_status="retired", retired_at="2020-01-01T00:00:00Z")
    assert lifecycle.remove_expired_retired(paths, store, list(all_memories(store)), DAYS) == []
    assert os.path.exists(path)


@pytest.mark.parametrize("moment", [None, 7, "", "soon", "2020-13-45T00:00:00Z", ["2020"]])
def test_a_retired_memory_without_a_readable_date_is_kept(
    paths: Paths, store: Store, put: Put, moment: object
) -> None:
    save(paths, store)
    path = put("odd", record_status="retired", retired_at=moment)
    assert lifecycle.remove_expired_retired(paths, store, list(all_memories(store)), DAYS) == []
    assert os.path.exists(path)


def test_redacting_trusts_only_what_was_looked_at(paths: Paths, store: Store, put: Put) -> None:
    put("theirs")
    seen = find(store, "theirs")
    accept(paths, seen)
    put("theirs", content={"decision": "swapped in the meantime"})
    lifecycle.redact(paths, seen)
    assert state_of(paths, store, "theirs") == PENDING


def test_redacting_a_file_keeps_its_trust(paths: Paths, store: Store, put: Put) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    put("theirs", content={"decision": "key " + secret})
    put("accepted", content={"decision": "key " + secret})
    accept(paths, find(store, "accepted"))
    for identity in ("theirs", "accepted"):
        written = lifecycle.redact(paths, find(store, identity))
        assert [found.field for found in written.redacted] == ["content.decision"]
    assert (state_of(paths, store, "theirs"), state_of(paths, store, "accepted")) == (PENDING, TRUSTED)


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/state/trusted.jsonl")


def test_a_save_whose_approval_cannot_be_recorded_is_pending(
    paths: Paths, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Trust, "accept", full)
        with pytest.raises(OSError, match="No space left"):
            save(paths, store)
    assert state_of(paths, store, "use-postgres") == PENDING


@pytest.mark.parametrize(("at_once", "step"), [(True, "remove"), (False, "change")])
def test_a_memory_that_is_half_forgotten_is_not_recalled_and_can_be_forgotten_again(
    paths: Paths, store: Store, monkeypatch: pytest.MonkeyPatch, at_once: bool, step: str
) -> None:
    save(paths, store)
    with monkeypatch.context() as patch:
        patch.setattr(writing, step, full)
        with pytest.raises(OSError, match="No space left"):
            lifecycle.forget(paths, find(store, "use-postgres"), "", at_once=at_once, grace_days=DAYS)
    assert state_of(paths, store, "use-postgres") == PENDING
    lifecycle.forget(paths, find(store, "use-postgres"), "", at_once=at_once, grace_days=DAYS)
    assert os.path.exists(store.path("decision", "use-postgres")) != at_once


@pytest.mark.parametrize("step", ["forget", "forget now", "archive a pending one", "move", "tidy"])
def test_a_store_that_cannot_be_written_keeps_its_trust(
    paths: Paths, store: Store, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    stored = save(paths, store)
    if step == "tidy":
        lifecycle.forget(paths, stored, "", at_once=False, grace_days=DAYS)
        stored = find(store, "use-postgres")
    if step.startswith("archive"):
        stored = writing.change(paths, stored, lambda data: {**data, "title": "Use Postgres 16"}).stored
    steps: dict[str, Callable[[], object]] = {
        "forget": lambda: lifecycle.forget(paths, stored, "", at_once=False, grace_days=DAYS),
        "forget now": lambda: lifecycle.forget(paths, stored, "", at_once=True, grace_days=DAYS),
        "archive a pending one": lambda: lifecycle.archive(paths, stored, ""),
        "move": lambda: lifecycle.move(
            paths, stored, categories()["constraint"], Store("user", store.root + "2", None), approved=True
        ),
        "tidy": lambda: lifecycle.remove_expired_retired(paths, store, [stored], -1),
    }
    record = Path(paths.state("trust", "trusted.jsonl"))
    before, written = record.read_bytes(), replace_file

    def refused(path: str, *_: object, **__: object) -> None:
        if path.startswith(store.root + os.sep):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        written(path, *_, **__)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "replace_file", refused)
    monkeypatch.setattr(writing, "remove", refused)
    with pytest.raises(PermissionError):
        steps[step]()
    assert record.read_bytes() == before
    assert not os.path.exists(store.root + "2")
