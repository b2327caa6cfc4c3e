"""`memory config statusline`: the line, its cost, and its entry in the user's settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from memory_plugin.hooks import session_events
from tests.project import PLUGIN_ROOT, SESSION, Project, Run

BODY = "The billing service stores its invoices in Postgres 15."


def settings(project: Project) -> dict[str, object]:
    with open(project.settings_path, encoding="utf-8") as file:
        value: dict[str, object] = json.load(file)
    return value


def run_status_line(project: Project) -> Run:
    """Run the settings' command as the client does: in a shell, with the session on standard input."""
    line = settings(project)["statusLine"]
    assert isinstance(line, dict)
    payload = {
        "session_id": SESSION,
        "cwd": "/",
        "workspace": {"project_dir": project.root, "current_dir": project.root},
    }
    return project.process(["sh", "-c", str(line["command"])], json.dumps(payload).encode())


def test_the_line_counts_memories_and_what_claude_was_told(project: Project) -> None:
    project.save("Use Postgres for the billing database", BODY)
    assert project.cli("config", "statusline", "install").returncode == 0
    assert run_status_line(project) == Run(0, "1 memory\n", "")
    project.prompt("Which database do we use for the billing service?")
    assert run_status_line(project).stdout == "1 memory \u00b7 1 shown\n"
    project.save("Never deploy on Friday", "Not after noon.", inside=True)
    assert run_status_line(project).stdout == "1 memory \u00b7 1 shown \u00b7 1 pending\n"


def test_counts_are_shown_before_installation(project: Project) -> None:
    project.save("Use Postgres for the billing database", BODY)
    assert project.cli("config", "statusline").stdout == "1 memory\n"


def test_an_existing_status_line_is_shown_first_and_restored(project: Project) -> None:
    before = {
        "statusLine": {"type": "command", "command": 'echo "it\'s mine"; cat >/dev/null', "padding": 0},
        "model": "opus",
    }
    with open(project.settings_path, "w", encoding="utf-8") as file:
        json.dump(before, file)
    for _ in range(2):  # a second install keeps the user's own line, not ours
        assert project.cli("config", "statusline", "install").returncode == 0
    assert settings(project)["model"] == "opus"
    assert run_status_line(project).stdout == "it's mine \u00b7 0 memories\n"
    with open(os.path.join(project.state, "statusline", "before.json"), encoding="utf-8") as file:
        assert json.load(file) == {
            "before": before["statusLine"]
        }  # earlier versions wrote and read it like this
    assert project.cli("config", "statusline", "remove").returncode == 0
    assert settings(project) == before
    assert not os.path.exists(os.path.join(project.state, "statusline"))


def test_removal_leaves_nothing_if_there_was_no_line_before(project: Project) -> None:
    project.cli("config", "statusline", "install")
    project.cli("config", "statusline", "remove")
    assert "statusLine" not in settings(project)
    assert "nothing was changed" in project.cli("config", "statusline", "remove").stdout


def test_another_program_s_status_line_is_not_removed(project: Project) -> None:
    with open(project.settings_path, "w", encoding="utf-8") as file:
        json.dump({"statusLine": {"type": "command", "command": "echo x"}}, file)
    project.cli("config", "statusline", "remove")
    assert settings(project)["statusLine"] == {"type": "command", "command": "echo x"}


def test_damaged_settings_are_not_touched(project: Project) -> None:
    with open(project.settings_path, "w", encoding="utf-8") as file:
        file.write("{")
    run = project.cli("config", "statusline", "install")
    assert run.returncode == 1
    assert "fix the file first" in run.stderr
    with open(project.settings_path, encoding="utf-8") as file:
        assert file.read() == "{"


def test_installing_inside_the_client_needs_approval(project: Project) -> None:
    run = project.cli("config", "statusline", "install", inside=True)
    assert run.returncode == 1
    assert not os.path.exists(project.settings_path)


def test_session_start_updates_the_script(project: Project) -> None:
    project.cli("config", "statusline", "install")
    path = os.path.join(project.state, "statusline", "line.sh")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(PLUGIN_ROOT, "/nowhere"))
    assert run_status_line(project).stdout.startswith("memory: the plugin is gone")
    project.start()
    with open(path, encoding="utf-8") as file:
        assert file.read() == text


def test_a_script_that_cannot_be_replaced_is_logged(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.cli("config", "statusline", "install")
    problems: list[str] = []
    paths = SimpleNamespace(state=lambda *names: os.path.join(project.state, *names))
    monkeypatch.setattr(session_events, "refresh_script", Mock(side_effect=OSError(28, "No space left")))
    event: Any = SimpleNamespace(paths=paths, log=problems.append)
    session_events._refresh_status_script(event)
    assert problems == ["the status line was not refreshed: No space left"]


def test_any_input_gives_one_line_or_none(project: Project) -> None:
    script = os.path.join(PLUGIN_ROOT, "scripts", "memory.py")
    odd = b'{"workspace": 3, "session_id": {}, "cwd": "a\\u0000"}'
    for data, line in ((b"", ""), (b"[]", "memory\n"), (b"{", ""), (odd, "memory\n"), (b"\xff" * 100, "")):
        run = project.process([sys.executable, "-I", "-S", script, "statusline"], data)
        assert (run.returncode, run.stderr) == (0, "")
        assert run.stdout == line


def test_it_imports_no_more_than_a_skipped_prompt(project: Project) -> None:
    """Imports dominate its run time, so it imports no module that the prompt hook does not import."""
    project.save("Use Postgres for the billing database", BODY)
    project.cli("config", "statusline", "install")

    def imported(*words: str, stdin: bytes) -> set[str]:
        command = [sys.executable, "-X", "importtime", "-I", "-S", *words]
        result = subprocess.run(
            command, input=stdin, capture_output=True, check=True, env=project.environment(), cwd=project.root
        )
        return {
            line.rpartition("|")[2].strip() for line in result.stderr.decode().splitlines() if "|" in line
        }

    line = imported(os.path.join(PLUGIN_ROOT, "scripts", "memory.py"), "statusline", stdin=b"{}")
    event = json.dumps(project.event("UserPromptSubmit", prompt="/status", prompt_id="p")).encode()
    prompt = imported(os.path.join(PLUGIN_ROOT, "hooks", "user_prompt_submit.py"), stdin=event)
    assert {name for name in line - prompt if not name.startswith("memory_plugin")} == set()
    assert len(line) <= len(prompt)
