"""The plugin's life in the client: offered by a folder, installed, switched off, gone; the memories stay."""

from __future__ import annotations

import json
import os

import pytest

from tests.client.plugin import ASK, begin, hooks_went_well, memory, recalled
from tests.client.sandbox import Sandbox
from tests.client.turn import Turn
from tests.project import PLUGIN_ROOT
from tests.release_tree import copy_plugin, make_tree

pytestmark = pytest.mark.client
NAME = "memory@memory-plugin"


def plugin(box: Sandbox, *args: str) -> str:
    """Return the output of `claude plugin ...`, which has to work."""
    turn = box.claude("plugin", *args)
    assert turn.returncode == 0, turn.stdout + turn.stderr
    return turn.stdout


def loaded(turn: Turn) -> bool:
    """Whether the client took the plugin up; newer clients have plugins of their own beside it."""
    return "memory" in [found["name"] for found in turn.init["plugins"]]


@pytest.mark.parametrize("part", ["", ".claude-plugin/plugin.json"], ids=["marketplace", "plugin"])
def test_the_client_finds_nothing_to_warn_of(box: Sandbox, part: str) -> None:
    plugin(box, "validate", "--strict", os.path.join(PLUGIN_ROOT, part))


def test_the_client_finds_nothing_to_warn_of_in_the_release_tree(box: Sandbox) -> None:
    tree = os.path.join(box.folder, "tree")
    make_tree(tree)
    plugin(box, "validate", "--strict", tree)
    plugin(begin(box), "marketplace", "add", tree)
    plugin(box, "install", NAME)
    assert recalled(box.prompt(ASK))


@pytest.mark.parametrize("folder", ["plain", "plug in's"])
def test_a_folder_offers_the_plugin(box: Sandbox, folder: str) -> None:
    plugin(begin(box), "marketplace", "add", copy_plugin(os.path.join(box.folder, folder)))
    plugin(box, "install", NAME)
    turn = box.prompt(ASK)
    assert loaded(turn)
    assert turn.init.get("plugin_errors") in (None, [])
    assert recalled(turn)
    assert hooks_went_well(box, turn)


def test_disabled_it_is_silent_and_enabled_it_recalls_again(box: Sandbox) -> None:
    plugin(begin(box), "marketplace", "add", copy_plugin(os.path.join(box.folder, "plugin")))
    plugin(box, "install", NAME)
    plugin(box, "disable", NAME)
    turn = box.prompt(ASK)
    assert (loaded(turn), recalled(turn), box.hook_records(turn.session)) == (False, False, [])
    plugin(box, "enable", NAME)
    assert recalled(box.prompt(ASK))


def test_uninstalled_it_is_gone_and_the_memories_stay(box: Sandbox) -> None:
    plugin(begin(box), "marketplace", "add", copy_plugin(os.path.join(box.folder, "plugin")))
    plugin(box, "install", NAME)
    assert recalled(box.prompt(ASK))
    plugin(box, "uninstall", NAME)
    turn = box.prompt(ASK)
    assert (loaded(turn), recalled(turn), box.hook_records(turn.session)) == (False, False, [])
    assert "Postgres 15" in json.dumps(memory(box, "search", "billing database"))
