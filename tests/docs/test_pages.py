"""Links, files and commands on the pages exist, and the table of layers is complete."""

from __future__ import annotations

import os
import re

import pytest

from memory_plugin.host.commands import COMMANDS
from memory_plugin.kernel.settings.schema import find_key
from tests.config.settings_table import leaves, schema
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


LINKING = [
    *PAGES,
    "CHANGELOG.md",
    *(os.path.join("config", name, "README.md") for name in ("", "evaluation", "hygiene")),
]


def anchors(path: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page(path)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", LINKING)
def test_local_links_have_a_target(name: str) -> None:
    """The file exists, and the heading if the link names one."""
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page(name)))
    missing = []
    for target in targets:
        file, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(name), file)) if file else name
        if re.match(r"[a-z]+:", target):
            continue
        if not os.path.exists(os.path.join(PLUGIN_ROOT, path)) or (anchor and anchor not in anchors(path)):
            missing.append(target)
    assert missing == []


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
    assert commands - COMMANDS.keys() == set()


def test_the_layers_table_lists_every_subpackage() -> None:
    layers = section(page("docs/architecture.md"), "Layers")
    package = os.path.join(PLUGIN_ROOT, "scripts", "memory_plugin")
    subpackages = {
        name for name in os.listdir(package) if os.path.isfile(os.path.join(package, name, "__init__.py"))
    }
    assert set(re.findall(r"^\| \w+ \| `scripts/memory_plugin/(\w+)/`", layers, re.MULTILINE)) == subpackages


@pytest.mark.parametrize("name", PAGES)
def test_settings_named_on_a_page_exist(name: str) -> None:
    keys = {key for key, _ in leaves(schema())}
    groups = {".".join(key.split(".")[:end]) for key in keys for end in range(1, key.count(".") + 1)}
    tops = "|".join(sorted({key.split(".")[0] for key in keys}))
    words = re.findall(r"(?:`|config (?:set|unset|show) )((?:%s)\.[a-z_.]+)" % tops, page(name))
    files = re.compile(r"\.(jsonl?|py|sqlite)$")
    assert [
        word for word in words if word not in groups and not find_key(word) and not files.search(word)
    ] == []
