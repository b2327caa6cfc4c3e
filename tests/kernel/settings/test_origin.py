"""The origin of a key's value."""

from __future__ import annotations

from memory_plugin.kernel.settings.advice import nested, origins, problem_record
from tests.kernel.settings.files import PROJECT, USER, Box, block


def test_each_key_names_its_layer_its_file_and_what_was_refused(box: Box) -> None:
    user = box.write(USER, block("search.limit", 5))
    project = box.write(PROJECT, block("search.limit", 6))
    (row,) = origins(box.load(), "search")
    assert (row.key, row.value, row.layer, row.file) == ("search.limit", 5, "user", user)
    assert [problem.file for problem in row.refused] == [project]


def test_a_prefix_is_a_block_and_not_the_beginning_of_a_name(box: Box) -> None:
    settings = box.load()
    assert [row.key for row in origins(settings, "judge.caps")] == [
        "judge.caps.session_usd",
        "judge.caps.day_usd",
        "judge.caps.request_usd",
    ]
    assert origins(settings, "judge.cap") == []
    assert len(origins(settings)) == len(settings.all_keys())


def test_nested(box: Box) -> None:
    assert nested(origins(box.load(), "judge.caps")) == {
        "judge": {"caps": {"session_usd": 0.25, "day_usd": 1.0, "request_usd": 2.0}}
    }


def test_a_problem_as_a_record(box: Box) -> None:
    path = box.write(USER, block("search.limit", "x"))
    assert problem_record(box.load().problems[0]) == {
        "kind": "value",
        "file": path,
        "line": 4,
        "key": "search.limit",
        "expected": "a whole number from 1 to 100",
        "got": '"x"',
        "hint": "until it is fixed, the value of another layer or the default counts",
    }
