"""Titles of imported statements: cut at the end of a clause, and never a number or a general word."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import data_path
from memory_plugin.memories.import_titles import (
    is_general,
    shortened,
    subject_of,
    title_for,
    without_markdown,
    without_number,
    without_self_description,
)
from memory_plugin.memories.markdown import sections
from memory_plugin.memories.markdown_rules import statements_in
from memory_plugin.memories.record import MAX_TITLE

with open(data_path("memories", "importing.json"), encoding="utf-8") as file:
    IMPORTING = json.load(file)


@pytest.mark.parametrize(
    "heading", ["Testing", "Decision", "17", "Testing 0", "ADR-0007", "Notes 3", "", "Code style"]
)
def test_a_heading_that_says_nothing(heading: str) -> None:
    assert is_general(heading)


@pytest.mark.parametrize("heading", ["Use Postgres", "Record architecture decisions", "Billing"])
def test_a_heading_that_says_something(heading: str) -> None:
    assert not is_general(heading)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("**Never** mock [the database](db.md). It hides `JOIN` bugs.", "Never mock the database"),
        ("Use tools, e.g. Ruff, in CI.", "Use tools, e.g. Ruff, in CI"),
        ("- [x] Pin versions exactly.", "Pin versions exactly"),
        ("Node 20.1 is required. Older ones fail.", "Node 20.1 is required"),
        ("Tabs.", "Style: Tabs"),
        ("The web app has one backend. `packages/rules` holds the rules.", "The web app has one backend"),
    ],
)
def test_the_first_sentence_is_the_title(text: str, title: str) -> None:
    assert title_for(text, "Style") == title


@pytest.mark.parametrize(
    ("title", "rest"),
    [
        ("7. Use Redis", "Use Redis"),
        ("ADR-012: Use Redis", "Use Redis"),
        ("Decision: Postgres", "Postgres"),
        ("3 - CoAP", "CoAP"),
        ("2 databases are enough", "2 databases are enough"),
        ("Decisions are recorded", "Decisions are recorded"),
        ("ADR 7", "ADR 7"),
        ("0012 Use Redis", "Use Redis"),
    ],
)
def test_the_number_of_a_record_is_no_title(title: str, rest: str) -> None:
    assert without_number(title) == rest


@given(st.text(max_size=400))
def test_any_text_has_a_short_title(text: str) -> None:
    assert len(title_for(text, "Heading")) <= MAX_TITLE
    assert "\n" not in without_markdown(text)


def test_a_long_title_ends_with_a_clause() -> None:
    text = (
        "Readings are buffered in RocksDB for seven days, because the uplink is lost in winter, "
        + "and so on " * 9
    )
    assert (
        shortened(text)
        == "Readings are buffered in RocksDB for seven days, because the uplink is lost in winter"
    )


def titles_and_contexts(text: str) -> list[tuple[str, str]]:
    return [
        (statement.title, statement.context)
        for section in sections(text)
        for statement in statements_in(section)
    ]


@pytest.mark.parametrize("sentence", IMPORTING["self_descriptions"]["hit"])
def test_a_sentence_about_the_document_itself_is_left_out(sentence: str) -> None:
    assert without_self_description(sentence) == ""
    assert without_self_description(sentence + " Run make test.\nAnd more.") == "Run make test.\nAnd more."


@pytest.mark.parametrize("sentence", IMPORTING["self_descriptions"]["miss"])
def test_a_sentence_with_a_statement_of_its_own_is_kept(sentence: str) -> None:
    assert without_self_description(sentence) == sentence


@pytest.mark.parametrize("heading", IMPORTING["introductions"]["hit"])
def test_an_introduction_is_no_part_of_the_subject(heading: str) -> None:
    assert subject_of(heading) != heading


@pytest.mark.parametrize("heading", IMPORTING["introductions"]["miss"])
def test_any_other_heading_is_the_subject(heading: str) -> None:
    assert subject_of(heading) == heading


def test_an_introduction_to_the_document_is_no_memory() -> None:
    text = "# Acme\n\nThis file provides guidance to Claude Code.\n\n## Notes on deployment\n\nWe deploy on Tuesdays. Never on Fridays.\n"
    assert titles_and_contexts(text) == [("We deploy on Tuesdays", "")]


def test_an_introduction_in_the_middle_is_the_context_of_its_list() -> None:
    text = "## Queue\nJobs live in Redis.\n\nSome notes on retries:\n\n- Jobs are retried three times.\n- Never delete a job by hand.\n"
    assert titles_and_contexts(text) == [
        ("Jobs live in Redis", ""),
        ("Jobs are retried three times", "Some notes on retries:"),
        ("Never delete a job by hand", "Some notes on retries:"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "## Coding rules\n1. No floats for money.\n2. Every migration is reversible.\n",
        "## Billing\nThese rules apply:\n\n1) No floats for money.\n2) Every migration is reversible.\n",
    ],
)
def test_numbered_rules_are_single_statements(text: str) -> None:
    titles = [title for title, _ in titles_and_contexts(text)]
    assert titles == ["No floats for money", "Every migration is reversible"]


def test_lines_are_counted_after_a_sentence_is_left_out() -> None:
    (section,) = sections(
        "# Acme\n\nThis page lists our rules.\n\n- Never mock the database.\n- Use pnpm, not npm.\n"
    )
    assert [statement.line for statement in statements_in(section)] == [5, 6]


def test_each_list_item_is_a_rule_with_its_nested_text() -> None:
    text = "## Testing\nThe CI has two cores.\n\n- Never mock the database.\n  It hides bugs.\n  - not once\n- Run the slow tests last.\n"
    assert titles_and_contexts(text) == [
        ("Never mock the database", "The CI has two cores."),
        ("Run the slow tests last", "The CI has two cores."),
    ]


def test_names_in_a_list_are_one_statement() -> None:
    assert titles_and_contexts("## Stack\n- Node 20\n- Postgres 16\n- Redis\n") == [
        ("Stack: Node 20, Postgres 16, Redis", "")
    ]


def test_a_procedure_stays_together() -> None:
    assert titles_and_contexts(
        "## Release a version\n1. Tag it.\n2. Push it.\n\n```sh\nmake publish\n```\n"
    ) == [("Release a version", "")]


def test_a_list_in_a_code_fence_is_code() -> None:
    assert titles_and_contexts("## Config file\n```yaml\n- a: 1\n- b: 2\n```\n") == [
        ("Config file: a: 1", "")
    ]
