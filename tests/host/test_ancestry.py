"""The parent processes of this one, as read from `/proc` and `ps`."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from memory_plugin.host import ancestry
from memory_plugin.host.ancestry import Ancestor, boot_id, finder, has_proc, parse_ps, walk

PROGRAM = "print(flush=True); input()"
proc = pytest.mark.skipif(not has_proc(), reason="needs /proc")


def ancestor_named(name: str, *words: str) -> Ancestor:
    """Return a process of that name."""
    return Ancestor(7, 1, "1", name, terminal=False, words=words)


@pytest.mark.parametrize(
    ("name", "words", "client"),
    [
        pytest.param("claude", (), True, id="by its name"),
        pytest.param("MainThread", ("/opt/bin/claude", "-p"), True, id="by its path"),
        pytest.param(
            "node", ("node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"), True, id="a script"
        ),
        pytest.param("node", ("node", "/usr/local/bin/claude"), True, id="a linked script"),
        pytest.param("node", ("node", "/srv/app.js"), False, id="another script"),
        pytest.param("vim", ("vim", "/src/claude-code/cli.js"), False, id="an editor with that file"),
        pytest.param("python3", ("python3", "claude"), False, id="another program"),
        pytest.param("bash", (), False, id="a shell"),
    ],
)
def test_what_looks_like_the_client(name: str, words: tuple[str, ...], *, client: bool) -> None:
    assert ancestor_named(name, *words).is_client == client


@proc
def test_this_process_and_those_above_it() -> None:
    chain = list(walk())
    assert [process.pid for process in chain[:2]] == [os.getpid(), os.getppid()]
    assert all(below.parent == above.pid for below, above in zip(chain, chain[1:]))
    assert chain[0].folder() == os.path.realpath(os.getcwd())


@proc
@pytest.mark.parametrize("name", ["plain", "a b", "x) 1 (y", "claude"])
def test_a_name_may_hold_any_character(tmp_path: os.PathLike[str], name: str) -> None:
    path = os.path.join(tmp_path, name)
    os.symlink(os.path.realpath(sys.executable), path)
    env = {"CLAUDECODE": "", "HOME": "/h"}
    with subprocess.Popen(
        [path, "-I", "-S", "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    ) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()  # by now it is that program
            found = finder()(child.pid)
            assert found is not None
            assert (found.name, found.parent, found.is_client) == (name, os.getpid(), name == "claude")
            assert (found.environment(), found.was_started_by_client) == (env, True)
        finally:
            child.kill()


@proc
def test_ps_tells_the_same_processes() -> None:
    by_ps = ancestry._read_ps().get
    if by_ps(os.getpid()) is None:
        pytest.skip("no ps")
    for expected in list(walk())[:4]:
        found = by_ps(expected.pid)
        assert found is not None
        assert (found.parent, found.terminal) == (expected.parent, expected.terminal)
        assert found.start


PS = """
    1     0 ??       Sun Nov 22 07:58:29 2026     /sbin/launchd
  123     1 ttys001  Sun Nov 22 08:00:00 2026     -zsh
  200   123 ttys001  Sun Nov  2 08:00:01 2026     /opt/homebrew/bin/claude --resume
  x y z
  201   200 ??       Sun Nov 22
"""


def test_the_output_of_ps_is_taken_apart() -> None:
    found = parse_ps(PS)
    assert sorted(found) == [1, 123, 200]
    client = found[200]
    assert (client.parent, client.start, client.name, client.terminal) == (
        123,
        "Sun Nov 2 08:00:01 2026",
        "claude",
        True,
    )
    assert client.is_client
    assert found[123].name == "zsh"
    assert found[1].is_init
    assert not found[1].terminal


def test_without_proc_and_ps_there_is_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ancestry, "_PROC", "/nowhere")
    monkeypatch.setattr(ancestry, "_PS", ("/nowhere/ps",))
    assert list(walk()) == []


def test_windows_has_no_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ancestry, "os", SimpleNamespace(name="nt", getpid=os.getpid, path=os.path))
    assert not ancestry.has_proc()
    assert list(walk()) == []


def test_a_chain_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ancestry, "has_proc", lambda: True)
    monkeypatch.setattr(ancestry, "_read_stat", lambda pid: Ancestor(pid, pid + 1, "1", "x", terminal=False))
    assert len(list(walk())) == 64


@proc
def test_a_run_of_the_machine_has_one_id() -> None:
    assert len(boot_id()) == 36
    assert boot_id() == boot_id()
