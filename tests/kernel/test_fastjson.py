"""JSON and BLAKE2 from the C modules agree with the public modules, and work without the C modules."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel import fastjson, sqlite
from memory_plugin.kernel.fastjson import as_integer, as_number, as_text, as_texts
from tests.project import PLUGIN_ROOT

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
NOT_JSON = [
    pytest.param("", id="nothing"),
    pytest.param(" \n", id="only space"),
    pytest.param("{", id="an object that never ends"),
    pytest.param('{"a":}', id="a key without a value"),
    pytest.param("[1,]", id="a comma too many"),
    pytest.param("1 2", id="two values"),
    pytest.param("{} x", id="text after the value"),
    pytest.param("NaN", id="not a number"),
    pytest.param("[-Infinity]", id="infinity"),
    pytest.param('"a\nb"', id="a line break in a string"),
    pytest.param('"\\x"', id="an unknown escape"),
    pytest.param("'a'", id="single quotes"),
    pytest.param("\x00", id="a NUL"),
    pytest.param("\ufeff{}", id="a byte order mark"),
    pytest.param("[" * 200_000, id="nested too deeply"),
    pytest.param('{"a":' * 200_000, id="objects nested too deeply"),
]


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    text = fastjson.dumps(value)
    assert text.isascii()
    assert fastjson.loads(text) == value
    assert json.loads(text) == value


@given(VALUES, st.sampled_from([None, 1, "\t"]))
def test_it_reads_what_the_public_module_writes(value: object, indent: int | str | None) -> None:
    assert fastjson.loads(" \r\n" + json.dumps(value, indent=indent, ensure_ascii=False) + "\n") == value


def refuse(name: str) -> float:
    """Reject NaN and infinity, which the public module accepts by default."""
    raise ValueError(name)


@given(st.text() | st.text(alphabet='[]{}",:0123456789.eE+-truefalsn \n\\u'))
def test_any_text_is_read_as_the_public_module_reads_it_or_refused(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=refuse)
    except ValueError:
        with pytest.raises(ValueError, match=r"\S"):
            fastjson.loads(text)
    else:
        assert fastjson.loads(text) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param('{"a": {"any": ["x", "y"]}}', {"a": "(?:x|y)"}, id="alternatives"),
        pytest.param('[{"lines": ["a b", "c"]}]', ["a b c"], id="lines of words"),
        pytest.param('{"all": ["^", {"any": ["x", "y"]}, "$"]}', "^(?:x|y)$", id="parts that hold parts"),
        pytest.param('{"any": "x"}', {"any": "x"}, id="no list"),
        pytest.param('{"any": ["x", 1]}', {"any": ["x", 1]}, id="a list of something else"),
        pytest.param('{"any": ["x"], "all": ["y"]}', {"any": ["x"], "all": ["y"]}, id="more than one key"),
    ],
)
def test_a_text_of_our_own_data_may_be_spelled_in_parts(text: str, value: object) -> None:
    assert fastjson.loads(text, joins=True) == value
    assert fastjson.loads(text) == json.loads(text)


@pytest.mark.parametrize("text", NOT_JSON)
def test_invalid_json_raises_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        fastjson.loads(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf]], ids=repr)
def test_numbers_that_json_has_not_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        fastjson.dumps(value)


def test_circles_and_depth_are_value_errors() -> None:
    circle: list[object] = []
    circle.append(circle)
    deep: list[object] = []
    for _ in range(200_000):
        deep = [deep]
    for value in (circle, deep):
        with pytest.raises(ValueError, match=r"\S"):
            fastjson.dumps(value)
    while deep:  # taken apart by hand: freeing it at once is as deep
        deep = deep[0]  # type: ignore[assignment]


@pytest.mark.parametrize("value", [b"x", {1, 2}, object], ids=["bytes", "set", "class"])
def test_dumps_raises_type_error_for_unsupported_values(value: object) -> None:
    with pytest.raises(TypeError):
        fastjson.dumps(value)


def test_a_lone_surrogate_survives() -> None:
    assert fastjson.loads(fastjson.dumps("\ud800")) == "\ud800"


@given(st.binary(), st.integers(1, 64))
def test_the_digest_is_blake2b(data: bytes, size: int) -> None:
    assert fastjson.digest(data, size) == hashlib.blake2b(data, digest_size=size).hexdigest()


def test_sqlite_is_the_one_of_the_public_module() -> None:
    assert sqlite.connect is not None
    assert issubclass(sqlite3.OperationalError, sqlite.SqliteError)
    connection = sqlite.connect(":memory:")
    assert connection.execute("SELECT sqlite_version()").fetchone() == (sqlite3.sqlite_version,)
    with pytest.raises(sqlite.SqliteError):
        connection.execute("SELECT nothing")
    connection.close()


WITHOUT_C = """
import sys
for name in ("_json", "_sqlite3"):
    sys.modules[name] = None  # importing it raises ImportError
from memory_plugin.kernel.fastjson import as_integer, as_number, as_text, as_texts, dumps, loads
from memory_plugin.kernel.sqlite import SqliteError, connect
"""
SAME = """
assert loads(' {"a": [1, 2.5, null, true]} ') == {"a": [1, 2.5, None, True]}
assert loads('{"a": {"any": ["x", "y"]}}', joins=True) == {"a": "(?:x|y)"}
assert dumps({"a": ["\\xe9", None]}) == '{"a":["\\\\u00e9",null]}'
try:
    connect(":memory:")
except SqliteError as error:
    print(error)
"""
REFUSED = """
for text in ("", "{", "1 2", "[" * 100000, "NaN"):
    try:
        loads(text)
    except ValueError:
        continue
    print("took", text[:9])
try:
    dumps(float("nan"))
    print("wrote NaN")
except ValueError:
    print("all refused")
"""


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param(
            SAME,
            "this Python has no SQLite\n",
            id="the same values; SQLite is gone, for the public module needs C too",
        ),
        pytest.param(REFUSED, "all refused\n", id="the same is refused"),
    ],
)
def test_an_interpreter_without_the_c_modules_uses_the_public_ones(script: str, said: str) -> None:
    command = [sys.executable, "-S", "-c", WITHOUT_C + script]
    env = {"PYTHONPATH": os.path.join(PLUGIN_ROOT, "scripts")}
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert (done.stdout.decode(), done.stderr.decode()) == (said, "")


@pytest.mark.parametrize(
    ("value", "text", "texts", "number", "integer"),
    [
        pytest.param("a", "a", [], None, None, id="a text"),
        pytest.param(["a", 1, "b"], "", ["a", "b"], None, None, id="a list"),
        pytest.param(2, "", [], 2, 2, id="a whole number"),
        pytest.param(0.5, "", [], 0.5, None, id="a share"),
        pytest.param(True, "", [], None, None, id="true"),
        pytest.param(None, "", [], None, None, id="null"),
        pytest.param({"a": 1}, "", [], None, None, id="an object"),
    ],
)
def test_a_value_of_another_type_counts_as_missing(
    value: object, text: str, texts: list[str], number: float | None, integer: int | None
) -> None:
    found = (as_text(value), as_texts(value), as_number(value), as_integer(value))
    assert found == (text, texts, number, integer)
