"""What the pages claim of commands, files and links holds."""

from __future__ import annotations

import os
import re

import pytest

from memory_plugin.cli.main import COMMANDS
from tests.docs.command_table import with_table
from tests.docs.pages import PAGES, page, prose, section
from tests.project import PLUGIN_ROOT

TOP = (
    "scripts/",
    "hooks/",
    "tests/",
    "config/",
    "docs/",
    "benchmarks/",
    "skills/",
    "bin/",
    ".ci/",
    ".claude-plugin/",
)


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose(page(name)))
    here = os.path.dirname(os.path.join(PLUGIN_ROOT, name))
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in local if not os.path.exists(os.path.join(here, target))] == []


@pytest.mark.parametrize("name", PAGES)
def test_files_that_a_page_names_are_there(name: str) -> None:
    """Each name in code that begins with a folder of the repository, without placeholders and what a recipe creates."""
    text = prose(page(name))
    created = set(re.findall(r"^\d+\. (?:Create|Copy `[^`]+` to) `([^`]+)`", text, re.MULTILINE))
    named = {word for word in re.findall(r"`([^`\s]+)`", text) if word.startswith(TOP)} - created
    real = {word for word in named if not re.search(r"[<>*{}\u2026]", word)}
    assert [word for word in sorted(real) if not os.path.exists(os.path.join(PLUGIN_ROOT, word))] == []


@pytest.mark.parametrize("name", PAGES)
def test_commands_that_a_page_names_exist(name: str) -> None:
    named = set(re.findall(r"`memory ([a-z]+)[^`]*`", prose(page(name))))
    assert named - set(COMMANDS) == set()


def test_the_layers_name_every_part_of_the_package() -> None:
    layers = section(page("docs/architecture.md"), "Layers")
    package = os.path.join(PLUGIN_ROOT, "scripts", "memory_plugin")
    parts = {
        name for name in os.listdir(package) if os.path.isfile(os.path.join(package, name, "__init__.py"))
    }
    assert set(re.findall(r"^\| \w+ \| `scripts/memory_plugin/(\w+)/`", layers, re.MULTILINE)) == parts


def test_every_command_is_documented() -> None:
    """The table of commands says what each command's own help says."""
    text = page("docs/architecture.md")
    assert text == with_table(text), "run: python3 tests/docs/command_table.py"
