"""The README's `claude` commands, run as printed in the real client, in a clone."""

from __future__ import annotations

import shlex

import pytest

from tests.client.plugin import ASK, BODY, TITLE, is_recalled, make_repository, memory
from tests.client.sandbox import Sandbox
from tests.docs.pages import fences, page
from tests.release_tree import copy_plugin

pytestmark = pytest.mark.client


def commands() -> list[list[str]]:
    """Return the arguments of the README's `claude` commands, the install from the clone first."""
    blocks = sorted(
        (fence.text for fence in fences(page("README.md"), "sh")), key=lambda text: " ./" not in text
    )
    lines = [line for text in blocks for line in text.splitlines()]
    typed = [shlex.split(line, comments=True) for line in lines]
    return [words[1:] for words in typed if words[:1] == ["claude"]]


def test_the_commands_do_what_the_readme_says(sandbox: Sandbox) -> None:
    """After each command a prompt recalls the memory if the plugin is installed and enabled, else nothing."""
    copy_plugin(sandbox.project)
    make_repository(sandbox)
    memory(sandbox, "save", "--category", "decision", "--title", TITLE, "--body", BODY)
    verbs = []
    for words in commands():
        turn = sandbox.claude(*words)
        assert turn.returncode == 0, turn.stdout + turn.stderr
        verbs.append(words[1])
        if words[1] != "marketplace":
            assert is_recalled(sandbox.prompt(ASK)) == (words[1] in {"install", "update", "enable"}), words
    assert verbs == [
        *("marketplace", "install"),
        *("disable", "enable"),
        *("marketplace", "update"),
        *("uninstall", "marketplace"),
    ]
