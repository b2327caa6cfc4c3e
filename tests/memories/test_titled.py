"""Naming a memory by its title or the beginning of it, as the session catalog shows it."""

from __future__ import annotations

import pytest

from tests.project import Project
from tests.recall.store_files import memory, put

TITLE = "Use Postgres & <b> for the billing database, never MySQL"


@pytest.fixture
def stored(project: Project) -> Project:
    """Return a project with three memories."""
    put(project, "billing", memory(TITLE, "Postgres 15."))
    put(project, "cache", memory("Use Redis for the cache", "Redis 7."))
    put(project, "use-postgres", memory("Another title", "It has the id."))
    return project


@pytest.mark.parametrize(
    "name",
    [
        TITLE,
        "use postgres & <b> FOR",
        "Use Postgres &amp; &lt;b&gt; for the billing",
        "Use Postgres & <b> for the billing datab\u2026",
        "  Use   Postgres & ",
        "billing",
    ],
)
def test_a_title_or_its_first_words(stored: Project, name: str) -> None:
    assert stored.cli("show", name, "--json").json["id"] == "billing"


def test_words_need_no_quotes(stored: Project) -> None:
    assert stored.cli("show", "use", "redis", "--json").json["id"] == "cache"


def test_an_id_goes_before_a_title(stored: Project) -> None:
    put(stored, "x", memory("use-postgres and more", "Not this one."))
    assert stored.cli("show", "use-postgres", "--json").json["id"] == "use-postgres"


def test_words_that_begin_several_titles_are_an_error_that_names_them(stored: Project) -> None:
    run = stored.cli("show", "use")
    assert run.returncode == 1
    assert "use: 3 memories fit; name one of billing, cache, use-postgres" in run.stderr


@pytest.mark.parametrize("name", ["nothing like it", "\u2026", " "])
def test_words_that_begin_none_are_an_error(stored: Project, name: str) -> None:
    assert "no memory has this id" in stored.cli("show", name).stderr


def test_an_active_memory_goes_before_a_superseded_one(project: Project) -> None:
    old = project.save("Four spaces for Python", "Old.")
    new = project.save("Four spaces for Python and Go", "New.", "--supersedes", old)
    assert project.cli("show", "four spaces for", "--json").json["id"] == new
