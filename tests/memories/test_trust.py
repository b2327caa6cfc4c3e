"""Trust: what is the user's own, what waits, and that no repository, rebuild or damaged record grants any."""

from __future__ import annotations

import json
import os

import pytest

from memory_plugin.kernel.paths import Places
from memory_plugin.memories import gitlog, lifecycle
from memory_plugin.memories.files import all_memories
from memory_plugin.memories.record import categories, new_memory
from memory_plugin.memories.stores import Store, user_store
from memory_plugin.memories.trust import FOREIGN, PENDING, TRUSTED, load_trust, trust_path
from tests.memories.conftest import Put, find
from tests.project import Project


@pytest.fixture(autouse=True)
def _git_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitlog, "_SETTLE_SECONDS", 0.0)


@pytest.fixture
def mine(places: Places, store: Store, project: Project) -> Store:
    """Return a store of the user's in a repository, with one committed memory."""
    data = new_memory(categories()["decision"], "", "Mine", {"decision": "b"}, {})
    lifecycle.save(places, store, data, word=True)
    commit(project, "first")
    look(places, store)
    return store


def commit(project: Project, message: str) -> None:
    project.git("add", "-A")
    project.git("commit", "-q", "-m", message)


def look(places: Places, store: Store, accept_pulls: bool = False) -> dict[str, str]:
    """Return the standing of each memory by id, noted as a refresh does."""
    trust = load_trust(places, store)
    standings = trust.review(list(all_memories(store)), accept_pulls)
    trust.save()
    return {key.rpartition("/")[2]: standing for key, standing in standings.items()}


def pulled(project: Project, put: Put, *identities: str, **fields: object) -> None:
    """Let memories arrive as with a pull: committed on another branch, then merged."""
    project.git("checkout", "-q", "-b", "theirs")
    for identity in identities:
        put(identity, **fields)
    commit(project, "theirs")
    project.git("checkout", "-q", "main")


def merge(project: Project) -> None:
    project.git("merge", "-q", "--no-ff", "-m", "merge", "theirs")


def test_a_clone_s_store_is_foreign_until_accepted(places: Places, store: Store, put: Put) -> None:
    put("theirs")
    assert look(places, store) == {"theirs": FOREIGN}
    assert look(places, store) == {"theirs": FOREIGN}


def test_edits_by_hand_in_the_user_s_store_are_the_user_s(places: Places, mine: Store, put: Put) -> None:
    put("by-hand")
    put("mine", title="Changed by hand")
    assert look(places, mine) == {"by-hand": TRUSTED, "mine": TRUSTED}


def test_the_user_s_own_commits_change_nothing(
    places: Places, mine: Store, put: Put, project: Project
) -> None:
    put("by-hand")
    commit(project, "second")
    project.git("commit", "-q", "--amend", "-m", "better words")
    assert look(places, mine) == {"by-hand": TRUSTED, "mine": TRUSTED}


def test_what_a_merge_brings_waits(places: Places, mine: Store, put: Put, project: Project) -> None:
    pulled(project, put, "theirs")
    look(places, mine)
    merge(project)
    assert look(places, mine) == {"theirs": PENDING, "mine": TRUSTED}
    assert look(places, mine) == {"theirs": PENDING, "mine": TRUSTED}
    assert "arrived with" in load_trust(places, mine).reason(find(mine, "theirs"))


def test_what_a_merge_changes_waits_and_switching_back_keeps_trust(
    places: Places, mine: Store, put: Put, project: Project
) -> None:
    pulled(project, put, "mine", title="Changed by them")
    look(places, mine)
    project.git("checkout", "-q", "theirs")
    assert look(places, mine) == {"mine": PENDING}
    project.git("checkout", "-q", "main")
    assert look(places, mine) == {"mine": TRUSTED}


def test_an_edit_by_hand_after_the_pull_was_seen_is_the_user_s(
    places: Places, mine: Store, put: Put, project: Project
) -> None:
    pulled(project, put, "theirs")
    merge(project)
    look(places, mine)
    put("later")
    assert look(places, mine) == {"theirs": PENDING, "later": TRUSTED, "mine": TRUSTED}


