"""Ledgers: complete lines with many writers, after kills, on full disks, and within a size limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from memory_plugin import VERSION
from memory_plugin.kernel import context, files
from memory_plugin.kernel.context import Ledger
from memory_plugin.kernel.files import lock_handle
from memory_plugin.kernel.records import Form, Records
from tests.project import IS_WINDOWS, PLUGIN_ROOT, Project, posix

WRITERS, EACH = 50, 20
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from memory_plugin.kernel import context as ledger
ledger.WAIT = 30.0
book = ledger.Ledger(sys.argv[2], "book", int(sys.argv[5]))
for number in range(int(sys.argv[4])):
    trouble = book.append("s", "p", {"writer": int(sys.argv[3]), "number": number, "text": "x" * 300})
    assert trouble is None, trouble
"""


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return os.path.join(str(tmp_path_factory.mktemp("state")), "memory")


def writer(
    project: Project, folder: str, name: int, times: int = EACH, most: int = 1 << 30
) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        PROGRAM,
        os.path.join(PLUGIN_ROOT, "scripts"),
        folder,
        str(name),
        str(times),
        str(most),
    ]
    return subprocess.Popen(command, env=project.environment(), stderr=subprocess.PIPE)


def rows(book: Ledger) -> tuple[list[dict[str, object]], int]:
    found = Records(book.folder, Form(book.name, {}))
    return list(found), found.skipped


def test_every_record_says_when_where_and_by_whom(folder: str) -> None:
    book = Ledger(folder, "book")
    assert book.append("session", "project", {"a": [1, None, "ä\ud800"]}) is None
    ((row,), skipped) = rows(book)
    assert skipped == 0
    assert {**row, "time": ""} == {
        "schema": 1,
        "time": "",
        "session": "session",
        "project": "project",
        "version": VERSION,
        "a": [1, None, "ä\ud800"],
    }
    if not IS_WINDOWS:
        assert os.stat(book.path()).st_mode & 0o777 == 0o600
        assert os.stat(folder).st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_fifty_writers_at_once_lose_no_line(project: Project, folder: str) -> None:
    running = [writer(project, folder, number) for number in range(WRITERS)]
    assert [process.communicate(timeout=55)[1] for process in running] == [b""] * WRITERS
    found, skipped = rows(Ledger(folder, "book"))
    assert skipped == 0
    assert {(row["writer"], row["number"]) for row in found} == {
        (w, n) for w in range(WRITERS) for n in range(EACH)
    }
    assert len(found) == WRITERS * EACH


def test_writers_that_rotate_under_each_other_cut_no_line(project: Project, folder: str) -> None:
    running = [writer(project, folder, number, most=20_000) for number in range(10)]
    assert [process.communicate(timeout=55)[1] for process in running] == [b""] * 10
    found, skipped = rows(Ledger(folder, "book", 20_000))
    assert skipped == 0
    assert len({(row["writer"], row["number"]) for row in found}) == len(found) > 50


def test_after_kills_every_line_is_whole_or_closed(project: Project, folder: str) -> None:
    for delay in (0.03, 0.06, 0.1):
        running = [writer(project, folder, number, times=100_000) for number in range(4)]
        time.sleep(delay)
        for process in running:
            process.kill()
            process.communicate()
    book = Ledger(folder, "book")
    before, skipped = rows(book)
    assert book.append("s", "p", {"last": True}) is None
    after, skipped_after = rows(book)
    assert (len(after), skipped_after) == (len(before) + 1, skipped)
    assert after[-1]["last"] is True


@pytest.mark.parametrize("cut", [b'{"a": 1', b"\xff\xfe", b"{}x", b"\0" * 20])
def test_a_cut_last_line_is_closed_by_the_next_writer(folder: str, cut: bytes) -> None:
    book = Ledger(folder, "book")
    book.append("s", "p", {"first": 1})
    with open(book.path(), "ab") as file:
        file.write(cut)
    book.append("s", "p", {"second": 2})
    found, skipped = rows(book)
    assert [("first" in row, "second" in row) for row in found] == [(True, False), (False, True)]
    assert skipped == 1


def test_disk_use_is_bounded_and_the_youngest_stay(folder: str) -> None:
    book = Ledger(folder, "book", 1000)
    for number in range(200):
        book.append("s", "p", {"number": number})
    names = sorted(name for name in os.listdir(folder) if name != "book.lock")
    assert set(names) <= {"book.1.jsonl", "book.2.jsonl", "book.3.jsonl", "book.jsonl"}
    longest = len(json.dumps(rows(book)[0][-1])) + 1
    assert sum(os.path.getsize(os.path.join(folder, name)) for name in names) <= 4 * (1000 + longest)
    numbers = [int(str(row["number"])) for row in rows(book)[0]]
    assert numbers == list(range(numbers[0], 200))


