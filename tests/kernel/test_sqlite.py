"""SQLite's C module is imported without `functools`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.project import PLUGIN_ROOT

OPEN = """
import sys
sys.path.insert(0, %r)
%s
from memory_plugin.kernel.sqlite import connect
connection = connect(":memory:")
assert connection.execute("SELECT 1").fetchall() == connection.execute("SELECT 1").fetchall() == [(1,)]
print("functools" in sys.modules, "collections" in sys.modules)
import functools
print(functools.lru_cache(maxsize=3)(len).cache_info().maxsize, functools.reduce.__name__)
"""


@pytest.mark.parametrize(
    ("before", "loaded"),
    [
        pytest.param("", "False False", id="the stand-in is gone again"),
        pytest.param("import functools", "True True", id="the real module stays"),
    ],
)
def test_functools_is_not_loaded_for_sqlite(before: str, loaded: str) -> None:
    code = OPEN % (str(PLUGIN_ROOT) + "/scripts", before)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], check=True, capture_output=True, encoding="utf-8"
    )
    assert done.stdout.splitlines() == [loaded, "3 reduce"]
