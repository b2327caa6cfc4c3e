"""Hooks and commands in Python for Windows, which Wine runs; only with MEMORY_TEST_WINDOWS_PYTHON, the path of its python.exe."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platforms.test_simulated import ASK, MEMORY, SAVE, Machine, missing
from tests.project import PLUGIN_ROOT

PYTHON = os.environ.get("MEMORY_TEST_WINDOWS_PYTHON", "")
QUIET = {
    "WINEDEBUG": "-all",
    "WINEDLLOVERRIDES": "mscoree,mshtml=",
    "LC_ALL": "C.UTF-8",
}  # no traces, .NET and browser
pytestmark = pytest.mark.slow


def windows(path: Path) -> str:
    """Return a path as programs for Windows see it."""
    return "Z:" + str(path).replace("/", "\\")


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield the environment of Wine, whose registry and drive C are in a folder of the test; its server stays until the end."""
    if not PYTHON or shutil.which("wine") is None:
        missing("needs Wine and MEMORY_TEST_WINDOWS_PYTHON (tests/platforms/install_windows_python.sh)")
    prefix = tmp_path_factory.mktemp("wine")
    environment = {**os.environ, **QUIET, "HOME": str(prefix), "WINEPREFIX": str(prefix / "prefix")}

    def run(*words: str) -> None:
        subprocess.run(["wine", *words], env=environment, capture_output=True, check=False, timeout=240)

    run("winecfg", "-v", "win10")
    yield environment
    run("wineboot", "-k")


class WindowsMachine(Machine):
    """A project and a config folder, both on drive Z; all else of the account is Wine's."""

    def __init__(self, folder: Path, wine: dict[str, str]) -> None:
        super().__init__(folder)
        config = {"CLAUDE_CONFIG_DIR": windows(self.home / ".claude")}
        self.env = {name: wine[name] for name in ("PATH", "HOME", "WINEPREFIX", *QUIET)} | config

    def python(self, script: str, *words: str, stdin: str = "") -> str:
        """Run one of our scripts; return its output. It must succeed."""
        path = windows(Path(PLUGIN_ROOT, script))
        words = tuple(word.replace(str(self.project), windows(self.project)) for word in words)
        done = subprocess.run(
            ["wine", PYTHON, "-I", "-S", path, *words], env=self.env, cwd=self.project, input=stdin.encode(),
            capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return done.stdout.decode("utf-8", "replace")

    def hook(self, script: str, event: str, **fields: object) -> str:
        """Run a hook with the project's path as Windows writes it."""
        return super().hook(script, event, **{"cwd": windows(self.project), **fields})


def put_postgres(machine: Machine) -> None:
    """Write a memory into the project with a byte order mark and CR LF, as an editor of Windows does."""
    folder = machine.project / ".claude" / "memory" / "decisions"
    folder.mkdir(parents=True)
    text = json.dumps({**MEMORY, "asked_as": ["which database does billing use"]}, indent=2)
    (folder / "postgres.json").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())


@pytest.fixture
def machine(tmp_path: Path, wine: dict[str, str]) -> WindowsMachine:
    """Return a new machine."""
    return WindowsMachine(tmp_path, wine)


def test_a_memory_is_saved_recalled_and_explained(machine: WindowsMachine) -> None:
    machine.check()
    assert "Billing runs on Postgres" in machine.hook("session_start.py", "SessionStart", source="startup")
    assert "FAIL" not in machine.memory("doctor")


def test_the_first_commands_of_a_user_write_utf_8_and_line_feeds(machine: WindowsMachine) -> None:
    save = ("--category", "decision", "--title", "Zahlungen über Postgres", "--body", "Größer, 日本.")
    machine.memory("save", *save, "--asked-as", "which database does billing use")
    machine.prompt()
    said = {words: machine.memory(*words.split()) for words in ("list", "why", "search Zahlungen")}
    assert [words for words, text in said.items() if "Zahlungen über Postgres" not in text] == []
    assert "日本" in said["search Zahlungen"]
    assert machine.memory("review") == "Nothing is pending.\n"
    said["status"] = machine.memory("status")
    assert [words for words, text in said.items() if "\r" in text] == []


def test_a_git_in_the_current_folder_is_not_run(machine: WindowsMachine) -> None:
    put_postgres(machine)
    (machine.project / "git.bat").write_text("@echo run > trapped\r\n", encoding="utf-8")
    assert "Billing runs on Postgres" in machine.memory("review")
    assert not (machine.project / "trapped").exists()


def test_paths_of_windows_at_files_and_guards(machine: WindowsMachine) -> None:
    ports = ("--title", "Ports are fixed", "--body", "Below 1024, never.", "--file", "src/port.py")
    machine.memory("save", "--category", "constraint", *ports)
    guard = ("--title", "Old migrations stay", "--body", "Add a new one.", "--guard-file", "db/*.sql")
    machine.memory("save", "--category", "constraint", *guard)
    read = {"tool_name": "Read", "tool_input": {"file_path": windows(machine.project / "src" / "port.py")}}
    assert "Below 1024" in machine.hook("pre_tool_use.py", "PreToolUse", **read)
    edit = {"tool_name": "Write", "tool_input": {"file_path": windows(machine.project / "DB" / "1.sql")}}
    payload = {"session_id": "s1", "hook_event_name": "PreToolUse", "cwd": windows(machine.project), **edit}
    answer = json.loads(machine.python("hooks/pre_tool_use.py", stdin=json.dumps(payload)))
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_failure_recalls(machine: WindowsMachine) -> None:
    machine.memory(*SAVE, "--asked-as", "psycopg2.OperationalError: connection refused")
    error = "Exit code 1\npsycopg2.OperationalError: connection refused"
    failed = {"tool_name": "Bash", "tool_input": {"command": "python manage.py migrate"}, "error": error}
    assert "row-level security" in machine.hook("post_tool_use_failure.py", "PostToolUseFailure", **failed)


def test_what_a_pull_brings_waits_for_the_user(machine: WindowsMachine) -> None:
    put_postgres(machine)
    assert machine.prompt() == ""
    machine.env["CLAUDECODE"] = "1"
    with pytest.raises(AssertionError, match="the user must approve this"):
        machine.memory("accept", "postgres")
    del machine.env["CLAUDECODE"]
    machine.memory("accept", "postgres")
    assert "row-level security" in machine.prompt(ASK + " ")


def test_a_reply_is_scored(machine: WindowsMachine) -> None:
    transcript = machine.home / ".claude" / "projects" / "p" / "s1.jsonl"
    transcript.parent.mkdir(parents=True)
    reply = {
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Great question! It is Postgres."}],
    }
    prompt = {"role": "user", "content": ASK}
    rows = [
        {"type": message["role"], "uuid": message["role"], "promptId": "p1", "message": message}
        for message in (prompt, reply)
    ]
    transcript.write_text("".join(json.dumps(row) + "\r\n" for row in rows), encoding="utf-8", newline="")
    machine.hook("stop.py", "Stop", transcript_path=windows(transcript), stop_hook_active=False)
    scores = machine.home / ".claude" / "lcars" / "memory" / "scores.jsonl"
    assert json.loads(scores.read_text(encoding="utf-8"))["padding_count"] == 1
