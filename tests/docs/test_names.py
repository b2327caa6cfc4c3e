"""Each name that docs/names.md lists is still in the code or in the plugin's data."""

from __future__ import annotations

import glob
import os
import re

import pytest

from tests.docs.pages import page
from tests.project import PLUGIN_ROOT

ROWS = re.findall(r"^\| (`[^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page("docs/names.md"), re.MULTILINE)
NAMES = sorted(
    {
        word.strip("*./").rpartition("/")[2]
        for row in ROWS
        if row[3] != "replaced"
        for word in re.findall(r"`([^`]+)`", row[0])
    }
)


@pytest.fixture(scope="module")
def sources() -> str:
    """Return the text of all code and data of the plugin."""
    paths = [
        path
        for folder, pattern in (("scripts", "*.py"), ("config", "*.json"))
        for path in glob.glob(os.path.join(PLUGIN_ROOT, folder, "**", pattern), recursive=True)
    ]
    texts = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


def test_each_row_has_a_known_status() -> None:
    assert len(ROWS) > 30
    assert all(
        status.startswith(("kept", "read", "both read", "ignored", "works", "replaced"))
        for *_, status in ROWS
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_listed_name_is_still_in_use(name: str, sources: str) -> None:
    stem = name.replace(".json", "").replace("*.", "").partition("-*")[0]
    assert re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(stem), sources)
