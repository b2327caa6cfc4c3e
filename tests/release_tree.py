"""Write the tree of the release branch, which marketplaces offer: what runs, and documents. `python3 tests/release_tree.py FOLDER`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHIPPED = (
    ".claude-plugin", ".codex-plugin", "agents", "bin", "config", "hooks", "plugin.json", "scripts", "skills", "evals",
    "README.md", "docs", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", # read by people, and by plugin directories
)  # fmt: skip


def copy_entries(names: Iterable[str], folder: str, *ignored: str) -> str:
    """Copy files and folders of this repository into a folder, without caches and names that fit `ignored`; return the folder."""
    os.makedirs(folder, exist_ok=True)
    ignore = shutil.ignore_patterns("__pycache__", ".*_cache", "*.egg-info", *ignored)
    for name in names:
        source, target = os.path.join(ROOT, name), os.path.join(folder, name)
        if os.path.isdir(source):
            shutil.copytree(source, target, ignore=ignore)
        else:
            shutil.copy(source, target)
    return folder


def copy_plugin(folder: str) -> str:
    """Copy all that a user gets of the plugin into a folder; return the folder."""
    return copy_entries(SHIPPED, folder)


def make_tree(folder: str) -> None:
    """Replace a folder's content with the plugin, except for `.git`: it may be the checkout of the release branch."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name != ".git":
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    copy_plugin(folder)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python3 tests/release_tree.py FOLDER")
    if (
        os.path.isdir(sys.argv[1])
        and os.listdir(sys.argv[1])
        and "plugin.json" not in os.listdir(sys.argv[1])
    ):
        sys.exit("%s is neither empty nor a release tree; give another folder" % sys.argv[1])
    make_tree(sys.argv[1])
    sys.stdout.write("written: %s\n" % sys.argv[1])
