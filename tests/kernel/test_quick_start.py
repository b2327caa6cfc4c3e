"""The replacement for `os` has the names of the real module; the fast import serves up-to-date cache files of our package alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.project import PLUGIN_ROOT, Project

with_posix = pytest.mark.skipif(os.name != "posix", reason="the replacement is made from `posix`")

START = """
import sys
sys.path.insert(0, %r)
from memory_plugin.kernel.quick_start import install_os as install
install()
import os
""" % os.path.join(PLUGIN_ROOT, "scripts")


def ran(code: str, **env: str) -> Any:  # noqa: ANN401 (what the code printed as JSON)
    """Return what some code prints as JSON in a new Python that uses the replacement."""
    command = [sys.executable, "-I", "-S", "-c", START + code]
    run = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=True)
    return json.loads(run.stdout)


@with_posix
def test_every_name_is_that_of_the_real_module() -> None:
    code = """
mine = {name: value for name, value in vars(os).items() if not name.startswith("__")}
replacement, is_quick = os, "_collections_abc" not in sys.modules
os.walk
import os as real, json
own = ["environ", "fsencode", "fsdecode"]
same = [name for name in mine if name not in own and hasattr(real, name) and mine[name] != getattr(real, name)]
print(json.dumps([is_quick, real is not replacement, real.__file__ != "", same, replacement.walk is real.walk, len(mine) > 200]))
"""
    assert ran(code) == [True, True, True, [], True, True]


@with_posix
def test_paths_are_encoded_as_the_real_module_encodes_them() -> None:
    code = """
odd = b"caf\\xc3\\xa9-\\xff"
mine = [os.fsdecode(odd), os.fsencode(os.fsdecode(odd)), os.fsdecode("x"), os.fsencode(b"x")]
os.walk
real = [os.fsdecode(odd), os.fsencode(os.fsdecode(odd)), os.fsdecode("x"), os.fsencode(b"x")]
print("true" if mine == real else repr([mine, real]))
"""
    assert ran(code, PYTHONUTF8="1") is True


@with_posix
@pytest.mark.parametrize("taken_over", [False, True], ids=["before", "after"])
def test_a_change_of_the_environment_reaches_children_and_the_real_module(*, taken_over: bool) -> None:
    code = """
del os.environ["DROPPED"]
os.environ["SET"] = "caf\\u00e9"
if %r:
    os.walk
import json, subprocess
names = ("DROPPED", "SET", "KEPT")
child = "import json, os, sys; print(json.dumps([os.environ.get(name) for name in %%r]))" %% (names,)
told = json.loads(subprocess.run([sys.executable, "-I", "-S", "-c", child], stdout=-1).stdout)
print(json.dumps([told, [os.environ.get(name) for name in names], sorted(os.environ) == sorted(dict(os.environ))]))
""" % (taken_over,)
    found = ran(code, DROPPED="1", KEPT="\u00fc", PYTHONUTF8="1")
    after = [None, "caf\u00e9", "\u00fc"]
    assert found == [after, after, True]


@with_posix
def test_a_missing_name_is_missing() -> None:
    code = """
flag = hasattr(os, "O_BINARY"), "_collections_abc" in sys.modules
import json
print(json.dumps([flag, hasattr(os, "startfile"), getattr(os, "nothing", 7)]))
"""
    assert ran(code) == [[False, False], False, 7]


@with_posix
@pytest.mark.parametrize("change", ["clear()", "update({})", "setdefault('A', 'b')", "pop('A')"])
def test_other_changes_of_the_environment_are_refused(change: str) -> None:
    """They would reach neither the process nor the real module."""
    code = (
        """
try:
    os.environ.%s
except TypeError:
    print("true")
