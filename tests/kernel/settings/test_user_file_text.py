"""Editing JSON as text: the value changes, and every other character stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.settings.user_file import find, line_of, members, with_value, without

PRETTY = '{\n    "a": {\n        "b": 1,\n        "c": [1, 2]\n    },\n    "d": "x"\n}\n'


@pytest.mark.parametrize(
    ("text", "path", "value", "after"),
    [
        pytest.param(PRETTY, ("a", "b"), 2, PRETTY.replace('"b": 1', '"b": 2'), id="a value replaced"),
        pytest.param(
            PRETTY,
            ("a", "b"),
            {"x": [1]},
            PRETTY.replace('"b": 1', '"b": {"x": [1]}'),
            id="an object put in a value's place",
        ),
        pytest.param(PRETTY, ("d",), [], PRETTY.replace('"x"', "[]"), id="a value of another type"),
        pytest.param(
            PRETTY,
            ("a", "e"),
            None,
            PRETTY.replace("[1, 2]", '[1, 2],\n        "e": null'),
            id="a key added as its neighbours stand",
        ),
        pytest.param(
            PRETTY,
            ("f", "g"),
            True,
            PRETTY.replace('"x"', '"x",\n    "f": {\n        "g": true\n    }'),
            id="a block added with the file's own indentation",
        ),
        pytest.param('{"a": 1, "b": 2}', ("c",), 3, '{"a": 1, "b": 2, "c": 3}', id="a file on one line"),
        pytest.param('{"a":1,"b":2}', ("c",), 3, '{"a":1,"b":2,"c": 3}', id="a dense file"),
        pytest.param("{}\n", ("a", "b"), 1, '{\n  "a": {\n    "b": 1\n  }\n}\n', id="an empty file"),
        pytest.param(
            '{\n\t"a": {}\n}', ("a", "b"), 1, '{\n\t"a": {\n\t\t"b": 1\n\t}\n}', id="an empty block, tabs"
        ),
        pytest.param(
            '{\r\n  "a": 1\r\n}\r\n',
            ("b", "c"),
            1,
            '{\r\n  "a": 1,\r\n  "b": {\r\n    "c": 1\r\n  }\r\n}\r\n',
            id="CRLF",
        ),
        pytest.param('\ufeff{"a": 1}', ("a",), 2, '\ufeff{"a": 2}', id="a byte order mark"),
        pytest.param('{"a": 1, "a": 2}', ("a",), 3, '{"a": 1, "a": 3}', id="a name that stands twice"),
        pytest.param('{"\\u0061": 1}', ("a",), 2, '{"\\u0061": 2}', id="an escaped name"),
        pytest.param(
            '{"x": "\\ud800", "a": 1}',
            ("a",),
            2,
            '{"x": "\\ud800", "a": 2}',
            id="a surrogate that stays escaped",
        ),
    ],
)
def test_setting(text: str, path: tuple[str, ...], value: object, after: str) -> None:
    assert with_value(text, path, value) == after


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        pytest.param(PRETTY, ("a", "b"), PRETTY.replace('"b": 1,\n        ', ""), id="the first key"),
        pytest.param(PRETTY, ("a", "c"), PRETTY.replace(',\n        "c": [1, 2]', ""), id="the last key"),
        pytest.param(PRETTY, ("d",), PRETTY.replace(',\n    "d": "x"', ""), id="a key after a block"),
        pytest.param('{"a": {"b": 1}}', ("a", "b"), '{"a": {}}', id="the only key"),
        pytest.param('{"a": 1, "b": 2, "a": 3}', ("a",), '{"b": 2}', id="a name that stands twice"),
        pytest.param(PRETTY, ("x",), PRETTY, id="a key that is not there"),
        pytest.param(PRETTY, ("d", "x"), PRETTY, id="a key below a text"),
    ],
)
def test_removing(text: str, path: tuple[str, ...], after: str) -> None:
    assert without(text, path) == after


def test_a_value_on_the_way_is_no_block() -> None:
    with pytest.raises(ValueError, match="not a block of keys: d"):
        with_value(PRETTY, ("d", "e"), 1)


@pytest.mark.parametrize(
    ("path", "line"), [(("a",), 2), (("a", "c"), 4), (("d",), 6), (("e",), None), (("d", "e"), None)]
)
def test_lines(path: tuple[str, ...], line: int | None) -> None:
    assert line_of(PRETTY, path) == line


def test_the_members_of_what_is_no_object() -> None:
    assert (members("[1]", 0), find("[1]", ("a",))) == ([], None)


NAMES = st.sampled_from(["a", "b", "c d", 'q"', "\u00e9", "\\"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.lists(st.integers(), max_size=3)
OBJECTS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.dictionaries(NAMES, LEAVES, max_size=3),
    lambda inner: st.dictionaries(NAMES, LEAVES | inner, max_size=4),
    max_leaves=8,
)
LAYOUTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)


def changed(content: dict[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any] | None:
    """Return the object after setting a key; None if a part of the path is not an object."""
    name, rest = path[0], path[1:]
    if not rest:
        return {**content, name: value}
    below = content.get(name, {})
    inner = changed(below, rest, value) if isinstance(below, dict) else None
    return None if inner is None else {**content, name: inner}


@given(
    content=OBJECTS, indent=LAYOUTS, ascii_only=st.booleans(), crlf=st.booleans(), path=PATHS, value=LEAVES
)
def test_setting_does_to_any_text_what_it_does_to_the_object(
    content: dict[str, Any],
    indent: int | str | None,
    path: tuple[str, ...],
    value: object,
    *,
    ascii_only: bool,
    crlf: bool,
) -> None:
    text = json.dumps(content, indent=indent, ensure_ascii=ascii_only).replace("\n", "\r\n" if crlf else "\n")
    expected = changed(content, path, value)
    if expected is None:
        with pytest.raises(ValueError, match="not a block of keys"):
            with_value(text, path, value)
        return
    after = with_value(text, path, value)
    assert json.dumps(json.loads(after)) == json.dumps(expected)  # as text: the order of keys counts
    assert with_value(after, path, value) == after
    if find(text, path) is None:
        assert json.loads(without(after, path)) == changed_back(content, path)


def changed_back(content: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the object after setting and removing a key: the blocks of its path remain."""
    if len(path) == 1:
        return content
    return {**content, path[0]: changed_back(content.get(path[0], {}), path[1:])}


def paths(content: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the path of every key."""
    below = [
        (name, *path) for name, value in content.items() if isinstance(value, dict) for path in paths(value)
    ]
    return [(name,) for name in content] + below


@given(content=OBJECTS.filter(bool), indent=LAYOUTS, data=st.data())
def test_removing_does_to_any_text_what_it_does_to_the_object(
    content: dict[str, Any], indent: int | str | None, data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(paths(content)))
    text = json.dumps(content, indent=indent)
    at = expected = json.loads(text)
    for name in path[:-1]:
        at = at[name]
    del at[path[-1]]
    assert json.dumps(json.loads(without(text, path))) == json.dumps(expected)
