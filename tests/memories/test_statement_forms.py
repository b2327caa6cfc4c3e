"""The category of a statement that names none: by its form, on lines that people type, and on the examples of each form."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from memory_plugin.kernel.paths import load_data
from memory_plugin.memories.statements import statement_category

with open(os.path.join(os.path.dirname(__file__), "one_line_saves.json"), encoding="utf-8") as _file:
    SAVES: dict[str, list[dict[str, str]]] = {
        name: rows for name, rows in json.load(_file).items() if name != "reason"
    }
FORMS: list[dict[str, Any]] = load_data("memories", "importing")["forms"]


def test_the_form_of_a_statement_decides_its_category() -> None:
    assert [row for row in SAVES["read"] if statement_category(row["text"]) != row["category"]] == []


def test_the_form_decides_for_statements_that_were_not_read() -> None:
    right = [statement_category(row["text"]) == row["category"] for row in SAVES["held_out"]]
    assert (sum(right), len(right)) == (24, 25)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form["id"])
def test_a_form_has_examples(form: dict[str, Any]) -> None:
    assert {statement_category(text) for text in form["hit"]} == {form["category"]}
    assert form["category"] not in {statement_category(text) for text in form["miss"]}
    assert form["reason"]


@pytest.mark.parametrize("piece", [*"a -,.no", "fails ", "when it fails ", "run, "])
def test_a_long_statement_is_fast(piece: str) -> None:
    start = time.process_time()
    statement_category("to " + piece * (20_000 // len(piece)))
    statement_category(piece * (20_000 // len(piece)))
    assert time.process_time() - start < 1
