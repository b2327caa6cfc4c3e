"""The limits of one refresh: no store can make a hook read, redact or keep more, and what is left is read later."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from memory_plugin.kernel.files import make_folder
from memory_plugin.kernel.hygiene import redact
from memory_plugin.kernel.hygiene.scanner import Redaction
from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import hygiene
from memory_plugin.recall.index_file import index_path
from memory_plugin.recall.index_refresh import create_index
from memory_plugin.recall.store_refresh import (
    HOOK_ENTRIES,
    HOOK_FILES,
    MAX_MEMORY,
    ReadBudget,
    RefreshReport,
    hook_read_budget,
)
from tests.project import Project
from tests.recall.store_files import ASK, TITLE, TOLD, accept_all, at_home, memory, put, store
from tests.recall.test_index_refresh import fully, injectable, inline, later, titles

NEAR_SECRET = "xoxd-/" * 41_666


class Redacted:
    """Counts what is redacted."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls = self.characters = 0
        self._redact = redact
        patch.setattr(hygiene, "redact", self)

    def __call__(self, text: str, place: str) -> Redaction:
        """Redact as before."""
        self.calls += 1
        self.characters += len(text)
        return self._redact(text, place)


@pytest.fixture
def paths(project: Project) -> Iterator[Paths]:
    with at_home(project) as found:
        yield found


@pytest.fixture
def redacted(monkeypatch: pytest.MonkeyPatch) -> Redacted:
    return Redacted(monkeypatch)


HOSTILE = {
    "near-secrets": memory("h", NEAR_SECRET),
    "a title": memory(NEAR_SECRET),
    "nine thousand tags": memory("h", tags=["key=%d" % number for number in range(9000)]),
    "long tags": memory("h", tags=["token=" * 150] * 200),
    "many files": memory("h", related_files=["password=%d" % number for number in range(9000)]),
    "tags with line breaks": memory("h", tags=["a\r"] * 2000),
    "questions": memory("h", asked_as=[NEAR_SECRET[:1000]] * 200),
    "many fields": memory("h", content={"key%d" % number: "token=" * 10 for number in range(3000)}),
    "hidden characters": memory("h", "token=\u200b" * 25_000),
}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(data, id=name, marks=[] if name in ("near-secrets", "many fields") else pytest.mark.slow)
        for name, data in HOSTILE.items()
    ],
)
def test_a_round_redacts_no_more_than_its_share(
    project: Project, paths: Paths, redacted: Redacted, data: dict[str, object]
) -> None:
    put(project, "good", memory())
    fully(paths)
    later()
    for number in range(20):
        put(project, "hostile%d" % number, data)
    put(project, "new", memory("New"))
    redacted.calls = redacted.characters = 0
    report = inline(paths)
    assert redacted.characters <= 2 * MAX_MEMORY, "every text twice at most"
    assert redacted.calls <= 2 * 50 * (report.read + 1)
    assert {TITLE, "New"} <= titles(paths), "what is small comes first"


def test_rounds_reach_the_end_of_a_backlog(project: Project, paths: Paths) -> None:
    for number in range(5):
        put(project, "hostile%d" % number, memory("Hostile %d" % number, NEAR_SECRET))
    put(project, "broken", "[" * 200_000)
    fully_open(paths)
    reports = [inline(paths) for _ in range(8)]
    assert sum(report.read for report in reports) == 5
    assert sum(report.unreadable for report in reports) == 1, "it is not tried again in each round"
    assert reports[-1] == RefreshReport(0, 0, 0, 0)


def fully_open(paths: Paths) -> None:
    """Make an empty index where there is none."""
    make_folder(os.path.dirname(index_path(paths)))
    create_index(index_path(paths)).close()


def test_no_memory_is_larger_than_a_hooks_share(project: Project, paths: Paths, redacted: Redacted) -> None:
    lists = {name: ["a" * 900] * 20 for name in ("tags", "related_files", "asked_as")}
    put(project, "all", memory("t" * 50_000, "b " * 60_000, **lists))
    assert fully(paths).read == 1
    assert redacted.characters <= 2 * MAX_MEMORY, "every text twice at most"
    assert hook_read_budget().reserve(MAX_MEMORY)