def test_a_writer_that_opened_the_file_before_it_was_renamed_loses_nothing(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    book, lock = Ledger(folder, "book", 300), lock_handle
    book.append("s", "p", {"number": 0})

    def late(handle: int, wait: float) -> None:
        monkeypatch.setattr(files, "lock_handle", lock)
        for number in range(1, 4):
            assert Ledger(folder, "book", 300).append("s", "p", {"number": number}) is None
        lock(handle, wait)

    monkeypatch.setattr(files, "lock_handle", late)
    assert book.append("s", "p", {"number": 4}) is None
    assert os.path.exists(book.path(1))
    assert sorted(int(str(row["number"])) for row in rows(book)[0]) == list(range(5))


@posix("simulates Windows")
def test_on_windows_a_full_file_is_rotated_after_it_is_closed(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulate Windows, where a file that this process has open cannot be renamed."""
    replace = os.replace

    def refused(source: str, target: str) -> None:
        for handle in os.listdir("/proc/self/fd"):
            if os.path.realpath("/proc/self/fd/" + handle) == os.path.realpath(source):
                raise PermissionError(13, "in use", source)
        replace(source, target)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not tell which files are open")
    monkeypatch.setattr(os, "replace", refused)
    book = Ledger(folder, "book", 300)
    for number in range(5):
        assert book.append("s", "p", {"number": number}) is None
    assert os.path.exists(book.path(1))
    with open(book.path(), "a", encoding="utf-8"):  # somebody else has it open: written, and set aside later
        for number in range(5, 10):
            assert book.append("s", "p", {"number": number}) is None
    assert book.append("s", "p", {"number": 10}) is None
    assert [row["number"] for row in rows(book)[0]] == list(range(11))


def test_bytes_stay_as_they_are_where_a_system_has_files_of_text(project: Project) -> None:
    """Windows has; `O_BINARY` is used in place of its number."""
    program = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); os.O_BINARY = 1 << 40\n"
        "from memory_plugin.kernel import files\n"
        "assert all(flags & os.O_BINARY for flags in (files._READ, files._CREATE, files.READ_WRITE, files.APPEND))"
    )
    run = project.process([sys.executable, "-I", "-S", "-c", program, os.path.join(PLUGIN_ROOT, "scripts")])
    assert (run.returncode, run.stderr) == (0, "")


@posix("limits the size of a file")
def test_a_full_disk_loses_the_record_and_nothing_else(project: Project, folder: str) -> None:
    import resource

    book = Ledger(folder, "book")
    book.append("s", "p", {"first": 1})
    size = os.path.getsize(book.path())
    handle = os.fork()
    if handle == 0:  # a file size limit, as a full disk, in a process of its own
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, size + 50))
        os._exit(0 if "book: " in (book.append("s", "p", {"text": "x" * 500}) or "") else 1)
    assert os.waitpid(handle, 0)[1] == 0
    assert os.path.getsize(book.path()) == size
    assert rows(book)[1] == 0
    assert book.append("s", "p", {"second": 2}) is None
    assert len(rows(book)[0]) == 2


@posix("makes pipes and links")
@pytest.mark.parametrize("odd", ["full", "pipe", "folder", "link"])
def test_append_returns_why_a_file_cannot_be_written(folder: str, odd: str) -> None:
    os.makedirs(folder)
    book = Ledger(folder, "book")
    path = book.path()
    obstacles = {
        "full": lambda: os.symlink("/dev/full", path),
        "pipe": lambda: os.mkfifo(path),
        "folder": lambda: os.mkdir(path),
    }
    obstacles["link"] = lambda: os.symlink(os.path.join(folder, "elsewhere"), path)
    obstacles[odd]()
    start = time.monotonic()
    assert (book.append("s", "p", {}) or "").startswith("book: ")
    assert time.monotonic() - start < 10
    assert not os.path.exists(os.path.join(folder, "elsewhere"))


def test_append_returns_why_a_folder_cannot_be_created(folder: str) -> None:
    with open(folder, "w", encoding="utf-8"):
        pass
    assert (Ledger(folder, "book").append("s", "p", {}) or "").startswith("book: ")
    assert rows(Ledger(folder, "book")) == ([], 0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}, b"x"])
def test_a_record_that_is_not_json_is_a_bug_and_not_a_full_disk(folder: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError), match="JSON"):
        Ledger(folder, "book").append("s", "p", {"a": value})
    assert not os.path.exists(folder)


def test_a_lock_that_never_comes_is_not_waited_for(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "WAIT", 0.05)
    book = Ledger(folder, "book")
    book.append("s", "p", {})
    handle = os.open(book.path(), os.O_RDWR)
    lock_handle(handle, 0.0)
    assert "locked" in (book.append("s", "p", {}) or "")
    os.close(handle)
    assert book.append("s", "p", {}) is None


def test_bad_lines_are_skipped_and_counted(folder: str) -> None:
    book = Ledger(folder, "book")
    book.append("s", "p", {"good": 1})
    bad = [b"", b"  ", b"[1]", b"7", b"{", b"\xff", b"[" * 50_000, b'{"a": "' + b"x" * (1 << 20) + b'"}']
    with open(book.path(), "ab") as file:
        file.write(b"\n".join(bad) + b"\n")
    book.append("s", "p", {"good": 2})
    found, skipped = rows(book)
    assert [row["good"] for row in found] == [1, 2]
    assert skipped == 6
