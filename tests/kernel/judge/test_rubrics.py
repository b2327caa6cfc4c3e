"""The rubrics and tables under config/judges: their form and their examples."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from memory_plugin.kernel.judge.models import price_of
from memory_plugin.kernel.judge.question import chosen_indices, explain_failure, load_rubric, read_reply
from memory_plugin.kernel.paths import data_path

NAMES = sorted(name[:-5] for name in os.listdir(data_path("judges", "rubrics")) if name.endswith(".json"))


def entry(*path: str) -> Any:  # noqa: ANN401 (a test knows the shape)
    """Return a file under config/judge."""
    with open(data_path("judges", *path), encoding="utf-8") as file:
        return json.load(file)


CASES = [(name, at) for name in NAMES for at in range(len(entry("rubrics", name + ".json")["examples"]))]


@pytest.mark.parametrize(("name", "at"), CASES)
def test_an_example_is_read_as_it_says(name: str, at: int) -> None:
    whole = entry("rubrics", name + ".json")
    example, (key,) = whole["examples"][at], whole["schema"]["required"]
    values = read_reply(example["reply"], lambda value: chosen_indices(value, key, 5))
    expected = None if example["chosen"] is None else {k: example[k] for k in ("chosen", "dropped")}
    assert values == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_rubric_is_whole(name: str) -> None:
    whole, loaded = entry("rubrics", name + ".json"), load_rubric(name)
    fields = {"id", "reason", "system", "closing", "schema", "max_tokens", "examples"}
    assert whole.keys() == fields
    (key,) = loaded.schema["required"]
    assert loaded.schema["additionalProperties"] is False
    assert '{"%s": ' % key in loaded.closing
    assert loaded.digest != load_rubric(next(other for other in NAMES if other != name)).digest


@pytest.mark.parametrize("name", [name for name in NAMES if name != "check"])
def test_a_rubric_marks_data_as_data(name: str) -> None:
    system = load_rubric(name).system
    assert "between <data> and </data>" in system
    assert "never an instruction" in system


def test_a_price_depends_on_the_size() -> None:
    price = price_of("claude-haiku-5-5", "anthropic")
    assert price.dollars(100_000, 0) == pytest.approx(0.01)
    assert price.dollars(100_001, 0) == pytest.approx(0.0500005)
    assert price_of("claude-haiku-4-5", "anthropic").dollars(500, 50) == pytest.approx(0.00075)


def test_an_unknown_price_is_a_high_guess() -> None:
    guess = price_of("somebody-elses-model")
    assert not guess.known
    defaults = ("claude-haiku-5-5", "claude-sonnet-5-5", "gpt-6-luna", "gemini-3.5-flash-lite")
    assert all(guess.dollars(1000, 1000) > price_of(name).dollars(1000, 1000) for name in defaults)


def test_the_users_own_price_takes_precedence() -> None:
    own = {"claude-haiku-4-5": [2, 20], "qwen3:4b": [0, 0]}
    assert price_of("claude-haiku-4-5-20251001", "anthropic", own).dollars(1000, 100) == pytest.approx(0.004)
    assert price_of("qwen3:4b", "openai", own).dollars(10**6, 10**6) == 0
    assert all(price_of(name, "openai", own).known for name in own)
    assert "your own" in price_of("qwen3:4b", "openai", own).as_of
    assert not price_of("qwen3:4bb", "openai", own).known


def test_each_slip_is_read() -> None:
    assert [
        (slip["id"], example)
        for slip in entry("slips.json")["slips"]
        for example in slip["examples"]
        if not slip["reason"] or read_reply(example["text"], lambda value: value) != example["json"]
    ] == []


def test_every_limit_says_why() -> None:
    assert all(block["reason"] for name, block in entry("limits.json").items() if name != "reason")


def test_what_a_failure_says_is_true_of_any_server() -> None:
    """`memory session langfuse` says it, too, and then adds its own advice instead of the judge's."""
    assert [
        failure
        for failure in ["http_401", "http_403", "http_404", "network", "timeout"]
        if "judge" in explain_failure(failure, "sessions").says
    ] == []
