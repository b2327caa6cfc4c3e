"""The commands in hooks.json, run in a shell as the client runs them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys

import pytest

from tests.events import EVENTS, events_slow_except
from tests.hooks.test_entries import ANSWER, copied
from tests.project import PLUGIN_ROOT, Project, Run, posix

pytestmark = posix("needs a POSIX shell, which on Windows is that of Git")
FOLDERS = ["plain", "with some  space", "it's", "100% $HOME `id` !x", "ünïcode-日本"]


def command(event: str) -> str:
    """Return the only command of an event."""
    with open(os.path.join(PLUGIN_ROOT, "hooks", "hooks.json"), encoding="utf-8") as file:
        groups = json.load(file)["hooks"][event]
    assert len(groups) == 1
    assert len(groups[0]["hooks"]) == 1
    return str(groups[0]["hooks"][0]["command"])


def path_with(project: Project, **programs: str) -> str:
    """Return a PATH of one folder that holds these shell scripts, by name, and nothing else."""
    folder = os.path.join(os.path.dirname(project.root), "bin")
    os.makedirs(folder)
    for name, script in programs.items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path, 0o755)
    return folder


def run_command(project: Project, event: str, plugin: str, path: str) -> Run:
    """Return the event's command in a shell; the last command's output and exit code."""
    return project.process(["/bin/sh", "-c", command(event)], b"{}", CLAUDE_PLUGIN_ROOT=plugin, PATH=path)


PYTHON = 'exec %s "$@"' % shlex.quote(os.path.realpath(sys.executable))


@pytest.mark.parametrize("event", events_slow_except("UserPromptSubmit"))
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_hook_runs_from_any_plugin_folder(project: Project, event: str, folder: str) -> None:
    plugin = os.path.join(os.path.dirname(project.root), folder)
    shutil.move(copied(project), plugin)
    run = run_command(project, event, plugin, path_with(project, python3=PYTHON))
    assert run == Run(0, "ran %s\n" % event, "")


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(
    "programs",
    [
        pytest.param({"python": PYTHON}, id="only python is there"),
        pytest.param({"python3": "exit 49", "python": PYTHON}, id="python3 is a stub that fails"),
        pytest.param({"python3": PYTHON, "python": "echo twice"}, id="both are there and one runs"),
    ],
)
def test_the_hook_runs_once_with_whichever_python_is_available(
    project: Project, event: str, programs: dict[str, str]
) -> None:
    run = run_command(project, event, copied(project), path_with(project, **programs))
    assert (run.returncode, run.stdout) == (0, "ran %s\n" % event)


@pytest.mark.parametrize("event", EVENTS)
def test_a_missing_python_does_not_block_the_prompt(project: Project, event: str) -> None:
    run = run_command(project, event, copied(project), path_with(project))
    assert (run.returncode, run.stdout) == (0, said_at_start(event))


@pytest.mark.parametrize("event", EVENTS)
def test_a_missing_script_does_not_block_the_prompt(project: Project, event: str) -> None:
    """An update may move the plugin during a session; Python then exits with 2, which the client reads as "block"."""
    run = run_command(project, event, "/nowhere", path_with(project, python3=PYTHON, python=PYTHON))
    assert (run.returncode, run.stdout) == (0, said_at_start(event))


def said_at_start(event: str) -> str:
    """Return what hooks that cannot run say: one visible line when a session starts, nothing on other events."""
    text = "memory: Claude is shown nothing: Python 3.9 or newer is not on the PATH, or the plugin was moved"
    return '{"systemMessage": "%s"}\n' % text if event == "SessionStart" else ""


def test_a_python_that_is_too_old_is_reported_in_one_visible_line(project: Project) -> None:
    with open(os.path.join(PLUGIN_ROOT, "hooks", "session_start.py"), encoding="utf-8") as file:
        text = file.read().replace("sys.version_info < (3, 9)", "sys.version_info < (99, 0)")
    run = project.process([sys.executable, "-I", "-S", "-c", text], b"{}")
    assert run.returncode == 0
    assert run.json["systemMessage"].startswith("memory: Claude is shown nothing: python3 is Python 3.")


def test_a_damaged_plugin_is_reported_in_one_visible_line(project: Project) -> None:
    plugin = copied(project)
    shutil.rmtree(os.path.join(plugin, "scripts"))
    run = run_command(project, "SessionStart", plugin, path_with(project, python3=PYTHON))
    assert run.returncode == 0
    assert "damaged" in run.json["systemMessage"]


def test_the_answer_is_not_repeated_if_the_hook_fails_after_printing_it(project: Project) -> None:
    plugin = copied(project, ANSWER.replace("return 0", "raise OSError"))
    run = run_command(project, "UserPromptSubmit", plugin, path_with(project, python3=PYTHON, python=PYTHON))
    assert (run.returncode, run.stdout) == (0, "ran UserPromptSubmit\n")
