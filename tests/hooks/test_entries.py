"""The entry scripts as real processes: an outdated Python, a damaged plugin, packages on the import path."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import pytest

from tests.events import SCRIPTS
from tests.project import IS_WINDOWS, PLUGIN_ROOT, Project, Run, posix

HOOKS = ["hooks/" + script for script in SCRIPTS.values()]
# A session that starts says what silences all hooks; the others only leave a line in the client's log.
VISIBLE = "hooks/session_start.py"
TOO_OLD = "memory: Claude is shown nothing: python3 is Python %s, and 3.9 or newer is needed"
ENTRIES = [*HOOKS, "scripts/memory.py"]
ANSWER = "def run(event):\n    print('ran', event, flush=True)\n    return 0\n"


def copied(project: Project, package: str | None = ANSWER) -> str:
    """Return a plugin folder with the real entries and a package with this `hooks/entry.py` (None: no package)."""
    root = os.path.join(os.path.dirname(project.root), "plugin")
    for entry in ENTRIES:
        os.makedirs(os.path.dirname(os.path.join(root, entry)), exist_ok=True)
        shutil.copy(os.path.join(PLUGIN_ROOT, entry), os.path.join(root, entry))
    if package is not None:
        write_package(os.path.join(root, "scripts"), package)
    return root


def write_package(folder: str, entry: str) -> None:
    """Write a package `memory_plugin` in a folder, with the given `hooks/entry.py`."""
    package = os.path.join(folder, "memory_plugin")
    for part in ("hooks", "kernel"):
        os.makedirs(os.path.join(package, part))
    for path, text in (("__init__.py", ""), ("hooks/entry.py", entry)):
        with open(os.path.join(package, path), "w", encoding="utf-8") as file:
            file.write(text)
    for name in (
        "hooks/__init__.py",
        "kernel/__init__.py",
        "kernel/quick_start.py",
    ):
        shutil.copy(os.path.join(PLUGIN_ROOT, "scripts", "memory_plugin", name), os.path.join(package, name))


def run_entry(project: Project, root: str, entry: str, *options: str, **env: str | None) -> Run:
    """Run an entry script of the plugin folder `root`."""
    return project.process([sys.executable, *options, os.path.join(root, entry)], b"{}", **env)


@cache
def old_pythons() -> list[str]:
    """Return the interpreters older than 3.9 on this machine that really start."""
    found = [shutil.which("python" + version) for version in ("2.7", "3.5", "3.6", "3.7", "3.8")]
    if os.environ.get("PYENV_ROOT") and not IS_WINDOWS:
        found += sorted(glob.glob(os.path.join(os.environ["PYENV_ROOT"], "versions", "*", "bin", "python")))
    test = "import sys; sys.exit(sys.version_info >= (3, 9))"
    return [p for p in found if p and subprocess.run([p, "-c", test], capture_output=True).returncode == 0]  # noqa: PLW1510


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_script_is_short_and_ascii_only(entry: str) -> None:
    with open(os.path.join(PLUGIN_ROOT, entry), encoding="ascii") as file:
        lines = file.read().splitlines()
    assert len(lines) <= (32 if entry == VISIBLE else 30)


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_old_version_number_is_reported_in_one_line_and_nothing_is_imported(
    project: Project, entry: str
) -> None:
    path = os.path.join(copied(project, "raise SystemExit(9)"), entry)
    script = "import sys; sys.version_info = (3, 8, 18); exec(open(%r, encoding='ascii').read())" % path
    run = project.process([sys.executable, "-c", script])
    assert run.returncode == int(entry == "scripts/memory.py")
    if entry == VISIBLE:
        assert run.json == {"systemMessage": TOO_OLD % "3.8"}
        return
    assert run.stdout == ""
    assert run.stderr.endswith("Python 3.8 is older than 3.9\n")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_old_python_interpreter_can_parse_the_entry_script(project: Project, entry: str) -> None:
    pythons = old_pythons()
    if not pythons:
        pytest.skip("no Python older than 3.9 on this machine")
    for python in pythons:
        run = project.process([python, "-S", os.path.join(PLUGIN_ROOT, entry)], b"{}")
        assert run.returncode == int(entry == "scripts/memory.py"), python
        said = run.json["systemMessage"] if entry == VISIBLE else run.stderr
        assert re.search(r"is (older than 3\.9\n|Python [\d.]+, and 3\.9 or newer is needed)\Z", said), python


@pytest.mark.parametrize("entry", HOOKS)
@pytest.mark.parametrize(
    ("package", "said"),
    [
        pytest.param(None, "memory: ModuleNotFoundError", id="the package is not there"),
        pytest.param("def run(:", "memory: SyntaxError", id="the package does not parse"),
        pytest.param("def walk(): pass", "memory: ImportError", id="the package is of another version"),
        pytest.param(
            "def run(event): raise ValueError('a\\nb')", "memory: ValueError: a b", id="the package fails"
        ),
    ],
)
def test_a_damaged_plugin_does_not_block_the_prompt(
    project: Project, entry: str, package: str | None, said: str
) -> None:
    run = run_entry(project, copied(project, package), entry, "-I", "-S")
    assert run.returncode == 0
    shown = entry == VISIBLE and "ValueError" not in said
    assert bool(run.stdout) == shown
    assert not shown or "the plugin is damaged" in run.json["systemMessage"]
    assert run.stderr.startswith(said)
    assert run.stderr.count("\n") == 1


@posix("makes a link")
@pytest.mark.parametrize(
    ("entry", "event"), [("hooks/" + script, event) for event, script in SCRIPTS.items()]
)
def test_a_hook_also_runs_its_event_through_a_symbolic_link(project: Project, entry: str, event: str) -> None:
    root = copied(project)
    link = os.path.join(project.root, "linked.py")
    os.symlink(os.path.join(root, entry), link)
    for path in (os.path.join(root, entry), link):
        assert project.process([sys.executable, "-I", "-S", path], b"{}") == Run(0, "ran %s\n" % event, "")


@pytest.mark.parametrize("options", [("-I", "-S"), ()], ids=["isolated", "plain"])
def test_a_package_in_the_project_is_never_imported(project: Project, options: tuple[str, ...]) -> None:
    root = copied(project)
    write_package(project.root, "print('HOSTILE', flush=True)")
    for name in ("os", "sys", "json", "sitecustomize"):
        project.write(name + ".py", "print('HOSTILE')")
    hostile = project.root if options else None
    run = run_entry(
        project, root, HOOKS[0], *options, PYTHONPATH=hostile, PYTHONSTARTUP=project.root + "/os.py"
    )
    assert (run.returncode, run.stdout.rstrip(), run.stderr) == (0, "ran UserPromptSubmit", "")


def test_the_plugin_folder_may_be_read_only(make_project: Callable[..., Project]) -> None:
    project = make_project()
    root = copied(project)
    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o555)
    assert run_entry(project, root, HOOKS[0], "-I", "-S").stdout.rstrip() == "ran UserPromptSubmit"
