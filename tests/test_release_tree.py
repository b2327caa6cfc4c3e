"""The tree of the release branch works by itself and holds nothing that only development needs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import memory_plugin
from tests.project import PLUGIN_ROOT
from tests.release_tree import SHIPPED, make_tree


def test_the_release_tree_runs_the_demo_and_has_every_hook(tmp_path: Path) -> None:
    tree, home = tmp_path / "tree", tmp_path / "home"
    home.mkdir()
    make_tree(str(tree))
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
    demo = [sys.executable, str(tree / "scripts" / "memory.py"), "demo"]
    done = subprocess.run(
        demo, env=env, cwd=home, capture_output=True, encoding="utf-8", check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "showed Claude 1 memory" in done.stdout
    commands = json.loads((tree / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    scripts = set(re.findall(r"hooks/\w+\.py", json.dumps(commands)))
    assert scripts
    assert [name for name in sorted(scripts) if not (tree / name).is_file()] == []


def test_each_link_of_the_tree_leads_to_a_file_in_it(tmp_path: Path) -> None:
    make_tree(str(tmp_path))
    missing = [
        "%s: %s" % (page.relative_to(tmp_path), link)
        for page in sorted(tmp_path.rglob("*.md"))
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert missing == []


def test_a_new_tree_replaces_the_old_one_but_not_its_git_folder(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "old.py").touch()
    make_tree(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {".git", *SHIPPED}


def test_the_version_is_the_newest_in_the_changelog() -> None:
    text = (Path(PLUGIN_ROOT) / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", text, re.MULTILINE)
    assert releases[0] == memory_plugin.VERSION
