"""Problems of settings files: each has its line and a hint."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_plugin.kernel.settings.user_file import (
    problem_record,
    problem_sentence,
    readable,
    unknown_key_hint,
)
from memory_plugin.kernel.text.clean import terminal_safe
from tests.kernel.settings.files import PROJECT, USER, Box, block


@pytest.fixture
def box(tmp_path: Path) -> Box:
    """Return a config folder and a project, both without settings."""
    return Box(str(tmp_path))


SECRET = "-".join(["sk", "ant", "api03", "x" * 40])


def test_nearest() -> None:
    cases = [
        ("retrieval.max_injct", "retrieval.max_inject"),
        ("retreival.max_inject", "retrieval.max_inject"),
        ("retreival", "retrieval"),
        ("max_inject", "retrieval.max_inject"),
        ("keep_text", "ledger.keep_text"),
        ("retrieval.judge.timeout", "retrieval.judge.timeout_per_call"),
        ("somewhere.else.entirely.max_inject", "retrieval.max_inject"),
        ("zzz", ""),
        ("", ""),
    ]
    assert [
        (key, near)
        for key, near in cases
        if unknown_key_hint(key)
        != (near and "nearest key: %s; " % near) + "`memory config show` lists all keys"
    ] == []


def test_a_whole_sentence(box: Box) -> None:
    path = box.write(USER, {"theme": "dark", "memory": {"retrieval": {"max_injct": 2}}})
    assert problem_sentence(box.load().problems[0]) == (
        path + ":5: retrieval.max_injct: expected a known key, got one that does not exist;"
        " nearest key: retrieval.max_inject; `memory config show` lists all keys"
    )


def test_an_unknown_id_in_a_list_is_named_with_the_nearest(box: Box) -> None:
    path = box.write(USER, block("hygiene.allow", ["email", "credit_card"]))
    settings = box.load()
    assert problem_sentence(settings.problems[0]) == (
        path
        + ':4: hygiene.allow: expected a list of known ids, got one with "credit_card"; nearest: credit-card;'
        " until it is fixed, the default counts unless another file sets it"
    )
    assert settings.texts("hygiene.allow") == []


def test_a_refused_key_says_where_it_belongs(box: Box) -> None:
    path = box.write(PROJECT, block("retrieval.max_inject", 9))
    assert problem_sentence(box.load().problems[0]) == (
        path + ":4: retrieval.max_inject: expected at most 3 in a project's file, the value of your own"
        " settings, got 9; remove the key from this file; to set it for yourself,"
        " run: memory config set retrieval.max_inject VALUE"
    )


@pytest.mark.parametrize(
    ("key", "own", "value", "expected"),
    [
        pytest.param("retrieval.enabled", False, True, "expected at most false in a", id="a switch"),
        pytest.param("retrieval.match_strategy", "keyword", "fts5_bm25", 'expected at most "keyword" in a', id="a choice"),
        pytest.param("ledger.keep_text", [], ["prompts"], "expected at most [] in a", id="a list"),
    ],
)  # fmt: skip
def test_what_a_project_may_set_is_said_in_words(
    key: str, own: object, value: object, expected: str, box: Box
) -> None:
    box.write(USER, block(key, own))
    box.write(PROJECT, block(key, value))
    (problem,) = box.load().problems
    assert expected in problem_sentence(problem)


def test_a_broken_file_says_its_line(box: Box) -> None:
    box.write(USER, '{\n  "a": 1,\n  "b" 2\n}')
    problem = box.load().problems[0]
    assert (problem_record(problem)["line"], problem.key) == (3, "")
    assert problem_sentence(problem) == box.path(USER) + (
        ":3: expected JSON, got a text that is not JSON; fix the file; until then it counts as empty"
    )


def test_the_line_of_a_key_in_a_file_that_is_gone(box: Box) -> None:
    path = box.write(USER, block("retrieval.max_inject", "x"))
    problem = box.load().problems[0]
    os.unlink(path)
    assert (problem_record(problem)["line"], path in problem_sentence(problem)) == (None, True)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(block("judge.key_variable", SECRET), id="a key instead of its name"),
        pytest.param(block("judge.base_url", "https://u:%s@h" % SECRET), id="a key in a URL"),
        pytest.param(block("judge.api_key", SECRET), id="a key that does not exist"),
        pytest.param(block("judge.backend", SECRET), id="a key for a choice"),
        pytest.param(block("hygiene.allow", SECRET), id="a key for a list"),
        pytest.param(block("hygiene.allow", [SECRET]), id="a key in a list"),
        pytest.param({"memory": SECRET}, id="a key for a block"),
    ],
)
def test_no_secret_is_repeated(box: Box, content: object) -> None:
    box.write(USER, content)
    (problem,) = box.load().problems
    assert SECRET not in problem_sentence(problem)


def test_a_key_cannot_talk_to_the_terminal(box: Box) -> None:
    box.write(PROJECT, {"memory": {"a\x1b[2J\u202e\n\ud800" + "x" * 500: 1}})
    text = problem_sentence(box.load().problems[0])
    assert text.isprintable()
    assert text.isascii()
    assert len(text) < 400


def test_names_are_cut_and_paths_are_not() -> None:
    assert (len(readable("x" * 500)), len(terminal_safe("x" * 500))) == (80, 500)


def test_a_problem_as_a_record(box: Box) -> None:
    path = box.write(USER, block("interview.max_turns", "x"))
    assert problem_record(box.load().problems[0]) == {
        "kind": "value",
        "file": path,
        "line": 4,
        "key": "interview.max_turns",
        "expected": "a whole number from 1 to 200",
        "got": '"x"',
        "hint": "until it is fixed, the default counts unless another file sets it",
    }
