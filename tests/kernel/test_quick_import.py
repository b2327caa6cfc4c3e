"""The fast import is used for up-to-date cache files of our package, and for nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory_plugin.kernel.quick_import import AHEAD
from memory_plugin.recall.pipeline import PRELOADED_MODULES
from tests.project import PLUGIN_ROOT, Project

SHOW = """
import sys
sys.path.insert(0, %r)
from memory_plugin.kernel.quick_import import install
install()
import memory_plugin.text_part.sample as sample
import memory_plugin.text_part as part
print(type(sample.__spec__.loader).__name__, type(part.__spec__.loader).__name__, sample.VALUE, sample.__file__, part.__path__)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a small package of our name with the real finder, and beside it one module and one package."""
    folder = tmp_path / "memory_plugin"
    (folder / "kernel").mkdir(parents=True)
    (folder / "text_part").mkdir()
    for name in ("__init__.py", "kernel/__init__.py", "kernel/quick_import.py"):
        shutil.copy(os.path.join(PLUGIN_ROOT, "scripts", "memory_plugin", name), folder / name)
    (folder / "text_part" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "text_part" / "sample.py").write_text("VALUE = 1\n", encoding="utf-8")
    return folder


def load_details(package: Path, *options: str) -> list[str]:
    """Return the loader of the module and of the package, the module's value, its file and the package's folder."""
    command = [sys.executable, "-I", "-S", *options, "-c", SHOW % str(package.parent)]
    # Python may create the folder of `pycache_prefix` in the current folder.
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, cwd=package.parent)
    return run.stdout.split()


def test_a_fresh_cache_file_is_loaded_the_short_way(package: Path) -> None:
    first, second = load_details(package), load_details(package)
    assert first[:3] == ["SourceFileLoader", "SourceFileLoader", "1"]
    assert second[:3] == ["_Finder", "_Finder", "1"]
    assert first[3:] == second[3:]


def test_a_changed_source_wins_over_its_cache_file(package: Path) -> None:
    load_details(package)
    (package / "text_part" / "sample.py").write_text("VALUE = 22\n", encoding="utf-8")
    assert load_details(package)[:3] == ["SourceFileLoader", "_Finder", "22"]
    assert load_details(package)[:3] == ["_Finder", "_Finder", "22"]


def test_a_cache_file_without_its_source_is_not_loaded(package: Path) -> None:
    load_details(package)
    (package / "text_part" / "sample.py").unlink()
    with pytest.raises(subprocess.CalledProcessError) as error:
        load_details(package)
    assert "No module named" in error.value.stderr


@pytest.mark.parametrize("left", [0, 7, 16, 30])
def test_half_a_cache_file_is_left_to_python(package: Path, left: int) -> None:
    """Python looks at the source, or fails for the reason that the repair knows."""
    load_details(package)
    cached = next((package / "text_part" / "__pycache__").glob("sample.*.pyc"))
    cached.write_bytes(cached.read_bytes()[:left])
    if left < 16:
        assert load_details(package)[:3] == ["SourceFileLoader", "_Finder", "1"]
        return
    with pytest.raises(subprocess.CalledProcessError) as error:
        load_details(package)
    assert "EOFError" in error.value.stderr


@pytest.mark.parametrize("options", [("-O",), ("-X", "pycache_prefix=other")])
def test_with_other_cache_files_python_imports_alone(package: Path, options: tuple[str, ...]) -> None:
    load_details(package)
    assert load_details(package, *options)[0] == "SourceFileLoader"


COUNTED = """
import sys
sys.path.insert(0, %r)
import memory_plugin.hooks
from memory_plugin.kernel.quick_import import _Finder, import_ahead, install
install()
listed, asked, find = %r, [], _Finder.find_spec
_Finder.find_spec = lambda self, name, *rest: asked.append(name[14:]) or find(self, name, *rest)
import_ahead(listed)
print(*asked)
"""
WARM = """
import sys
sys.path.insert(0, %r)
for name in %r.split():
    __import__("memory_plugin." + name)
"""
LISTS = {**AHEAD, "a look-up": AHEAD["UserPromptSubmit"] + " " + PRELOADED_MODULES}


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
def test_modules_imported_ahead_come_after_their_own_imports(listed: str) -> None:
    """Else a statement in it would import that the long way. It loads from cache files alone, so a first process writes them."""
    scripts = os.path.join(PLUGIN_ROOT, "scripts")
    codes = (WARM % (scripts, listed), COUNTED % (scripts, listed))
    commands = [[sys.executable, "-I", "-S", "-c", code] for code in codes]
    runs = [subprocess.run(one, capture_output=True, encoding="utf-8", check=True) for one in commands]
    assert runs[1].stdout.split() == listed.split()


IMPORTED = """
import sys
sys.path.insert(0, %r)
from memory_plugin.kernel import quick_import
quick_import.import_ahead = lambda names: None
from memory_plugin.hooks import run_hook
run_hook(%r)
sys.stderr.write(" ".join(name[14:] for name in sys.modules if name.startswith("memory_plugin.")))
"""


@pytest.mark.parametrize("event", AHEAD)
def test_only_modules_that_an_event_needs_are_imported_ahead(project: Project, event: str) -> None:
    given = project.event(
        event, prompt="ok", source="startup", tool_name="Read", tool_input={"file_path": "a"}
    )
    code = IMPORTED % (os.path.join(PLUGIN_ROOT, "scripts"), event)
    run = project.process([sys.executable, "-I", "-S", "-c", code], json.dumps(given).encode())
    assert set(AHEAD[event].split()) - set(run.stderr.split()) == set()
