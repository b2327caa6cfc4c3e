"""Safe file access: only regular files are read, and a file is replaced completely or not at all."""

from __future__ import annotations

import os
import socket
import tempfile
from threading import Timer

import pytest

from memory_plugin.kernel import files
from memory_plugin.kernel.files import (
    Unreadable,
    error_text,
    is_draft,
    make_folder,
    read_regular,
    replace_file,
    stamp,
    write_problem,
)
from tests.project import posix


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("files"))


def put(folder: str, name: str, content: bytes = b"x") -> str:
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


@pytest.mark.parametrize("content", [b"", b"a" * 10, bytes(range(256)) * 300])
def test_a_plain_file_is_read_whole(folder: str, content: bytes) -> None:
    data, status = read_regular(put(folder, "a", content), len(content))
    assert data == content
    assert status.st_size == len(content)


def test_a_file_above_the_limit_is_refused(folder: str) -> None:
    with pytest.raises(Unreadable, match="at most 10 bytes, got 11"):
        read_regular(put(folder, "a", b"a" * 11), 10)


def test_a_file_that_lies_about_its_size_is_cut_off() -> None:
    with pytest.raises(Unreadable, match=r"grew beyond|not permitted|not a regular"):
        read_regular("/proc/self/smaps", 100)


def linked(folder: str) -> str:
    put(folder, "target")
    os.symlink("target", os.path.join(folder, "link"))
    return os.path.join(folder, "link")


def looped(folder: str) -> str:
    os.symlink("loop", os.path.join(folder, "loop"))
    return os.path.join(folder, "loop")


def piped(folder: str) -> str:
    os.mkfifo(os.path.join(folder, "pipe"))
    return os.path.join(folder, "pipe")


def bound(_folder: str) -> str:
    path = os.path.join(tempfile.mkdtemp(), "s")  # a socket's path has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
    return path


@posix("makes pipes, links and sockets")
@pytest.mark.parametrize(
    "make", [linked, looped, piped, bound, lambda folder: folder, lambda _: "/dev/zero", lambda _: "a\0b"]
)
def test_a_pipe_or_folder_is_refused_at_once(folder: str, make: object) -> None:
    assert callable(make)
    with pytest.raises(Unreadable):
        read_regular(make(folder), 1000)


@posix("makes links")
@pytest.mark.parametrize("flag", [files._NO_LINKS, 0], ids=["posix", "windows"])
def test_a_link_is_followed_only_where_that_is_asked_for(
    folder: str, flag: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_NO_LINKS", flag)
    link = linked(folder)
    assert read_regular(link, 10, follow=True)[0] == b"x"
    with pytest.raises(Unreadable, match="a symbolic link"):
        read_regular(link, 10)


@pytest.mark.parametrize("name", ["missing", "missing/below", "plain/below"])
def test_a_missing_file_is_a_file_not_found_error(folder: str, name: str) -> None:
    put(folder, "plain")
    with pytest.raises(FileNotFoundError):
        read_regular(os.path.join(folder, name), 10)


def test_a_stamp_tells_every_kind_of_change(folder: str) -> None:
    path = put(folder, "a", b"12")
    stamps = {stamp(os.stat(path))}
    os.utime(path, ns=(1, 1))
    stamps.add(stamp(os.stat(path)))
    put(folder, "a", b"123")
    os.utime(path, ns=(1, 1))
    stamps.add(stamp(os.stat(path)))
    other = put(folder, "b", b"123")
    os.utime(other, ns=(1, 1))
    os.replace(other, path)
    stamps.add(stamp(os.stat(path)))
    assert len(stamps) == 4


@posix("has modes")
def test_folders_are_made_private_and_left_as_they_are(folder: str) -> None:
    os.chmod(folder, 0o755)
    below = os.path.join(folder, "a", "b")
    make_folder(below)
    make_folder(below)
    assert [os.stat(path).st_mode & 0o777 for path in (os.path.dirname(below), below)] == [0o700, 0o700]
    assert os.stat(folder).st_mode & 0o777 == 0o755


def test_a_file_in_the_place_of_a_folder_is_an_error(folder: str) -> None:
    path = put(folder, "a")
    for wanted in (path, os.path.join(path, "b")):
        with pytest.raises(OSError, match=r"not a folder"):
            make_folder(wanted)


@posix("has modes")
@pytest.mark.parametrize("durable", [True, False])
def test_a_replaced_file_is_private_and_leaves_no_draft(folder: str, durable: bool) -> None:
    path = put(folder, "a", b"old")
    replace_file(path, b"new" * 100_000, durable=durable)
    assert read_regular(path, 1 << 20)[0] == b"new" * 100_000
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.listdir(folder) == ["a"]


def test_a_file_that_a_reader_has_open_is_replaced(folder: str) -> None:
    path = put(folder, "a", b"old")
    with open(path, "rb") as reader:
        Timer(0.05, reader.close).start()
        replace_file(path, b"new")
    assert read_regular(path, 10)[0] == b"new"


def test_a_folder_that_is_not_there_is_told_by_the_name_of_the_file(folder: str) -> None:
    path = os.path.join(folder, "nowhere", "report.html")
    with pytest.raises(FileNotFoundError) as raised:
        replace_file(path, b"new")
    assert raised.value.filename == path


def test_a_link_is_replaced_and_not_followed(folder: str) -> None:
    path = linked(folder)
    replace_file(path, b"new")
    assert not os.path.islink(path)
    assert read_regular(os.path.join(folder, "target"), 10)[0] == b"x"


def test_a_write_that_fails_keeps_the_old_file(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(folder, "a", b"old")

    def broken(*_arguments: object) -> int:
        raise OSError(28, "No space left on device")

    for name in ("open", "write", "fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, broken)
            with pytest.raises(OSError, match="No space left") as raised:
                replace_file(path, b"new")
        assert error_text(raised.value) == path + ": No space left on device"
        assert read_regular(path, 10)[0] == b"old"
        assert os.listdir(folder) == ["a"]


def test_why_a_folder_cannot_be_written_to(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (write_problem(folder), os.listdir(folder)) == ("", [])
    assert write_problem(os.path.join(folder, "none")) == "No such file or directory"

    def full(*_arguments: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert (write_problem(folder), os.listdir(folder)) == ("No space left on device", [])


def test_a_draft_is_known_by_its_name(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(os, "replace", lambda draft, _path: seen.append(draft))
    replace_file(os.path.join(folder, "use-x.json"), b"")
    assert is_draft(os.path.basename(seen[0]))


def test_other_names_are_no_drafts() -> None:
    cases = ["use-x.json", "notes.tmp", "a.1.tmp", "a.x.abcd1234.tmp", "a.1.abc.tmp", ".tmp", ""]
    assert [name for name in cases if is_draft(name)] == []


def test_an_os_error_is_shown_without_its_number() -> None:
    cases = [
        (FileNotFoundError(2, "No such file or directory", "a"), "a: not there"),
        (FileNotFoundError(2, "No such file or directory"), "not there"),
        (PermissionError(13, "Permission denied", b"a"), "a: Permission denied"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (Unreadable("a: not a regular file"), "a: not a regular file"),
    ]
    assert [(error, words) for error, words in cases if error_text(error) != words] == []


@posix("says that a name is too long")
def test_a_file_that_cannot_be_opened_is_named_once(folder: str) -> None:
    path = os.path.join(folder, "a" * 300)
    with pytest.raises(Unreadable) as caught:
        read_regular(path, 10)
    assert str(caught.value) == path + ": File name too long"
