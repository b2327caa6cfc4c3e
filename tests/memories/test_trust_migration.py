"""Trust records of 0.1.0: their texts stay trusted, no others are, and an interruption at any point loses nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import lifecycle
from memory_plugin.memories.stores import Store
from memory_plugin.memories.survey import survey
from memory_plugin.memories.trust import PENDING, TRUSTED, TrustUnreadable, load_trust
from memory_plugin.memories.trust_migration import has_old_trust, migrate_trust
from tests.memories.conftest import Put, find
from tests.state_0_1_0 import POSTGRES, POSTGRES_DIGEST, write_trust_record

# Memories with the digests that 0.1.0 wrote for them.
SQLITE = {"title": "Use SQLite", "content": {"decision": "The index is SQLite."}, "supersedes": ["old"]}
FORGOTTEN = {
    "title": "Forgotten",
    "content": {"decision": "No more."},
    "record_status": "retired",
    "retired_at": "2020-01-01T00:00:00Z",
}
DIGESTS = {
    "decision/postgres": ["0" * 32, POSTGRES_DIGEST],
    "decision/sqlite": ["991d45275bb621bccbda27bdc3493879"],
    "decision/guarded": [POSTGRES_DIGEST],
    "decision/gone": ["1" * 32],
}
Record = Callable[..., str]


@pytest.fixture
def record(paths: Paths, store: Store, put: Put) -> Record:
    """Put memories into the store and return a function that writes a 0.1.0 trust record of them; keywords replace its fields."""
    put("postgres", **POSTGRES)
    put("sqlite", **SQLITE)
    put("guarded", **POSTGRES, guard={"files": ["*"]})
    put("edited", title="Edited since")
    put("forgotten", **FORGOTTEN)
    return lambda **fields: write_trust_record(paths, store, **{"trusted": DIGESTS, **fields})


def standings(paths: Paths) -> dict[str, str]:
    return {item.stored.memory.id: item.trust for item in survey(paths).items}


EXPECTED = {
    "postgres": TRUSTED,
    "sqlite": TRUSTED,
    "guarded": PENDING,
    "edited": PENDING,
    "forgotten": PENDING,
}


def test_migrated_texts_stay_trusted_and_the_old_record_is_deleted(paths: Paths, record: Record) -> None:
    path = record()
    assert has_old_trust(paths)
    assert standings(paths) == EXPECTED
    assert not os.path.exists(path)
    assert not has_old_trust(paths)
    assert standings(paths) == EXPECTED


def test_a_memory_forgotten_before_the_migration_is_deleted_in_time(
    paths: Paths, store: Store, record: Record
) -> None:
    record()
    migrate_trust(paths)
    path = find(store, "forgotten").path
    assert lifecycle.remove_expired_retired(paths, store, 30) == [path]


@pytest.mark.parametrize(
    "fields",
    [
        {"store": "/elsewhere"},
        {"store": 7},
        {"trusted": None},
        {"trusted": [1]},
        {"trusted": {"decision/postgres": "x"}},
    ],
    ids=str,
)
def test_an_odd_or_planted_record_grants_nothing(
    paths: Paths, record: Record, fields: dict[str, object]
) -> None:
    record(**fields)
    assert set(standings(paths).values()) == {PENDING}


def test_an_unreadable_record_is_an_error_and_stays(paths: Paths, record: Record) -> None:
    path = record()
    os.rename(path, path + ".real")
    os.symlink(path + ".real", path)
    with pytest.raises(TrustUnreadable):
        migrate_trust(paths)
    assert os.path.lexists(path)


def test_a_store_that_is_not_there_keeps_its_record(paths: Paths, store: Store, record: Record) -> None:
    path = record()
    os.rename(store.root, store.root + "-away")
    assert migrate_trust(paths)
    assert os.path.exists(path)
    os.rename(store.root + "-away", store.root)
    assert standings(paths) == EXPECTED


def test_a_prompt_leaves_a_large_store_to_a_command(paths: Paths, record: Record) -> None:
    path = record()
    assert not migrate_trust(paths, max_files=3)
    assert os.path.exists(path)
    assert migrate_trust(paths, max_files=5)


@pytest.mark.parametrize("failing", ["open", "scandir"])
def test_a_store_that_cannot_be_read_is_migrated_later(
    paths: Paths, store: Store, record: Record, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path, true = record(), getattr(os, failing)

    def fails(name: str, *rest: int) -> object:
        if str(name).startswith(store.root):
            raise OSError(errno.EIO, "Input/output error", name)
        return true(name, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, fails)
        assert not migrate_trust(paths)
    assert os.path.exists(path)
    assert standings(paths) == EXPECTED


def test_an_interruption_before_the_old_record_goes_is_made_good(
    paths: Paths, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    record()

    def killed(_: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            migrate_trust(paths)
    before = os.path.getsize(paths.state("trust", "trusted.jsonl"))
    assert standings(paths) == EXPECTED
    with open(paths.state("trust", "trusted.jsonl"), encoding="ascii") as file:
        accepted = [line for line in file if '"how":"migrated"' in line]
    assert len(accepted) == 2
    assert before > 0


def test_withdrawn_trust_does_not_come_back(paths: Paths, store: Store, record: Record) -> None:
    record()
    migrate_trust(paths)
    load_trust(paths).withdraw(find(store, "postgres"))
    assert standings(paths)["postgres"] == PENDING
