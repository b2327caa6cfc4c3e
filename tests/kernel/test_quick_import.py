"""The fast import is used for up-to-date cache files of our package, and for nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import PLUGIN_ROOT

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


RELATIVE = """
import sys
sys.path.insert(0, %r)
from memory_plugin.kernel.quick_import import install
install()
from threading import Thread
def use():
    from memory_plugin.text_part.user import LOADERS
    print(*LOADERS)
if %r:
    thread = Thread(target=use)
    thread.start()
    thread.join()
else:
    use()
"""
USER = """
from . import sample
from .sample import VALUE
from ..other import circle
from ..other.circle import BACK
try:
    from .sample import MISSING
except ImportError as error:
    reason = str(error)
assert "cannot import name 'MISSING'" in reason
assert BACK == VALUE == 1
LOADERS = [type(module.__spec__.loader).__name__ for module in (sample, circle)]
"""


@pytest.mark.parametrize("in_thread", [False, True])
def test_relative_imports_do_what_python_does(package: Path, *, in_thread: bool) -> None:
    """Of modules and of names in them, in a circle, of a missing name, and in another thread, which takes Python's way."""
    (package / "other").mkdir()
    (package / "other" / "__init__.py").write_text("", encoding="utf-8")
    (package / "other" / "circle.py").write_text(
        "from ..text_part import user\nBACK = user.VALUE\n", encoding="utf-8"
    )
    (package / "text_part" / "user.py").write_text(USER, encoding="utf-8")
    command = [sys.executable, "-I", "-S", "-c", RELATIVE % (str(package.parent), in_thread)]
    runs = [subprocess.run(command, capture_output=True, encoding="utf-8", check=True) for _ in range(2)]
    assert [run.stdout.split() for run in runs] == [["SourceFileLoader"] * 2, ["_Finder"] * 2]