@pytest.mark.parametrize(
    "deed", [("reset", "-q", "--hard", "theirs"), ("rebase", "-q", "theirs"), ("checkout", "-q", "theirs")]
)
def test_so_does_what_other_deeds_of_git_bring(
    places: Places, mine: Store, put: Put, project: Project, deed: tuple[str, ...]
) -> None:
    pulled(project, put, "theirs")
    look(places, mine)
    project.git(*deed)
    assert look(places, mine)["theirs"] == PENDING


def test_who_accepts_pulls_waits_for_nothing(places: Places, mine: Store, put: Put, project: Project) -> None:
    pulled(project, put, "theirs")
    look(places, mine)
    merge(project)
    assert look(places, mine, accept_pulls=True) == {"theirs": TRUSTED, "mine": TRUSTED}


def test_while_git_is_at_work_a_change_waits_without_being_noted(
    places: Places, mine: Store, put: Put, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("by-hand")
    lock = os.path.join(project.root, ".git", "index.lock")
    with open(lock, "w", encoding="utf-8"):
        pass
    trust = load_trust(places, mine)
    assert trust.review(list(all_memories(mine)))["project:decision/by-hand"] == PENDING
    assert not trust.settled
    os.unlink(lock)
    assert look(places, mine)["by-hand"] == TRUSTED


def test_reformatting_keeps_trust(places: Places, mine: Store, project: Project, put: Put) -> None:
    path = find(mine, "mine").path
    project.git("checkout", "-q", "-b", "theirs")
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(dict(reversed(list(data.items()))), file)
    commit(project, "reformatted")
    assert look(places, mine) == {"mine": TRUSTED}


@pytest.mark.parametrize(
    "record", [b"", b"{", b"[]", b'{"mine": true}', b"\xff", b'{"store": 7, "mine": true}', b"[" * 100_000]
)
def test_a_damaged_or_planted_record_grants_nothing(
    places: Places, store: Store, put: Put, record: bytes
) -> None:
    put("theirs")
    path = trust_path(places, store)
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(record)
    assert look(places, store) == {"theirs": FOREIGN}


def test_the_record_of_another_folder_grants_nothing(places: Places, store: Store, put: Put) -> None:
    put("theirs")
    path = trust_path(places, store)
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema": 1, "store": "/somewhere/else", "mine": True, "trusted": {}, "pending": {}}, file)
    assert look(places, store) == {"theirs": FOREIGN}


@pytest.mark.parametrize("field", ["trusted", "pending", "log", "notified", "mine"])
@pytest.mark.parametrize("value", [None, 7, "x", [1, 2], {"a": 1}, {"decision/mine": [7, None]}], ids=str)
def test_odd_fields_in_the_record_raise_nothing(
    places: Places, mine: Store, field: str, value: object
) -> None:
    path = trust_path(places, mine)
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**record, field: value}, file)
    assert look(places, mine)["mine"] in (TRUSTED, FOREIGN, PENDING)


def test_the_record_lies_outside_of_the_project_and_is_private(
    places: Places, mine: Store, project: Project
) -> None:
    path = trust_path(places, mine)
    assert path.startswith(project.state)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


def test_the_user_s_own_store_is_trusted(places: Places, put: Put) -> None:
    own = user_store(places)
    assert own is not None
    put("by-hand", to=own)
    assert look(places, own) == {"by-hand": TRUSTED}


def test_a_waiting_set_is_told_once(places: Places, store: Store) -> None:
    trust = load_trust(places, store)
    assert trust.notice_due(["a", "b"])
    trust.save()
    assert not load_trust(places, store).notice_due(["b", "a"])
    assert load_trust(places, store).notice_due(["a", "b", "c"])


def test_few_digests_of_one_memory_are_kept(places: Places, mine: Store, put: Put) -> None:
    for number in range(30):
        put("mine", title="Title %d" % number)
        look(places, mine)
    with open(trust_path(places, mine), encoding="utf-8") as file:
        assert len(json.load(file)["trusted"]["decision/mine"]) == 20
