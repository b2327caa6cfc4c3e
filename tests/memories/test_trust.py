"""Trust in a text: which fields it covers, what ends it, and that no damage, move or repository grants it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.memory_files import Store, StoredMemory, project_store, user_store
from memory_plugin.memories.trust import PENDING, REJECTED, TRUSTED, Trust, with_phrases
from memory_plugin.memories.trust_file import TrustUnreadable
from tests.memories.conftest import Put, find
from tests.project import Project

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def state_of(paths: Paths, store: Store, identity: str = "mine") -> str:
    return Trust(paths).state_of(find(store, identity))


@pytest.fixture
def mine(paths: Paths, store: Store, put: Put) -> StoredMemory:
    """Return a memory that the user accepted."""
    put("mine")
    stored = find(store, "mine")
    Trust(paths).accept([stored], "accept")
    return stored


def trusted_file(paths: Paths) -> str:
    return paths.state("trust", "trusted.jsonl")


def test_an_unaccepted_memory_is_pending_in_every_scope(paths: Paths, store: Store, put: Put) -> None:
    own = user_store(paths)
    assert own is not None
    put("mine")
    put("mine", to=own)
    assert (state_of(paths, store), state_of(paths, own)) == (PENDING, PENDING)
    Trust(paths).accept([find(own, "mine")], "accept")
    assert state_of(paths, own) == TRUSTED


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Other"},
        {"content": {"decision": "other"}},
        {"content": {"decision": "the body of mine", "context": "more"}},
        {"tags": ["x"]},
        {"related_files": ["x.py"]},
        {"guard": {"files": ["*"], "action": "deny"}},
        {"guard": "not even a guard"},
        {"expires_at": "2999-01-01"},
        {"record_status": "retired"},
        {"superseded_by": "other"},
        {"supersedes": ["other"]},
    ],
    ids=str,
)
def test_every_change_that_could_matter_is_pending_until_it_is_undone(
    paths: Paths, store: Store, put: Put, mine: StoredMemory, change: dict[str, object]
) -> None:
    put("mine", **change)
    assert state_of(paths, store) == PENDING
    put("mine")
    assert state_of(paths, store) == TRUSTED


def test_a_trusted_text_under_another_name_is_pending(
    paths: Paths, store: Store, put: Put, mine: StoredMemory
) -> None:
    put("other", title="Title of mine", content={"decision": "the body of mine"})
    put("mine", category="runbook")
    assert state_of(paths, store, "other") == PENDING


def test_reformatting_and_noting_a_change_keep_trust(
    paths: Paths, store: Store, put: Put, mine: StoredMemory
) -> None:
    data = dict(reversed(list(mine.memory.data.items())), updated_at="2030-01-01T00:00:00Z", changes=[])
    put("mine", raw=json.dumps(data).encode())
    assert state_of(paths, store) == TRUSTED


def test_the_same_text_is_trusted_in_any_project(
    paths: Paths, mine: StoredMemory, make_project: Callable[..., Project], put: Put
) -> None:
    elsewhere = Paths(make_project().root)
    other = project_store(elsewhere)
    put("mine", to=other)
    assert Trust(elsewhere).state_of(find(other, "mine")) == TRUSTED


def test_a_rejected_text_stays_rejected_under_every_name_and_in_every_project(
    paths: Paths, store: Store, put: Put, make_project: Callable[..., Project]
) -> None:
    put("theirs")
    Trust(paths).reject(find(store, "theirs"))
    elsewhere = Paths(make_project().root)
    put("renamed", title="Title of theirs", content={"decision": "the body of theirs"})
    put("theirs", to=project_store(elsewhere))
    assert state_of(paths, store, "theirs") == state_of(paths, store, "renamed") == REJECTED
    assert Trust(elsewhere).state_of(find(project_store(elsewhere), "theirs")) == REJECTED
    Trust(paths).accept([find(store, "renamed")], "accept")
    assert state_of(paths, store, "renamed") == TRUSTED
    assert state_of(paths, store, "theirs") == PENDING


def test_rejecting_a_trusted_text_ends_its_trust(paths: Paths, store: Store, mine: StoredMemory) -> None:
    Trust(paths).reject(mine)
    assert state_of(paths, store) == REJECTED


def test_withdrawing_covers_older_texts_of_the_name_and_can_erase_them(
    paths: Paths, store: Store, put: Put, mine: StoredMemory
) -> None:
    put("mine", title="Newer")
    Trust(paths).accept([find(store, "mine")], "accept")
    Trust(paths).withdraw(find(store, "mine"))
    assert state_of(paths, store) == PENDING
    put("mine")
    assert state_of(paths, store) == PENDING
    assert len(os.listdir(paths.state("trust", "texts"))) == 2
    Trust(paths).reject(find(store, "mine"))
    Trust(paths).erase(find(store, "mine"))
    assert os.listdir(paths.state("trust", "texts")) == []
    for name in ("trusted", "rejected"):
        with open(paths.state("trust", name + ".jsonl"), encoding="ascii") as file:
            assert '"mine"' not in file.read()
    assert state_of(paths, store) == REJECTED
    Trust(paths).accept([find(store, "mine")], "accept")
    assert state_of(paths, store) == TRUSTED


def test_erasing_keeps_the_names_of_other_rejected_memories(paths: Paths, store: Store, put: Put) -> None:
    for name in ("mine", "other"):
        put(name)
        Trust(paths).reject(find(store, name))
    Trust(paths).erase(find(store, "mine"))
    with open(paths.state("trust", "rejected.jsonl"), encoding="ascii") as file:
        rejected = file.read()
    assert ('"mine"' in rejected, '"other"' in rejected) == (False, True)
    assert state_of(paths, store, "other") == REJECTED


def test_what_was_decided_since_is_told_and_of_another_file_nothing(
    paths: Paths, store: Store, put: Put, mine: StoredMemory
) -> None:
    before = Trust(paths).trusted.end
    put("later")
    Trust(paths).accept([find(store, "later")], "accept")
    file = Trust(paths).trusted
    assert [one.id for one in file.since(before) or ()] == ["later"]
    assert [one.id for one in file.since((0, 0)) or ()] == ["mine", "later"]
    assert file.since(file.end) == []
    inode, size = file.end
    assert file.since((inode + 1, before[1])) is None
    assert file.since((inode, size + 1)) is None
    assert mine.memory.id == "mine"


def test_the_last_trusted_text_is_kept_without_secrets(paths: Paths, store: Store, put: Put) -> None:
    assert Trust(paths).last_trusted(theirs(store, put)) is None
    put("mine", content={"decision": "the key is " + SECRET})
    Trust(paths).accept([find(store, "mine")], "accept")
    put("mine", title="Changed by hand")
    last_trusted_text = Trust(paths).last_trusted(find(store, "mine"))
    assert last_trusted_text is not None
    assert last_trusted_text["title"] == "Title of mine"
    assert SECRET not in json.dumps(last_trusted_text)
    Trust(paths).withdraw(find(store, "mine"))
    assert Trust(paths).last_trusted(find(store, "mine")) is None


def theirs(store: Store, put: Put) -> StoredMemory:
    put("mine")
    return find(store, "mine")


@pytest.mark.parametrize(
    ("folder", "fields", "expected"),
    [
        ("", {}, TRUSTED),
        ("", {"guard": {"files": ["*"]}}, PENDING),
        ("/elsewhere", {}, PENDING),
        ("/../project", {}, PENDING),
    ],
    ids=["its root", "a guard", "another root", "not the real path"],
)
def test_accept_from_trusts_memories_of_its_folders(
    paths: Paths, store: Store, put: Put, folder: str, fields: dict[str, object], expected: str
) -> None:
    put("theirs", **fields)
    trust = Trust(paths, [paths.project_root + folder])
    assert trust.state_of(find(store, "theirs")) == expected
    trust.reject(find(store, "theirs"))
    assert trust.state_of(find(store, "theirs")) == REJECTED


def test_accept_from_does_not_cover_the_users_own_store(paths: Paths, put: Put) -> None:
    own = user_store(paths)
    assert own is not None
    put("mine", to=own)
    assert Trust(paths, [paths.project_root, own.root]).state_of(find(own, "mine")) == PENDING


def test_the_record_lies_outside_of_the_project_and_is_private(
    paths: Paths, project: Project, mine: StoredMemory
) -> None:
    for path in (trusted_file(paths), paths.state("trust", "texts")):
        assert path.startswith(project.state)
        assert os.stat(path).st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "torn", [b"x", b'{"schema":1,"digest":"', b"\xff\xfe", b"{}", b"[1]", b'{"schema":2}', b"\0" * 64]
)
def test_a_damaged_line_is_skipped_and_counted_and_costs_no_record(
    paths: Paths, store: Store, put: Put, mine: StoredMemory, torn: bytes
) -> None:
    with open(trusted_file(paths), "ab") as file:
        file.write(torn)
    assert state_of(paths, store) == TRUSTED
    put("later")
    Trust(paths).accept([find(store, "later")], "accept")
    assert state_of(paths, store) == state_of(paths, store, "later") == TRUSTED
    assert Trust(paths).trusted.damaged_lines() == 1


@pytest.mark.parametrize("content", [b"no record\nat all\n", b"{}\n", b"\xff\n\xff", b"\0\n"])
def test_a_damaged_file_grants_nothing_and_can_be_appended_to(
    paths: Paths, store: Store, mine: StoredMemory, content: bytes
) -> None:
    with open(trusted_file(paths), "wb") as file:
        file.write(content)
    trust = Trust(paths)
    assert trust.state_of(mine) == PENDING
    trust.accept([mine], "accept")
    assert state_of(paths, store) == TRUSTED


def test_a_record_that_cannot_be_read_is_an_error_and_is_kept(
    paths: Paths, store: Store, mine: StoredMemory
) -> None:
    path = trusted_file(paths)
    os.rename(path, path + ".real")
    os.symlink(path + ".real", path)
    with pytest.raises(TrustUnreadable) as raised:
        Trust(paths)
    assert "cannot be read (a symbolic link)" in str(raised.value.strerror)
    assert os.path.islink(path)


def test_a_record_of_many_lines_is_searched_and_tabled_alike(paths: Paths, store: Store, put: Put) -> None:
    names = ["memory-%d" % number for number in range(40)]
    for name in names:
        put(name)
    Trust(paths).accept([find(store, name) for name in names[:35]], "accept")
    Trust(paths).withdraw(find(store, "memory-3"))
    trust = Trust(paths)
    expected = [TRUSTED if 3 != number < 35 else PENDING for number in range(40)]
    assert [trust.state_of(find(store, name)) for name in names] == expected
    assert [trust.has_trusted_name(store, "decision", name) for name in names] == [
        one == TRUSTED for one in expected
    ]


def test_in_a_copy_a_later_change_is_known_as_one_once_the_trusted_text_was_seen(
    paths: Paths, mine: StoredMemory, put: Put, tmp_path: Path
) -> None:
    other = Paths(str(tmp_path / "copy"))
    other_store = project_store(other)
    put("mine", to=other_store, title=mine.memory.title, content=mine.memory.data["content"])
    copy = find(other_store, "mine")
    assert Trust(other).is_trusted(copy)
    assert Trust(other).last_trusted(copy) is None
    Trust(other).record_names([copy])
    Trust(other).record_names([copy])
    with open(paths.state("trust", "trusted.jsonl"), encoding="ascii") as file:
        assert file.read().count('"seen"') == 1
    put("mine", to=other_store, title="Changed by somebody")
    changed = find(other_store, "mine")
    trust = Trust(other)
    assert trust.state_of(changed) == PENDING
    assert trust.has_trusted_name(other_store, "decision", "mine")
    assert (trust.last_trusted(changed) or {})["title"] == mine.memory.title
    Trust(paths).withdraw(mine)
    assert Trust(other).last_trusted(changed) is None, "it was withdrawn in the other project"
    assert not Trust(other).has_trusted_name(other_store, "decision", "mine")


def test_a_forgotten_memory_has_no_trusted_name_while_another_project_trusts_its_text(
    paths: Paths, store: Store, put: Put, mine: StoredMemory, tmp_path: Path
) -> None:
    assert not Trust(paths).is_forgotten(mine)
    Trust(paths).withdraw(mine)
    other = Paths(str(tmp_path / "copy"))
    other_store = project_store(other)
    put("mine", to=other_store, title=mine.memory.title, content=mine.memory.data["content"])
    Trust(other).accept([find(other_store, "mine")], "accept")
    assert Trust(other).has_trusted_name(other_store, "decision", "mine")
    assert not Trust(paths).has_trusted_name(store, "decision", "mine")
    assert Trust(paths).last_trusted(mine) is None
    assert Trust(paths).is_forgotten(mine)


def test_a_memory_of_another_project_is_named_after_that_project(
    paths: Paths, store: Store, put: Put, tmp_path: Path
) -> None:
    other = Paths(str(tmp_path / "copy"))
    other_store = project_store(other)
    put("mine", to=other_store)
    Trust(paths).accept([find(other_store, "mine")], "accept")
    assert Trust(other).has_trusted_name(other_store, "decision", "mine")
    assert not Trust(paths).has_trusted_name(store, "decision", "mine")


def test_a_name_is_noted_for_a_trusted_text_only_and_never_brings_trust_back(
    paths: Paths, store: Store, put: Put, mine: StoredMemory, tmp_path: Path
) -> None:
    put("theirs")
    Trust(paths).record_names([find(store, "theirs")])
    assert state_of(paths, store, "theirs") == PENDING
    other = Paths(str(tmp_path / "copy"))
    other_store = project_store(other)
    put("mine", to=other_store, title=mine.memory.title, content=mine.memory.data["content"])
    before = Trust(other)
    Trust(paths).withdraw(mine)
    before.record_names([find(other_store, "mine")])
    assert Trust(other).state_of(find(other_store, "mine")) == PENDING


def test_what_another_process_accepted_meanwhile_counts_when_phrases_are_rejected(
    paths: Paths, store: Store, put: Put
) -> None:
    put("mine")
    stored = find(store, "mine")
    before = Trust(paths)
    Trust(paths).accept([stored], "accept")
    before.reject(with_phrases(stored, ["somebody else's words"]))
    assert Trust(paths).state_of(stored) == TRUSTED
