"""The tree of the release branch, which hosted marketplaces offer: it carries only what runs. `python3 tests/release_tree.py FOLDER`."""

from __future__ import annotations

import os
import shutil
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RUNS = (
    ".claude-plugin", "agents", "bin", "config", "hooks", "plugin.json", "scripts", "skills", "LICENSE", "CHANGELOG.md",
)  # fmt: skip


def make_tree(folder: str) -> None:
    """Copy what runs into a folder, which may be the checkout of the release branch; what it held but `.git` is deleted."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name != ".git":
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    for name in RUNS:
        source, target = os.path.join(ROOT, name), os.path.join(folder, name)
        if os.path.isdir(source):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, target)


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
