"""All memories with their trust, and which memory a name means."""

from __future__ import annotations

import os

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import InvalidMemory
from memory_plugin.memories.memory_files import Store, user_store
from memory_plugin.memories.survey import choose, life_cycle_state, shortest_names, survey
from memory_plugin.memories.trust import PENDING, REJECTED, TRUSTED, Trust
from tests.memories.conftest import Put, find


def test_every_store_is_surveyed(paths: Paths, put: Put) -> None:
    own = user_store(paths)
    assert own is not None
    put("theirs")
    put("own", to=own)
    Trust(paths).accept([find(own, "own")], "accept")
    bad = put("bad", raw=b"{")
    found = survey(paths)
    assert {item.stored.memory.id: item.trust for item in found.items} == {"theirs": PENDING, "own": TRUSTED}
    assert [problem.path for problem in found.problems] == [bad]


def test_a_store_that_is_not_read_is_reported(paths: Paths, store: Store) -> None:
    os.makedirs(os.path.dirname(store.root))
    os.symlink("/tmp", store.root)  # noqa: S108
    assert "symbolic link" in survey(paths).left_alone[0]


def test_looking_records_nothing(paths: Paths, put: Put) -> None:
    put("theirs")
    survey(paths)
    assert not os.path.exists(paths.state("trust"))


def test_why_a_memory_is_not_trusted(paths: Paths, store: Store, put: Put) -> None:
    for identity in ("new", "changed", "rejected", "mine"):
        put(identity)
    trust = Trust(paths)
    trust.accept([find(store, "changed"), find(store, "mine")], "accept")
    trust.reject(find(store, "rejected"))
    put("changed", title="Changed by hand")
    assert {
        item.stored.memory.id: (item.trust, item.reason, item.is_pending) for item in survey(paths).items
    } == {
        "new": (PENDING, "you have not accepted it", True),
        "changed": (PENDING, "changed since you trusted it", True),
        "rejected": (REJECTED, "you rejected it", False),
        "mine": (TRUSTED, "", False),
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "active"),
        ({"record_status": "retired"}, "retired"),
        ({"record_status": "archived"}, "archived"),
        ({"superseded_by": "other"}, "superseded"),
        ({"expires_at": "2020-01-01"}, "expired"),
        ({"expires_at": "2999-01-01"}, "active"),
    ],
)
def test_life_cycle_state(paths: Paths, put: Put, fields: dict[str, object], expected: str) -> None:
    put("one", **fields)
    (item,) = survey(paths).items
    assert life_cycle_state(item) == expected
    assert item.is_pending == (expected == "active")


def test_a_name_means_the_trusted_one_but_for_a_decision_about_pending_ones(paths: Paths, put: Put) -> None:
    own = user_store(paths)
    assert own is not None
    put("same", to=own)
    put("same", title="Another text")
    Trust(paths).accept([find(own, "same")], "accept")
    items = survey(paths).items
    assert choose(items, "same").stored.key == "user:decision/same"
    assert choose(items, "same", first=PENDING).stored.key == "project:decision/same"
    assert choose(items, "user:decision/same").stored.key == "user:decision/same"


@pytest.mark.parametrize("name", ["same", "nothing", "", "decision/", "../same"])
def test_a_name_that_means_none_or_several_is_refused(paths: Paths, put: Put, name: str) -> None:
    put("same")
    put("same", category="runbook")
    items = survey(paths).items
    with pytest.raises(
        InvalidMemory,
        match=r"no memory has this id|2 memories fit; name one of decision/same \(.*\), runbook/same \(.*json\)",
    ):
        choose(items, name)
    assert choose(items, "runbook/same").stored.memory.category == "runbook"


def test_a_memory_whose_file_cannot_be_read_is_not_called_unknown(
    paths: Paths, store: Store, put: Put
) -> None:
    put("good")
    path = store.path("constraint", "half-merged")
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write("<<<<<<< HEAD\n")
    with pytest.raises(InvalidMemory, match="%s cannot be read; see: memory doctor" % path):
        choose(survey(paths).items, "half")


def test_the_shortest_name_that_means_one_memory(paths: Paths, put: Put) -> None:
    own = user_store(paths)
    assert own is not None
    put("alone")
    put("twice")
    put("twice", category="runbook")
    put("thrice")
    put("thrice", category="runbook")
    put("thrice", to=own)
    items = survey(paths).items
    names = shortest_names(items)
    assert names == {
        "project:decision/alone": "alone",
        "project:decision/twice": "decision/twice",
        "project:runbook/twice": "runbook/twice",
        "project:decision/thrice": "project:decision/thrice",
        "project:runbook/thrice": "runbook/thrice",
        "user:decision/thrice": "user:decision/thrice",
    }
    assert all(choose(items, name).stored.key == key for key, name in names.items())


def test_without_a_state_folder_everything_is_pending(paths: Paths, put: Put) -> None:
    put("one")
    paths.state_dir, paths.why_no_state = None, "no home folder"
    (item,) = survey(paths).items
    assert (item.trust, item.reason) == (PENDING, "no home folder")
