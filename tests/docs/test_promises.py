"""The commands of docs/promises.md, run in order, print what the page says."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.docs.pages import page
from tests.docs.story import Reader
from tests.project import Project

TEXT = page("docs/promises.md")
SETUP = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
PARTS = ["Recall", "Replies", "Sessions", "Interviews", "Evaluation"]


class Promise(NamedTuple):
    """A row of the page: a promise, the command that shows it, and a part of its output."""

    text: str
    command: str
    output: str


def promises(part: str) -> list[Promise]:
    """Return the rows of a part of the page."""
    section = TEXT.partition("\n## %s\n" % part)[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| `(.+?)` \| (.+?) \|$", section, re.MULTILINE)
    return [Promise(*row) for row in rows]


@pytest.fixture
def reader(project: Project) -> Reader:
    """Return a reader who has run the page's setup blocks."""
    reader = Reader(project)
    for block in SETUP:
        run = reader.run(block)
        assert run.returncode == 0, run.stderr
    return reader


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_each_command_shows_its_promise(reader: Reader, part: str) -> None:
    rows = promises(part)
    assert len(rows) >= 6
    broken = []
    for promise in rows:
        run = reader.run(promise.command)
        if "Traceback" in run.stderr or run.returncode == 2 or promise.output not in run.stdout:
            broken.append((promise, run.stdout[-600:], run.stderr[-300:]))
    assert not broken


def test_every_part_of_the_page_is_tested() -> None:
    assert re.findall(r"^## (.+)$", TEXT, re.MULTILINE) == PARTS
