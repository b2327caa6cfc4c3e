"""Links, files and commands on the pages exist, and the table of layers is complete."""

from __future__ import annotations

import os
import re

import pytest

from memory_plugin.cli.main import COMMANDS
from tests.docs.pages import PAGES, page, prose, section
from tests.project import PLUGIN_ROOT

TOP_FOLDERS = (
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
def test_local_links_have_a_target(name: str) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose(page(name)))
    here = os.path.dirname(os.path.join(PLUGIN_ROOT, name))
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in local if not os.path.exists(os.path.join(here, target))] == []


@pytest.mark.parametrize("name", PAGES)
def test_files_named_on_a_page_exist(name: str) -> None:
    """Checks code words that begin with a folder of the repository, except placeholders and files that a recipe creates."""
    text = prose(page(name))
    created = set(re.findall(r"^\d+\. (?:Create|Copy `[^`]+` to) `([^`]+)`", text, re.MULTILINE))
    paths = {word for word in re.findall(r"`([^`\s]+)`", text) if word.startswith(TOP_FOLDERS)} - created
    real_paths = {path for path in paths if not re.search(r"[<>*{}\u2026]", path)}
    assert [path for path in sorted(real_paths) if not os.path.exists(os.path.join(PLUGIN_ROOT, path))] == []


@pytest.mark.parametrize("name", PAGES)
def test_commands_named_on_a_page_exist(name: str) -> None:
    commands = set(re.findall(r"`memory ([a-z]+)[^`]*`", prose(page(name))))
    assert commands - set(COMMANDS) == set()


def test_the_layers_table_lists_every_subpackage() -> None:
    layers = section(page("docs/architecture.md"), "Layers")
    package = os.path.join(PLUGIN_ROOT, "scripts", "memory_plugin")
    subpackages = {
        name for name in os.listdir(package) if os.path.isfile(os.path.join(package, name, "__init__.py"))
    }
    assert set(re.findall(r"^\| \w+ \| `scripts/memory_plugin/(\w+)/`", layers, re.MULTILINE)) == subpackages
