"""The plugin is added as a marketplace, installed, updated, disabled and uninstalled in the client; the memories stay."""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest

from tests.client.first_recall import ADD, publish
from tests.client.plugin import ASK, count_memory, hooks_succeeded, is_recalled, memory, with_memory
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY
from tests.client.turn import Turn
from tests.project import PLUGIN_ROOT
from tests.release_tree import copy_plugin, make_tree

pytestmark = pytest.mark.client
NAME = "memory@memory-plugin"


def run_plugin_command(sandbox: Sandbox, *args: str) -> str:
    """Run `claude plugin ...`, which has to work; return its output."""
    turn = sandbox.claude("plugin", *args)
    assert turn.returncode == 0, turn.stdout + turn.stderr
    return turn.stdout


def is_loaded(turn: Turn) -> bool:
    """Return whether the client loaded the plugin; newer clients also have built-in plugins."""
    return "memory" in [plugin["name"] for plugin in turn.init["plugins"]]


@pytest.mark.parametrize("part", ["", ".claude-plugin/plugin.json"], ids=["marketplace", "plugin"])
def test_the_client_validates_the_plugin_without_warnings(sandbox: Sandbox, part: str) -> None:
    run_plugin_command(sandbox, "validate", "--strict", os.path.join(PLUGIN_ROOT, part))


def test_the_release_tree_validates_without_warnings_and_recalls(sandbox: Sandbox) -> None:
    tree = os.path.join(sandbox.folder, "tree")
    make_tree(tree)
    validation = run_plugin_command(sandbox, "validate", "--strict", "--profile", "directory", tree)
    assert "MISSING" not in validation
    run_plugin_command(with_memory(sandbox), "marketplace", "add", tree)
    run_plugin_command(sandbox, "install", NAME)
    assert is_recalled(sandbox.prompt(ASK))


@pytest.mark.parametrize("folder", ["plain", "plug in's"])
def test_the_plugin_installs_from_a_folder(sandbox: Sandbox, folder: str) -> None:
    run_plugin_command(
        with_memory(sandbox), "marketplace", "add", copy_plugin(os.path.join(sandbox.folder, folder))
    )
    run_plugin_command(sandbox, "install", NAME)
    turn = sandbox.prompt(ASK)
    assert is_loaded(turn)
    assert turn.init.get("plugin_errors") in (None, [])
    assert is_recalled(turn)
    assert hooks_succeeded(sandbox, turn)


def test_an_option_of_the_plugin_is_without_warnings_a_setting(sandbox: Sandbox) -> None:
    run_plugin_command(
        with_memory(sandbox), "marketplace", "add", copy_plugin(os.path.join(sandbox.folder, "plugin"))
    )
    run_plugin_command(sandbox, "install", NAME, "--config", "recall=false")
    assert not is_recalled(sandbox.prompt(ASK))


def test_a_disabled_plugin_is_silent_until_it_is_enabled(sandbox: Sandbox) -> None:
    run_plugin_command(
        with_memory(sandbox), "marketplace", "add", copy_plugin(os.path.join(sandbox.folder, "plugin"))
    )
    run_plugin_command(sandbox, "install", NAME)
    run_plugin_command(sandbox, "disable", NAME)
    turn = sandbox.prompt(ASK)
    assert (is_loaded(turn), is_recalled(turn), sandbox.hook_records(turn.session)) == (False, False, [])
    run_plugin_command(sandbox, "enable", NAME)
    assert is_recalled(sandbox.prompt(ASK))


def test_an_uninstalled_plugin_is_gone_and_the_memories_stay(sandbox: Sandbox) -> None:
    run_plugin_command(
        with_memory(sandbox), "marketplace", "add", copy_plugin(os.path.join(sandbox.folder, "plugin"))
    )
    run_plugin_command(sandbox, "install", NAME)
    assert is_recalled(sandbox.prompt(ASK))
    run_plugin_command(sandbox, "uninstall", NAME)
    turn = sandbox.prompt(ASK)
    assert (is_loaded(turn), is_recalled(turn), sandbox.hook_records(turn.session)) == (False, False, [])
    assert "Postgres 15" in json.dumps(memory(sandbox, "search", "billing database"))


def raise_version(sandbox: Sandbox, tree: str) -> None:
    """Commit a release with a higher version, and with another format of the index."""
    changes = {
        ".claude-plugin/plugin.json": (r'"version": "[\d.]+"', '"version": "99.0.0"'),
        "scripts/memory_plugin/recall/index_file.py": (r"(?m)^SCHEMA = \d+", "SCHEMA = 99"),
    }
    for name, (pattern, new) in changes.items():
        path = os.path.join(tree, name)
        text, number = re.subn(pattern, new, Sandbox.read(path))
        assert number == 1
        Sandbox.write(path, text)
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    command = ["git", *author, "commit", "-q", "-a", "-m", "Release"]
    subprocess.run(command, cwd=tree, env=sandbox.environment(), check=True)


@pytest.mark.terminal
@pytest.mark.usefixtures("tmux")
def test_an_update_keeps_memories_trust_and_settings_and_repeats_nothing(sandbox: Sandbox) -> None:
    """A session that is open meanwhile keeps its version, and its index next to the new one."""
    tree = publish(with_memory(sandbox))
    run_plugin_command(sandbox, *ADD[1:])
    run_plugin_command(sandbox, "install", NAME)
    memory(sandbox, "config", "set", "retrieval.max_inject", "2")
    terminal = sandbox.terminal()
    terminal.wait(READY)
    counts = []
    for prompt in (ASK, "Again: " + ASK):
        terminal.submit(prompt)
        terminal.wait(re.escape(prompt) + ".*Hello\\.")
        terminal.settle()
        (*_, request) = [request for request in sandbox.api.requests if request.kind == "main"]
        counts.append(count_memory(request))
        if len(counts) == 1:
            raise_version(sandbox, tree)
            run_plugin_command(sandbox, "marketplace", "update", "memory-plugin")
            run_plugin_command(sandbox, "update", NAME)
            turn = sandbox.prompt(ASK)
            assert is_recalled(turn)
            assert hooks_succeeded(sandbox, turn)
    assert counts == [1, 1]
    (plugin,) = [plugin for plugin in turn.init["plugins"] if plugin["name"] == "memory"]
    assert os.path.basename(plugin["path"]) == "99.0.0"
    assert memory(sandbox, "config", "get", "retrieval.max_inject")["value"] == 2
    names = os.listdir(os.path.join(sandbox.config, "lcars", "memory", "index"))
    assert len([name for name in names if name.endswith(".sqlite3")]) == 2
