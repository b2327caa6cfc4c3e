"""The replacement for `os`: its names are those of the real module, which also provides missing ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.project import PLUGIN_ROOT, Project

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the replacement is made from `posix`")

START = """
import sys
sys.path.insert(0, %r)
from memory_plugin.kernel.quick_os import install
install()
import os
""" % os.path.join(PLUGIN_ROOT, "scripts")


def ran(code: str, **env: str) -> Any:  # noqa: ANN401 (what the code printed as JSON)
    """Return what some code prints as JSON in a new Python that uses the replacement."""
    command = [sys.executable, "-I", "-S", "-c", START + code]
    run = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=True)
    return json.loads(run.stdout)


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


def test_paths_are_encoded_as_the_real_module_encodes_them() -> None:
    code = """
odd = b"caf\\xc3\\xa9-\\xff"
mine = [os.fsdecode(odd), os.fsencode(os.fsdecode(odd)), os.fsdecode("x"), os.fsencode(b"x")]
os.walk
real = [os.fsdecode(odd), os.fsencode(os.fsdecode(odd)), os.fsdecode("x"), os.fsencode(b"x")]
print("true" if mine == real else repr([mine, real]))
"""
    assert ran(code, PYTHONUTF8="1") is True


@pytest.mark.parametrize("taken_over", [False, True], ids=["before", "after"])
def test_a_change_of_the_environment_reaches_children_and_the_real_module(*, taken_over: bool) -> None:
    code = """
del os.environ["DROPPED"]
removed = os.environ.pop("POPPED"), os.environ.pop("POPPED", None)
os.environ["SET"] = "caf\\u00e9"
if %r:
    os.walk
import json, subprocess
names = ("DROPPED", "POPPED", "SET", "KEPT")
child = "import json, os, sys; print(json.dumps([os.environ.get(name) for name in %%r]))" %% (names,)
told = json.loads(subprocess.run([sys.executable, "-I", "-S", "-c", child], stdout=-1).stdout)
print(json.dumps([removed, told, [os.environ.get(name) for name in names], sorted(os.environ) == sorted(dict(os.environ))]))
""" % (taken_over,)
    found = ran(code, DROPPED="1", POPPED="2", KEPT="\u00fc", PYTHONUTF8="1")
    after = [None, None, "caf\u00e9", "\u00fc"]
    assert found == [["2", None], after, after, True]


def test_a_missing_name_is_missing() -> None:
    code = """
flag = hasattr(os, "O_BINARY"), "_collections_abc" in sys.modules
import json
print(json.dumps([flag, hasattr(os, "startfile"), getattr(os, "nothing", 7)]))
"""
    assert ran(code) == [[False, False], False, 7]


@pytest.mark.parametrize("change", ["clear()", "update({})", "setdefault('A', 'b')"])
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


def test_an_already_imported_real_module_stays() -> None:
    install_again = (
        "install(); import os as again; print('true' if again is os and 'walk' in vars(os) else 'false')"
    )
    assert ran("os.walk\nimport os\n" + install_again) is True


def test_modules_of_the_library_work_with_the_replacement() -> None:
    code = """
import contextlib, glob, json, pathlib, shutil, subprocess, tempfile, threading, traceback, urllib.request
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "a").write_text("x", encoding="utf-8")
    print(json.dumps([glob.glob("*", root_dir=folder), os.path.exists(folder)]) if sys.version_info >= (3, 10) else '[["a"], true]')
"""
    assert ran(code) == [["a"], True]


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
