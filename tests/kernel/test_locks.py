"""Locks: held by one process, released when it ends, and awaited for a limited time."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from time import monotonic

import pytest

from memory_plugin.kernel import files as locks
from memory_plugin.kernel.context import Ledger
from memory_plugin.kernel.files import Busy, FileLock
from memory_plugin.kernel.sqlite import SqliteError, open_database
from tests.project import HAS_PROC, PLUGIN_ROOT, Project, posix

HOLDER = """
import sys
sys.path.insert(0, sys.argv[1])
from memory_plugin.kernel.files import FileLock
with FileLock(sys.argv[2], 1.0):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(project: Project, path: str) -> subprocess.Popen[bytes]:
    """Return a process that holds the lock until its standard input ends."""
    command = [sys.executable, "-c", HOLDER, os.path.join(PLUGIN_ROOT, "scripts"), path]
    process = subprocess.Popen(
        command, env=project.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline().rstrip() == b"held"
    return process


def test_a_wait_for_a_busy_lock_ends_in_busy(project: Project) -> None:
    path = os.path.join(project.root, "lock")
    process = holder(project, path)
    start = monotonic()
    with pytest.raises(Busy, match=r"^locked by another process$"), FileLock(path, 0.1):
        pass
    assert 0.1 <= monotonic() - start < 5
    process.communicate()
    with FileLock(path, 0.1):
        pass


def test_a_killed_holder_frees_the_lock(project: Project) -> None:
    path = os.path.join(project.root, "lock")
    process = holder(project, path)
    process.kill()
    process.communicate()
    with FileLock(path, 0.5):
        pass


@posix("has modes and links")
def test_the_lock_file_is_private_and_no_link_is_followed(project: Project) -> None:
    path = os.path.join(project.root, "lock")
    with FileLock(path, 0.1):
        assert os.stat(path).st_mode & 0o777 == 0o600
    os.unlink(path)
    os.symlink(os.path.join(project.root, "elsewhere"), path)
    with pytest.raises(OSError, match="symbolic"), FileLock(path, 0.1):
        pass
    assert not os.path.exists(os.path.join(project.root, "elsewhere"))


@pytest.mark.skipif(not HAS_PROC, reason="looks at /proc")
def test_no_folder_is_an_error_and_no_handle_is_left_open(project: Project) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(FileNotFoundError), FileLock(os.path.join(project.root, "no", "lock"), 0.1):
            pass
    with (
        FileLock(os.path.join(project.root, "lock"), 0.1),
        pytest.raises(Busy),
        FileLock(os.path.join(project.root, "lock"), 0.0),
    ):
        pass
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL])
def test_a_file_system_without_locks_is_used_without_them(
    project: Project, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(locks, "_try_lock", failing(number))
    with FileLock(project.root + "/lock", 0.1), FileLock(project.root + "/lock", 0.1):
        pass


@pytest.mark.parametrize("name", ["index", "50 % of #1" + "?" * (os.name == "posix")], ids=["plain", "marks"])
def test_a_database_on_a_file_system_without_locks_is_used_without_them(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(locks, "_try_range_lock", failing(errno.ENOLCK))
    path = os.path.join(project.root, name)
    with closing(open_database(path)) as one, closing(open_database(path)) as other:
        one.execute("BEGIN EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
    assert os.path.exists(path)


def test_a_database_is_locked_where_locks_are(project: Project) -> None:
    path = os.path.join(project.root, "index")
    with closing(open_database(path)) as one, closing(open_database(path)) as other:
        one.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SqliteError, match="locked"):
            other.execute("BEGIN EXCLUSIVE")


def test_another_error_is_not_a_busy_lock(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_try_lock", failing(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as raised, FileLock(project.root + "/lock", 5):
        pass
    assert not isinstance(raised.value, Busy)


def test_a_ledger_is_written_without_locks(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_try_lock", failing(errno.ENOLCK))
    ledger = Ledger(project.root, "events")
    assert [ledger.append("s", "p", {"n": n}) for n in range(3)] == [None] * 3


def failing(number: int) -> Callable[[int], None]:
    def fail(_handle: int) -> None:
        raise OSError(number, os.strerror(number))

    return fail