"""
        % change
    )
    assert ran(code, A="a") is True


@with_posix
def test_an_already_imported_real_module_stays() -> None:
    install_again = (
        "install(); import os as again; print('true' if again is os and 'walk' in vars(os) else 'false')"
    )
    assert ran("os.walk\nimport os\n" + install_again) is True


@with_posix
def test_modules_of_the_library_work_with_the_replacement() -> None:
    code = """
import contextlib, glob, json, pathlib, shutil, subprocess, tempfile, threading, traceback, urllib.request
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "a").write_text("x", encoding="utf-8")
    print(json.dumps([glob.glob("*", root_dir=folder), os.path.exists(folder)]) if sys.version_info >= (3, 10) else '[["a"], true]')
"""
    assert ran(code) == [["a"], True]


@with_posix
def test_a_hook_hands_on_the_cleaned_environment(project: Project) -> None:
    """A process that a hook starts gets what is left of the environment."""
    project.write(".claude/settings.json", json.dumps({"env": {"PLANTED": "x"}}))
    code = (
        """
from memory_plugin.host.environment import clean
clean(%r)
import json, subprocess
child = "import os; print(os.environ.get('PLANTED'), os.environ.get('KEPT'))"
print(json.dumps(subprocess.run([sys.executable, "-I", "-S", "-c", child], stdout=-1).stdout.decode()))
"""
        % project.root
    )
    env = {"PLANTED": "x", "KEPT": "y", "HOME": project.home, "CLAUDE_CONFIG_DIR": ""}
    assert ran(code, **env) == "None y\n"


SHOW = """
import sys
sys.path.insert(0, %r)
from memory_plugin.kernel.quick_start import install_imports
install_imports()
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
    for name in ("__init__.py", "kernel/__init__.py", "kernel/quick_start.py"):
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
def test_half_a_cache_file_is_replaced(package: Path, left: int) -> None:
    load_details(package)
    cached = next((package / "text_part" / "__pycache__").glob("sample.*.pyc"))
    cached.write_bytes(cached.read_bytes()[:left])
    assert load_details(package)[:3] == ["SourceFileLoader", "_Finder", "1"]
    assert load_details(package)[:3] == ["_Finder", "_Finder", "1"]


def test_a_cache_file_that_is_too_long_is_left_to_python(package: Path) -> None:
    (package / "text_part" / "sample.py").write_text(
        "VALUE = 1\nLONG = '%s'\n" % ("x" * 70_000), encoding="utf-8"
    )
    load_details(package)
    assert load_details(package)[:3] == ["SourceFileLoader", "_Finder", "1"]


@pytest.mark.parametrize("options", [("-O",), ("-X", "pycache_prefix=other")])
def test_with_other_cache_files_python_imports_alone(package: Path, options: tuple[str, ...]) -> None:
    load_details(package)
    assert load_details(package, *options)[0] == "SourceFileLoader"


RELATIVE = """
import sys
sys.path.insert(0, %r)
from memory_plugin.kernel.quick_start import install_imports
install_imports()
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


WHOLE = """
import sys
sys.path.insert(0, %r)
from memory_plugin.kernel.quick_start import install_imports
install_imports()
exec("from .text_part.sample import Kind", {"__package__": "memory_plugin"})
import memory_plugin.text_part.sample as sample
print(type(sample.__spec__.loader).__name__, sample.TIMES)
"""


def test_a_module_that_its_package_imports_exists_once(package: Path) -> None:
    """Two copies would have two classes of each name, so that `except` would miss errors of the other."""
    (package / "text_part" / "__init__.py").write_text("from .sample import TIMES\n", encoding="utf-8")
    text = "import sys\nTIMES = sys.times = getattr(sys, 'times', 0) + 1\nclass Kind: pass\n"
    (package / "text_part" / "sample.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-I", "-S", "-c", WHOLE % str(package.parent)]
    runs = [subprocess.run(command, capture_output=True, encoding="utf-8", check=True) for _ in range(2)]
    assert [run.stdout.split() for run in runs] == [["SourceFileLoader", "1"], ["_Finder", "1"]]
