"""Every command of the README and of the other pages is run, and the README is short."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import PAGES, fences, page
from tests.docs.story import NOT_RUN, Reader, runnable
from tests.project import Project


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "README.md" else pytest.mark.slow) for name in PAGES]
)
def test_the_commands_of_a_page_work(project: Project, name: str) -> None:
    """One reader types them all from top to bottom, in a fresh home."""
    reader = Reader(project)
    for fence in fences(page(name), "sh"):
        commands = runnable(fence)
        if commands.strip():
            run = reader.run(commands)
            assert run.returncode == 0, "%s:%d\n%s\n%s%s" % (
                name,
                fence.line,
                commands,
                run.stdout,
                run.stderr,
            )


def test_the_readme_is_short_and_begins_with_the_install() -> None:
    lines = page("README.md").splitlines()
    assert len(lines) <= 140
    assert lines.index("claude plugin install memory@memory-plugin") < 35
    assert min(at for at, line in enumerate(lines) if line.startswith("> /memory:")) < 40


def test_the_readme_has_the_two_commands_that_ci_runs() -> None:
    lines = re.findall(
        r"^python3 (?:scripts/memory\.py demo|-m venv .* -m pytest).*$", page("README.md"), re.MULTILINE
    )
    assert lines == [
        "python3 scripts/memory.py demo",
        (
            "python3 -m venv ../memory-venv && ../memory-venv/bin/pip install -q -e '.[test]' "
            "&& ../memory-venv/bin/python -m pytest -q -n auto"
        ),
    ]  # the environment is beside the clone, because an install copies the clone's whole folder


@pytest.mark.parametrize("pattern", NOT_RUN)
def test_every_excluded_command_is_still_on_a_page(pattern: str) -> None:
    lines = [line for name in PAGES for fence in fences(page(name), "sh") for line in fence.text.splitlines()]
    assert any(re.match(pattern, line) for line in lines)
