"""The overview from the index says what a reading of all files says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings.load import load
from memory_plugin.memories import memory_files
from memory_plugin.memories.survey import survey
from memory_plugin.recall import memory_search
from memory_plugin.recall.memory_search import overview, search
from tests.project import Project
from tests.recall.store_files import at_home, memory, put


@pytest.fixture
def paths(project: Project) -> Iterator[Paths]:
    with at_home(project) as located:
        put(project, "use-postgres", memory("Billing uses Postgres", "for its locks"))
        put(
            project,
            "use-postgres",
            memory("In tests", category="constraint", content={"rule": "a rule"}),
            "constraints",
        )
        put(project, "use-redis", memory("billing uses POSTGRES", "another text"))
        put(project, "cache", memory("A cache", "of ten minutes"))
        put(project, "broken", "no memory")
        yield located


def keys(paths: Paths) -> list[str]:
    found = overview(paths, load(paths.config_dir, paths.project_root))
    return sorted(item.stored.key.partition(":")[2] for item in found.items)


def test_it_says_what_the_files_say(paths: Paths) -> None:
    listed, read = overview(paths, load(paths.config_dir, paths.project_root)), survey(paths)
    facts = [
        [(item.stored.key, item.trust, item.reason, item.stored.memory.title) for item in found.items]
        for found in (listed, read)
    ]
    assert sorted(facts[0]) == sorted(facts[1])
    assert [problem.path for problem in listed.problems] == [problem.path for problem in read.problems]
    assert all(item.stored.memory.data == {} for item in listed.items)


def test_phrases_that_await_approval_are_a_reason(project: Project, paths: Paths) -> None:
    """Until the user accepts or rejects them; neither changes the file."""
    project.cli("accept", "cache")
    put(project, "cache", memory("A cache", "of ten minutes", asked_as=["how long is it cached"]))
    assert reasons(paths) == ["its search phrases changed since you accepted them"]
    assert "4 pending memories" in project.cli("doctor").stdout
    project.cli("reject", "cache")
    assert reasons(paths) == [""]
    project.cli("accept", "cache")
    assert reasons(paths) == [""]


def reasons(paths: Paths) -> list[str]:
    found = overview(paths, load(paths.config_dir, paths.project_root))
    return [item.reason for item in found.items if item.stored.memory.id == "cache"]


def test_a_second_overview_reads_no_file(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys(paths)
    monkeypatch.delattr(memory_files, "read_regular")
    assert keys(paths) == before


def test_a_search_that_takes_too_long_reads_no_files_to_take_longer(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load(paths.config_dir, paths.project_root)
    monkeypatch.setattr(memory_search, "_SECONDS", 0.0)
    monkeypatch.setattr(memory_search, "_temporary_index", lambda *_: pytest.fail("all files are read"))
    with pytest.raises(TimeoutError):
        search(paths, settings, "billing on postgres", 5)
