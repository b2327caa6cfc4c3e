"""A fork behaves like the process that it replaces, and the guard works in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import forks
from tests.forks import Completed
from tests.guards import REAL_HOME
from tests.project import PLUGIN_ROOT, Project

pytestmark = pytest.mark.skipif(not forks.IS_SUPPORTED, reason="forks are used on Linux only")
PROGRAMS = {
    "everything": "import os,sys;print(sys.argv[1:],os.getcwd(),sorted(os.environ),sys.flags,__name__,sys.path)",
    "input": "import sys;sys.stdout.write(sys.stdin.read().upper())",
    "bytes": "import sys;sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])",
    "the streams": "import sys\nfor s in (sys.stdin,sys.stdout,sys.stderr): print(s.encoding,s.errors,s.line_buffering,s.fileno())",
    "a number": "import sys;print('left behind');sys.exit(7)",
    "a text": "import sys;sys.exit('no')",
    "no number": "import sys;sys.exit()",
    "at once": "import os;os.write(1,b'seen');os._exit(3)",
    "a signal": "import os;os.kill(os.getpid(),9)",
    "at the end": "import atexit;atexit.register(print,'last')",
    "a thread": "import threading,time;threading.Thread(target=lambda:(time.sleep(.05),print('late'))).start()",
    "a session": "import os;print(os.getsid(0) == os.getpid())",
    "open files": "import os;print(sorted(n for n in os.listdir('/proc/self/fd') if int(n) < 3))",
    "no randomness of the server": "import random,tempfile;print(random.random() != 0, tempfile.gettempdir())",
    "signals": "import signal;print([signal.getsignal(n) for n in (13,17,15)])",
}


def run_both(
    project: Project, script: str, options: tuple[str, ...], stdin: bytes = b""
) -> tuple[Completed, Completed]:
    """Run a script in a fork and as a process; return how each ended."""
    env = project.environment()
    words = [script, "one", "zwö"]
    fork = forks.server(PLUGIN_ROOT, options).run(words, stdin, project.root, env, 60)
    done = subprocess.run(
        [sys.executable, *options, *words],
        input=stdin,
        capture_output=True,
        cwd=project.root,
        env=env,
        check=False,
        start_new_session=True,
    )
    return fork, Completed(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("options", [(), ("-I", "-S")], ids=["plain", "isolated"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_fork_is_like_a_process(
    project: Project, tmp_path: Path, program: str, options: tuple[str, ...]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(program, encoding="utf-8")
    fork, process = run_both(project, str(script), options, "ä b\n".encode() * 100_000)
    assert fork == process


def test_an_exception_has_its_traceback_and_exit_code(project: Project, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def f():\n    raise KeyError('k')\nf()\n", encoding="utf-8")
    fork, process = run_both(project, str(script), ())
    assert fork.returncode == process.returncode == 1
    assert fork.stderr.splitlines()[-1] == process.stderr.splitlines()[-1] == b"KeyError: 'k'"


def test_two_forks_draw_different_numbers(project: Project, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import random,os;print(random.random(), os.urandom(8))", encoding="utf-8")
    runs = {run_both(project, str(script), ("-I", "-S"))[0].stdout for _ in range(3)}
    assert len(runs) == 3


@pytest.mark.parametrize(
    "forbidden",
    [
        "open(os.path.join(%r, 'memory-test'), 'w')" % REAL_HOME,
        "socket.socket().connect(('192.0.2.1', 80))",
        "subprocess.run(['true'], env={'HOME': %r})" % REAL_HOME,
    ],
    ids=["home", "network", "process"],
)
def test_the_guard_works_in_a_fork(project: Project, tmp_path: Path, forbidden: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os,socket,subprocess\ntry:\n    %s\nexcept PermissionError: pass\n" % forbidden,
        encoding="utf-8",
    )
    with pytest.raises(AssertionError, match=r"refused in a fork: .*a test "):
        forks.server(PLUGIN_ROOT, ("-I", "-S")).run(
            [str(script)], b"", project.root, project.environment(), 60
        )
    assert not os.path.exists(os.path.join(REAL_HOME, "memory-test"))


def test_a_fork_that_takes_too_long_is_killed(project: Project, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os,time;print(os.getpid(), flush=True);time.sleep(100)", encoding="utf-8")
    server = forks.server(PLUGIN_ROOT, ("-I", "-S"))
    with pytest.raises(subprocess.TimeoutExpired):
        server.run([str(script)], b"", project.root, project.environment(), 0.3)
    script.write_text("print('next')", encoding="utf-8")
    assert server.run([str(script)], b"", project.root, project.environment(), 60).stdout == b"next\n"


def test_a_variable_that_python_reads_at_start_needs_a_process(project: Project) -> None:
    assert forks.is_like_a_process(project.environment(MEMORY_DISABLE="1"))
    for name in ("PYTHONPATH", "LC_ALL", "TZ", "LD_PRELOAD"):
        assert not forks.is_like_a_process(project.environment(**{name: "x"}))
    assert not forks.is_like_a_process(project.environment(LANG="C"))
    assert not forks.is_like_a_process(project.environment(LANG=None))


def test_a_save_of_a_test_leaves_what_the_command_leaves(make_project: Callable[..., Project]) -> None:
    quick, command = make_project(), make_project()
    for title, category in (
        ("Use Postgres", "decision"),
        ("No tabs", "preference"),
        ("No tabs, ever", "preference"),
    ):
        more = ("--file", "src/a.py", "--asked-as", "what about " + title)
        words = ("--category", category, "--title", title, "--body", title + ".", *more)
        assert (
            quick.save(title, title + ".", *more, category=category)
            == command.cli("save", *words, "--json").json["id"]
        )
    assert files_of(quick) == files_of(command)
    for line in ("list", "review", "search postgres"):
        outputs = [one.cli(*line.split()).stdout.replace(one.root, "") for one in (quick, command)]
        assert sorted(outputs[0].splitlines()) == sorted(outputs[1].splitlines())
    assert quick.prompt("Do we use Postgres?").context == command.prompt("Do we use Postgres?").context != ""


def files_of(project: Project) -> dict[str, int]:
    """Return the sizes of all files by path, without what names of files say about the folder."""
    folder = os.path.dirname(project.root)
    paths = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    return {
        re.sub("-[0-9a-f]{12,}", "", os.path.relpath(path, folder)): os.path.getsize(path) for path in paths
    }
