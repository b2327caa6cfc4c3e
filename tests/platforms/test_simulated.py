"""What other systems lack or do differently, simulated on Linux: a memory is saved, recalled by a prompt and explained all the same.

Each simulation wraps the interpreter that runs hooks and commands. Those that need root or FUSE are skipped without them, unless
MEMORY_TEST_PLATFORMS=required.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.project import PLUGIN_ROOT

Form = Literal["NFC", "NFD"]
ASK = "which database does billing use, and why?"
SAVE = (
    "save",
    "--category",
    "decision",
    "--title",
    "Billing runs on Postgres",
    "--body",
    "For its row-level security.",
)
MEMORY = {
    "title": "Billing runs on Postgres",
    "category": "decision",
    "content": {"decision": "For row-level security."},
}
NO_FCNTL = """
import subprocess, types  # subprocess first: it looks for msvcrt, too
sys.modules["fcntl"] = None
held = types.ModuleType("msvcrt")
held.LK_NBLCK = 2
held.locking = lambda handle, mode, size: os.lockf(handle, os.F_TLOCK, size)
sys.modules["msvcrt"] = held
"""
NO_FTS5 = """
import _sqlite3
class Connection(_sqlite3.Connection):
    def execute(self, text, *more):
        if "fts5" in text.lower() and "create" in text.lower():
            raise _sqlite3.OperationalError("no such module: fts5")
        return super().execute(text, *more)