def test_an_accept_that_one_round_follows_in_part_is_followed_to_the_end(
    project: Project, paths: Paths
) -> None:
    for number in range(10):
        put(project, "m%d" % number, memory("Memory %d" % number))
    fully(paths)
    accept_all(paths)
    read = [inline(paths, most=4).read for _ in range(3)]
    assert read == [4, 4, 2]
    assert len(injectable(paths)) == 10


def test_a_store_of_more_entries_than_a_hook_lists_is_left_as_it_is(
    project: Project, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, "m", memory("Memory"))
    fully(paths)
    later()
    for number in range(9):
        put(project, "new%d" % number, memory("New %d" % number))
        put(project, "no-memory%d.txt" % number, "")
    monkeypatch.setattr(
        "tests.recall.test_index_refresh.ReadBudget",
        lambda files, characters, _: ReadBudget(files, characters, 5),
    )
    assert inline(paths).remaining
    assert titles(paths) == {"Memory"}
    assert fully(paths).read == 9


def test_the_share_of_a_hook_without_an_index() -> None:
    budget = hook_read_budget()
    assert [budget.reserve(10) for _ in range(HOOK_FILES + 1)] == [True] * HOOK_FILES + [False]
    assert hook_read_budget().entries == HOOK_ENTRIES


def test_notes_take_their_part_of_the_share(project: Project, paths: Paths) -> None:
    folder = os.path.join(project.config, "projects", project.root.replace("/", "-").replace("_", "-"))
    for number in range(6):
        os.makedirs(os.path.join(folder, "memory"), exist_ok=True)
        with open(os.path.join(folder, "memory", "note%d.md" % number), "w", encoding="utf-8") as file:
            file.write("# Note %d\n\n%s" % (number, "A passage. " * (3000 if number else 1)))
    with open(os.path.join(folder, "s.jsonl"), "w", encoding="utf-8") as file:
        file.write('{"cwd": "%s"}\n' % project.root)
    fully_open(paths)
    assert inline(paths).remaining == 4, "33 kB each, and one small one"
    assert fully(paths).remaining == 0
    assert len(titles(paths)) == 6
    later()
    assert fully(paths).read == 0, "a note that did not change is not read again"


def test_a_file_that_is_being_written_is_read_when_it_is_whole(project: Project, paths: Paths) -> None:
    fully(paths)
    path = put(project, "m", '{"title": "Half')
    later()
    assert inline(paths).unreadable == 1
    folder = os.stat(os.path.dirname(path))
    with open(path, "r+", encoding="utf-8") as file:
        json.dump(memory("Whole"), file)
    assert os.stat(os.path.dirname(path)).st_mtime_ns == folder.st_mtime_ns, "the folder tells nothing"
    inline(paths)
    assert titles(paths) == {"Whole"}


def test_links_and_pipes_are_no_work(project: Project, paths: Paths) -> None:
    fully(paths)
    later()
    os.makedirs(store(project, "decisions"), exist_ok=True)
    for number in range(100):
        os.symlink("/etc/passwd", store(project, "decisions", "link%d.json" % number))
        os.mkfifo(store(project, "decisions", "pipe%d.json" % number))
    put(project, "good", memory())
    assert inline(paths) == RefreshReport(1, 0, 0, 0)


@pytest.mark.slow
def test_memories_are_injected_while_hostile_files_wait(project: Project) -> None:
    project.save(TITLE, memory()["content"]["decision"])
    assert TOLD in project.prompt(ASK).context
    for number in range(20):
        put(project, "hostile%d" % number, memory("Hostile", NEAR_SECRET))
    for number in range(2, 5):
        run = project.prompt(ASK, "p%d" % number, session_id="0d1ec0de-0000-4000-8000-00000000000%d" % number)
        assert TOLD in run.context
    assert project.cli("refresh", "--json").json["remaining"] == 0


def test_the_doctor_names_files_that_are_too_large_and_the_remedy(project: Project) -> None:
    put(project, "bytes", memory("Bytes", "x" * 300_000))
    put(project, "values", memory("Values", tags=["t"] * 25_000))
    text = project.cli("doctor").stdout
    assert "bytes.json: file: expected at most 262144 bytes, got 300" in text
    assert "values.json: file: expected at most 10000 values, got about 25" in text
    assert "correct these files, or move those" in text
