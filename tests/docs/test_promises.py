"""docs/promises.md: every command of the page is typed in its order, and prints what the page says."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.docs.pages import page
from tests.docs.story import Reader
from tests.project import Project

TEXT = page("docs/promises.md")
BEFORE = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
PARTS = ["Recall", "Replies", "Sessions", "Interviews", "Evaluation"]


class Promise(NamedTuple):
    """One row: what is promised, the command that shows it, and a piece of what that prints."""

    text: str
    command: str
    printed: str


def promises(part: str) -> list[Promise]:
    """Return the rows of a part of the page."""
    section = TEXT.partition("\n## %s\n" % part)[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| `(.+?)` \| (.+?) \|$", section, re.MULTILINE)
    return [Promise(*row) for row in rows]


@pytest.fixture
def reader(project: Project) -> Reader:
    """Return a reader who has typed the page's first block."""
    found = Reader(project)
    for block in BEFORE:
        run = found.types(block)
        assert run.returncode == 0, run.stderr
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_each_promise_is_shown_by_its_command(reader: Reader, part: str) -> None:
    rows = promises(part)
    assert len(rows) >= 6
    wrong = []
    for promise in rows:
        run = reader.types(promise.command)
        if "Traceback" in run.stderr or run.returncode == 2 or promise.printed not in run.stdout:
            wrong.append((promise, run.stdout[-600:], run.stderr[-300:]))
    assert not wrong


def test_every_part_of_the_page_is_tested() -> None:
    assert re.findall(r"^## (.+)$", TEXT, re.MULTILINE) == PARTS