_connect = _sqlite3.connect
_sqlite3.connect = lambda *args, **named: _connect(*args, **{"factory": Connection, **named})
"""
WRAPPED = "import os, sys\n%s\nimport runpy\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"


def missing(what: str) -> None:
    """Skip the test, or fail it if all simulations are required."""
    if os.environ.get("MEMORY_TEST_PLATFORMS") == "required":
        pytest.fail(what)
    pytest.skip(what)


class Machine:
    """A home and a project; `prefix` starts each process, `code` runs before each script."""

    def __init__(self, folder: Path, prefix: tuple[str, ...] = (), code: str = "") -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.prefix, self.code = prefix, code
        for path in (self.home, self.project / ".git"):
            path.mkdir(parents=True)
        self.env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.home), "LANG": "C.UTF-8"}

    def python(self, script: str, *words: str, stdin: str = "") -> str:
        """Run one of our scripts as hooks are run; return its output. It must succeed."""
        wrapped = ("-c", WRAPPED % self.code) if self.code else ()
        command = [
            *self.prefix,
            sys.executable,
            "-I",
            "-S",
            *wrapped,
            os.path.join(PLUGIN_ROOT, script),
            *words,
        ]
        done = subprocess.run(
            command, env=self.env, cwd=self.project, input=stdin, capture_output=True, encoding="utf-8", check=False, timeout=60
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    def memory(self, *words: str) -> str:
        """Run the command line."""
        return self.python("scripts/memory.py", *words, "--root", str(self.project))

    def hook(self, script: str, event: str, **fields: object) -> str:
        """Run a hook; return the text for Claude, or an empty one."""
        payload = {
            "session_id": "s1",
            "prompt_id": "p1",
            "hook_event_name": event,
            "cwd": str(self.project),
            **fields,
        }
        output = self.python("hooks/" + script, stdin=json.dumps(payload))
        answer: dict[str, Any] = json.loads(output)["hookSpecificOutput"] if output else {}
        return str(answer.get("additionalContext", ""))

    def prompt(self, text: str = ASK) -> str:
        """Run the hook of a prompt."""
        return self.hook("user_prompt_submit.py", "UserPromptSubmit", prompt=text)

    def check(self) -> None:
        """Save a memory, recall it, and look the decision up."""
        self.memory(*SAVE, "--asked-as", "which database does billing use")
        assert "row-level security" in self.prompt()
        assert "Billing runs on Postgres" in self.memory("why")
        assert "Billing runs on Postgres" in self.memory("list")


def in_namespace(*mounts: str) -> tuple[str, ...]:
    """Return the start of a command that sees these mounts; skip where nobody may mount."""
    script = " && ".join((*mounts, 'exec "$@"'))
    prefix = ("unshare", "--mount", "sh", "-c", script, "sh")
    if (
        shutil.which("unshare") is None
        or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
    ):
        missing("mounting needs root and unshare")
    return prefix


def test_without_proc_and_ps(tmp_path: Path) -> None:
    Machine(tmp_path, in_namespace("mount -t tmpfs none /proc")).check()


def bsd_ps(tmp_path: Path, parent: str) -> tuple[str, ...]:
    """Return the start of a command that finds no /proc, and the `ps` of macOS, in which our process descends from `parent`."""
    listing = tmp_path / "ps"
    head = "    1     0 ??       Mon Nov 23 08:00:00 2026     /sbin/launchd\n"
    listing.write_text(
        "#!/bin/sh\nprintf '%s' '" + head + "'\n"
        "printf ' 9999     1 ttys001  Mon Nov 23 09:00:00 2026     %s\\n' '" + parent + "'\n"
        "printf '%5d  9999 ttys001  Mon Nov 23 09:00:01 2026     python3 -I -S memory.py\\n' $PPID\n",
        encoding="utf-8",
    )
    listing.chmod(0o755)
    return in_namespace("mount --bind %s /bin/ps" % listing, "mount -t tmpfs none /proc")


def test_with_the_ps_of_macos(tmp_path: Path) -> None:
    Machine(tmp_path, bsd_ps(tmp_path, "-zsh")).check()


@pytest.mark.parametrize(
    "client", ["/opt/homebrew/bin/claude --resume", "node /usr/lib/claude-code/cli.js", "codex"]
)
def test_below_a_client_nothing_is_accepted(tmp_path: Path, client: str) -> None:
    machine = Machine(tmp_path, bsd_ps(tmp_path, client))
    with pytest.raises(AssertionError, match="the user must approve this"):
        machine.memory("accept", "--all")


@pytest.mark.parametrize("code", [NO_FCNTL, NO_FTS5], ids=["no-fcntl", "no-fts5"])
def test_with_a_python_that_lacks(tmp_path: Path, code: str) -> None:
    Machine(tmp_path, code=code).check()


@contextmanager
def case_folding(folder: Path) -> Iterator[Path]:
    """Mount a folder that ignores the case of names."""
    if importlib.util.find_spec("fuse") is None or not os.path.exists("/dev/fuse"):
        missing("a folder that ignores case needs fusepy, libfuse2 and /dev/fuse")
    stored, mounted = folder / "stored", folder / "mounted"
    stored.mkdir()
    mounted.mkdir()
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "case_folding.py")
    process = subprocess.Popen(
        [sys.executable, program, str(stored), str(mounted)], stderr=subprocess.DEVNULL
    )
    with ExitStack() as stack:
        stack.callback(process.wait, timeout=10)
        stack.callback(process.terminate)
        stack.callback(subprocess.run, ["umount", "-l", str(mounted)], check=False, capture_output=True)
        end = time.monotonic() + 10
        while not os.path.ismount(mounted):
            if process.poll() is not None or time.monotonic() > end:
                missing("FUSE does not mount")
            time.sleep(0.05)
        yield mounted


def test_in_a_folder_that_ignores_case(tmp_path: Path) -> None:
    with case_folding(tmp_path) as folder:
        machine = Machine(folder)
        machine.check()
        machine.project = folder / "PROJECT"  # as a shell may spell it
        machine.hook("session_start.py", "SessionStart", source="startup")
        assert "row-level security" in machine.hook(
            "user_prompt_submit.py", "UserPromptSubmit", prompt=ASK, session_id="s2"
        )


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("touched", ["NFC", "NFD"])
def test_a_file_is_named_in_either_form_of_its_accents(tmp_path: Path, stored: Form, touched: Form) -> None:
    machine = Machine(tmp_path)
    name = "src/Gebühren.py"
    body = ("--body", "In cents, never in euros.", "--file", unicodedata.normalize(stored, name))
    machine.memory("save", "--category", "constraint", "--title", "Fees are integers", *body)
    call = {"tool_name": "Read", "tool_input": {"file_path": unicodedata.normalize(touched, name)}}
    assert "In cents" in machine.hook("pre_tool_use.py", "PreToolUse", **call)


def test_a_file_with_the_line_ends_of_windows(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    folder = machine.project / ".claude" / "memory" / "decisions"
    folder.mkdir(parents=True)
    text = json.dumps({**MEMORY, "asked_as": ["which database does billing use"]}, indent=2)
    (folder / "postgres.json").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    settings = machine.home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_bytes(b'{\r\n  "memory": {\r\n    "retrieval": {"max_inject": 1}\r\n  }\r\n}\r\n')
    machine.memory("accept", "postgres")
    assert "row-level security" in machine.prompt()
    machine.memory("config", "set", "retrieval.max_inject", "2")
    assert json.loads(settings.read_bytes()) == {"memory": {"retrieval": {"max_inject": 2}}}


def test_hooks_run_where_python_is_only_called_python(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.memory(*SAVE, "--asked-as", "which database does billing use")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").symlink_to(os.path.realpath(sys.executable))
    with open(os.path.join(PLUGIN_ROOT, "hooks", "hooks.json"), encoding="utf-8") as file:
        command = json.load(file)["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
    payload = {"session_id": "s1", "prompt_id": "p1", "prompt": ASK, "cwd": str(machine.project)}
    env = {
        **machine.env,
        "PATH": str(programs),
        "CLAUDE_PLUGIN_ROOT": PLUGIN_ROOT,
        "CLAUDE_PROJECT_DIR": str(machine.project),
    }
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=env,
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    assert b"row-level security" in done.stdout
