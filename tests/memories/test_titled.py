"""Naming a memory by its id, its title or the beginning of one, as all commands resolve it."""

from __future__ import annotations

import json

import pytest

from memory_plugin.memories.record import categories, new_memory
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


def test_a_title_or_its_first_words(stored: Project) -> None:
    for name in (
        TITLE,
        "use postgres & <b> FOR",
        "Use Postgres &amp; &lt;b&gt; for the billing",
        "Use Postgres & <b> for the billing datab\u2026",
        "  Use   Postgres & ",
        "billing",
    ):
        assert stored.cli("show", name, "--json").json["id"] == "billing", name


def test_words_need_no_quotes(stored: Project) -> None:
    assert stored.cli("show", "use", "redis", "--json").json["id"] == "cache"


def test_an_id_goes_before_a_title(stored: Project) -> None:
    put(stored, "x", memory("use-postgres and more", "Not this one."))
    assert stored.cli("show", "use-postgres", "--json").json["id"] == "use-postgres"


def test_words_that_begin_several_titles_are_an_error_that_names_them(stored: Project) -> None:
    run = stored.cli("show", "use")
    assert run.returncode == 1
    assert "use: 3 memories fit; name one of billing, cache, use-postgres" in run.stderr


def test_names_beyond_the_tenth_are_counted(project: Project) -> None:
    for number in range(12):
        put(project, "step-%02d" % number, memory("Use step %02d" % number, "A step."))
    assert "step-09 and 2 more\n" in project.cli("forget", "use", "--now").stderr


def test_words_that_begin_none_are_an_error(stored: Project) -> None:
    for name in ("nothing like it", "\u2026", " "):
        assert "no memory has this id" in stored.cli("show", name).stderr, name


def test_an_active_memory_goes_before_a_superseded_one(project: Project) -> None:
    old = project.save("Four spaces for Python", "Old.")
    new = project.save("Four spaces for Python and Go", "New.", "--supersedes", old)
    assert project.cli("show", "four spaces for", "--json").json["id"] == new


NAMED = (
    "rotate-the-secret-key",
    "constraint/rotate-the-secret-key",
    "rot",
    "rotate-the-sec",
    "constraint/rotate",
    "project:constraint/rot",
    "Rotate the SECRET_KEY in March!",
    "rotate the secret_key in",
)
COMMANDS = {
    "show": ("show",),
    "edit": ("edit", "--add-tag", "x"),
    "forget": ("forget",),
    "archive": ("forget", "--keep"),
    "accept": ("accept",),
    "feedback": ("feedback", "useful"),
    "supersedes": ("save", "Rotate it in May", "--category", "constraint", "--supersedes"),
}


@pytest.fixture
def several(project: Project) -> Project:
    """Return a project with four trusted memories."""
    for category, title in (
        ("constraint", "Rotate the SECRET_KEY in March!"),
        ("decision", "Releases are cut from main"),
        ("decision", "Releases are signed"),
        ("runbook", "Constraint solver hangs"),
    ):
        name = "rotate-the-secret-key" if category == "constraint" else title.lower().replace(" ", "-")
        data = new_memory(categories()[category], name, title, {categories()[category].primary: "x"}, {})
        put(project, name, data, categories()[category].folder)
    assert project.cli("accept", "--all").returncode == 0
    return project


def test_every_form_of_a_name_means_one_memory(several: Project) -> None:
    for number, name in enumerate(NAMED):
        assert several.cli("show", name, "--json").json["id"] == "rotate-the-secret-key", name
        run = several.cli("edit", name, "--add-tag", "x%d" % number, "--json")
        assert run.json["id"] == "rotate-the-secret-key", name


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_every_command_takes_a_beginning_and_names_the_candidates(
    several: Project, words: tuple[str, ...]
) -> None:
    run = several.cli(*words, "rel")
    assert run.returncode == 1
    assert "rel: 2 memories fit; name one of releases-are-cut-from-main, releases-are-signed" in run.stderr
    assert several.cli(*words, "rot").returncode == 0


@pytest.mark.parametrize(
    "name", ["constraint", "constraint/", "project", "project:", "project:constraint/", "/"]
)
def test_a_category_or_scope_alone_is_no_name(several: Project, name: str) -> None:
    found = several.cli("show", name, "--json").json
    assert found is None or found["id"].startswith(name)


def test_a_pulled_title_captures_no_name(several: Project) -> None:
    put(several, "hostile", memory("rot", "x"))
    assert "2 memories fit" in several.cli("edit", "rot", "--add-tag", "x").stderr
    assert several.cli("show", "Rotate the SECRET_KEY in March!", "--json").json["trust"] == "trusted"


def test_phrases_that_nobody_accepted_are_shown_apart_and_not_to_claude(project: Project) -> None:
    name = project.save("Use Redis", "Redis 7.", "--asked-as", "which cache")
    path = ".claude/memory/decisions/%s.json" % name
    with open(project.root + "/" + path, encoding="utf-8") as file:
        project.write(path, {**json.load(file), "asked_as": ["which cache", "stranger's words"]})
    shown = project.cli("show", name).stdout
    assert "trusted" not in shown.partition("stranger's words")[2]
    assert "asked as: which cache\n" in shown
    assert "pending search phrases (to accept them: memory review):\n  stranger's words\n" in shown
    assert "stranger" not in project.cli("show", name, inside=True).stdout
    record = project.cli("show", name, "--json", inside=True).json
    assert (record["asked_as"], record["new_phrases"]) == (["which cache"], [])
