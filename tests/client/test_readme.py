"""The README's own `claude` commands in the real client, typed as they are printed, in a clone."""

from __future__ import annotations

import shlex

import pytest

from tests.client.plugin import ASK, BODY, TITLE, memory, recalled, repository
from tests.client.sandbox import Sandbox
from tests.docs.pages import fences, page
from tests.release_tree import copy_plugin

pytestmark = pytest.mark.client


def commands() -> list[list[str]]:
    """Return what the README tells to type, without the word `claude`: install, update, switch off and on, uninstall."""
    lines = [line for fence in fences(page("README.md"), "sh") for line in fence.text.splitlines()]
    typed = [shlex.split(line, comments=True) for line in lines]
    return [words[1:] for words in typed if words[:1] == ["claude"]]


def test_the_commands_do_what_the_readme_says(box: Sandbox) -> None:
    """Each is followed by a prompt: told after installing and enabling, silent after disabling and uninstalling."""
    copy_plugin(box.project)
    repository(box)
    memory(box, "save", "--category", "decision", "--title", TITLE, "--body", BODY)
    verbs = []
    for words in commands():
        turn = box.claude(*words)
        assert turn.returncode == 0, turn.stdout + turn.stderr
        verbs.append(words[1])
        if words[1] != "marketplace":
            assert recalled(box.prompt(ASK)) == (words[1] in {"install", "update", "enable"}), words
    assert verbs == [
        *("marketplace", "install"),
        *("marketplace", "update"),
        *("disable", "enable"),
        *("uninstall", "marketplace"),
    ]
