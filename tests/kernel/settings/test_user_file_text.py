"""The text of an edited settings file: its order, indentation and line ends stay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memory_plugin.kernel.settings.user_file import line_of
from tests.kernel.settings.files import USER, Box, set_value

PRETTY = '{\n    "a": {\n        "b": 1,\n        "c": [1, 2]\n    },\n    "d": "x"\n}\n'


@pytest.mark.parametrize(
    ("text", "after"),
    [
        pytest.param('{"a": 1, "x": 2, "b": {"c": []}}', '{"a": 1, "b": {"c": []}}', id="one line"),
        pytest.param('{"a":1,"x":2}\n', '{"a": 1}\n', id="a dense line"),
        pytest.param('{\n  "x": 2,\n  "a": [1]\n}', '{\n  "a": [\n    1\n  ]\n}', id="two spaces"),
        pytest.param(
            '{\n\t"a": {\n\t\t"b": 1\n\t},\n\t"x": 2\n}\n', '{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n', id="tabs"
        ),
        pytest.param('\ufeff{\r\n    "a": 1,\r\n    "x": 2\r\n}\r\n', '{\n    "a": 1\n}\n', id="of Windows"),
        pytest.param('{"x": 2, "a": 1, "a": 3}', '{"a": 3}', id="of equal names the last"),
        pytest.param('{"x": 2, "a": "\u00e9"}', '{"a": "\u00e9"}', id="letters stay readable"),
        pytest.param('{"x": 2, "a": "\\ud800"}', '{"a": "\\ud800"}', id="a lone surrogate stays escaped"),
        pytest.param('{"x": 2}', "{}", id="the only key"),
    ],
)
def test_the_style_of_the_file_is_kept(box: Box, text: str, after: str) -> None:
    box.write(USER, re.sub('"x": ?2', '"memory": {"x": 2}', text).encode())
    assert set_value(box.config, "x", None).changed
    with open(box.path(USER), encoding="utf-8", newline="") as file:
        assert file.read() == after


def test_lines(tmp_path: Path) -> None:
    cases = [(("a",), 2), (("a", "c"), 4), (("d",), 6), (("e",), None), (("d", "e"), None)]
    file = tmp_path / "settings.json"
    file.write_text(PRETTY, encoding="utf-8")
    assert [(path, line) for path, line in cases if line_of(str(file), path) != line] == []
