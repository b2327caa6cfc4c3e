"""The file of decisions: appended lines are complete or absent, invalid lines stay, and damage hides no older decision."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from memory_plugin.memories.trust_file import Decision, DecisionFile

FIRST = Decision("a" * 32, "accept", "p", "decision", "first")
SECOND = Decision("b" * 32, "accept", "p", "decision", "second")


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return the path of a file with one decision."""
    path = str(tmp_path / "trusted.jsonl")
    DecisionFile(path).append([FIRST])
    return path


def loaded(path: str) -> DecisionFile:
    file = DecisionFile(path)
    file.load()
    return file


def content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def test_a_damaged_line_does_not_hide_an_older_decision_about_the_same_text(path: str) -> None:
    line = content(path)
    with open(path, "ab") as file:
        file.write(line[:-4] + b"\n" + line.replace(b'"schema":1', b'"schema":9'))
    file_ = loaded(path)
    assert file_.last_of(FIRST.digest) == FIRST
    assert file_.last_named(FIRST.name) == FIRST
    assert file_.damaged_lines() == 2


def test_the_last_decision_counts_without_its_line_end(path: str) -> None:
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 1)
    assert loaded(path).last_of(FIRST.digest) == FIRST


@pytest.mark.parametrize("project", ["p", "/home/ada/a}b", '/home/ada/"}'])
@pytest.mark.parametrize("cut", [0, 1], ids=["", "without its line end"])
def test_many_searches_find_what_one_finds(tmp_path: Path, project: str, cut: int) -> None:
    path = str(tmp_path / "trusted.jsonl")
    decisions = [
        Decision("%032x" % number, "accept", project, "decision", "m%d" % number) for number in range(40)
    ]
    DecisionFile(path).append(decisions)
    os.truncate(path, os.path.getsize(path) - cut)
    named, digests = loaded(path), loaded(path)
    assert [named.last_named(decision.name) for decision in decisions] == decisions
    assert [digests.last_of(decision.digest) for decision in decisions] == decisions


def test_texts_of_the_same_hash_are_told_apart(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory_plugin.memories.trust_file.hash", lambda _text: 7, raising=False)
    monkeypatch.setattr("memory_plugin.memories.trust_file._MAX_SEARCHES", 0)
    DecisionFile(path).append([SECOND])
    file = loaded(path)
    assert (file.last_of(FIRST.digest), file.last_of(SECOND.digest)) == (FIRST, SECOND)
    assert (file.last_of("c" * 32), file.last_named(FIRST.name)) == (None, FIRST)


def test_an_incomplete_write_is_an_error_and_undone(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, write = content(path), os.write
    monkeypatch.setattr(os, "write", lambda handle, lines: write(handle, lines[:20]))
    with pytest.raises(OSError, match="disk full") as raised:
        loaded(path).append([SECOND])
    assert raised.value.errno == errno.ENOSPC
    assert content(path) == before


def test_decisions_appended_by_another_process_are_kept(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file, write = loaded(path), os.write

    def after_another(handle: int, lines: bytes) -> int:
        with open(path, "ab") as other:
            other.write(b"a line of another process\n")
        return write(handle, lines)

    monkeypatch.setattr(os, "write", after_another)
    file.append([SECOND])
    assert b"another process" in content(path)
    assert file.last_of(FIRST.digest) == FIRST
    assert file.last_of(SECOND.digest) == SECOND


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links can be refused on POSIX only")
def test_nothing_is_appended_through_a_link(path: str) -> None:
    before = content(path)
    link = path + ".link"
    os.symlink(path, link)
    with pytest.raises(OSError):  # noqa: PT011 (its number differs by system)
        DecisionFile(link).append([SECOND])
    assert content(path) == before


def test_a_file_is_read_again_only_after_it_changed(path: str) -> None:
    file = loaded(path)
    DecisionFile(path).append([SECOND])
    assert file.last_of(SECOND.digest) is None
    file.load()
    assert file.last_of(SECOND.digest) == SECOND
    os.unlink(path)
    file.load()
    assert file.last_of(FIRST.digest) is None
