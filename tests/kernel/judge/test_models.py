"""The table of model families: its examples, its form, and the families of the default models."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from memory_plugin.kernel.judge.models import (
    family_of,
    model_table,
    price_of,
    priced_family,
    rejected_parts,
)
from memory_plugin.kernel.judge.question import Question, load_rubric
from memory_plugin.kernel.judge.vendors import VENDORS
from memory_plugin.kernel.paths import data_path
from memory_plugin.kernel.settings.load import load

ENTRIES: list[dict[str, Any]] = model_table()["models"]
DATE = re.compile(r"20\d\d-[01]\d-[0-3]\d\Z")
SCHEMAS = {"anthropic": "output_config.format", "openai": "response_format", "gemini": "responseJsonSchema"}
TOKENS = {
    "anthropic": {"max_tokens"},
    "openai": {"max_tokens", "max_completion_tokens"},
    "gemini": {"maxOutputTokens"},
}


def entry_with_id(identity: str) -> dict[str, Any]:
    """Return the entry of that id."""
    return next(entry for entry in ENTRIES if entry["id"] == identity)


def test_every_entry_finds_what_it_says() -> None:
    for entry in ENTRIES:
        assert entry["hit"]
        assert entry["miss"]
        for name in entry["hit"]:
            assert family_of(name, entry["backend"]).id == entry["id"], name
        for name in entry["miss"]:
            assert family_of(name, entry["backend"]).id != entry["id"], name


def test_every_entry_is_complete() -> None:
    for entry in ENTRIES:
        fields = "id backend reason prefixes thinking effort tokens schema room more_tokens price ends then source as_of hit miss"
        assert list(entry) == fields.split()
        assert entry["reason"]
        assert entry["source"].startswith("https://")
        assert DATE.match(entry["as_of"])
        assert entry["ends"] is None or DATE.match(entry["ends"])
        assert entry["then"] is None or entry["ends"]
        assert entry["schema"] == SCHEMAS[entry["backend"]]
        assert entry["tokens"] in TOKENS[entry["backend"]]
        tiers = entry["price"] or [{"in": 0, "out": 0}]
        bounds = [tier.get("up_to") for tier in tiers]
        assert bounds[-1] is None
        assert all(isinstance(bound, int) for bound in bounds[:-1])
        # If thinking can only be shortened, an answer needs additional room.
        off = entry["thinking"] in ({"type": "disabled"}, {"thinkingBudget": 0}) or entry["effort"] == "none"
        asks = entry["thinking"] is not None or entry["effort"] is not None
        assert off or not asks or entry["room"] >= 500


def test_ids_and_prefixes_are_unique() -> None:
    ids = [entry["id"] for entry in ENTRIES]
    assert len(set(ids)) == len(ids)
    prefixes = [(entry["backend"], prefix) for entry in ENTRIES for prefix in entry["prefixes"]]
    assert len(set(prefixes)) == len(prefixes)


@pytest.mark.parametrize("backend", list(VENDORS))
@pytest.mark.parametrize(
    "name", ["", "/", "x", "CLAUDE-HAIKU-5-5", "\u00e4", "a" * 200, "gpt-", "anthropic."]
)
def test_any_name_has_a_family(backend: str, name: str) -> None:
    assert family_of(name, backend).tokens


def test_a_model_that_another_one_answers_is_asked_in_its_form() -> None:
    before = family_of("gemini-2.5-flash", "gemini", "2026-11-30")
    after = family_of("gemini-2.5-flash", "gemini", "2026-12-01")
    assert (before.thinking, after.thinking) == ({"thinkingBudget": 0}, {"thinkingLevel": "MINIMAL"})
    assert all(
        entry["then"] is None or family_of(entry["then"], entry["backend"]).ends is None for entry in ENTRIES
    )


@pytest.mark.parametrize(
    ("model", "backend", "family"),
    [
        ("claude-haiku-5-5-20261007", "anthropic", "claude-haiku-5-5"),
        ("claude-haiku-6", "anthropic", "claude-haiku"),
        ("anthropic/claude-haiku-5-5", "openai", "claude-haiku-5-5"),
        ("google/gemini-3.5-flash-lite", "openai", "gemini-3.5-flash-lite"),
        ("gpt-6-luna", "anthropic", "gpt-6-luna"),
        ("gpt-7", "openai", None),
        ("gemma3:4b", "openai", None),
    ],
)
def test_an_unlisted_model_counts_at_the_price_of_its_family(
    model: str, backend: str, family: str | None
) -> None:
    found = priced_family(model, backend)
    assert (found.id if found else None) == family
    assert price_of(model, backend).known == (family is not None)


def test_the_defaults_are_listed_priced_and_not_about_to_end() -> None:
    settings = load(None, None)
    keys = ("retrieval", "scoring", "interview", "sessions")
    named = [("anthropic", settings.text(key + ".judge.model")) for key in keys]
    named += [tuple(name.split(":", 1)) for name in settings.texts("evaluation.judge.judges")]  # type: ignore[misc]
    for backend, model in named:
        family = family_of(model, backend)
        assert model == family.id
        assert family.price
        assert not family.ends


def test_the_file_has_one_source_of_prices() -> None:
    with open(data_path("judges", "models.json"), encoding="utf-8") as file:
        table = json.load(file)
    assert table["warn_days"] == 60
    assert table["unknown"]["reason"]


QUESTION = Question(load_rubric("relevance"), "x", lambda value: value)


def test_what_was_refused_is_not_sent_any_more() -> None:
    for entry in ENTRIES:
        family = family_of(entry["hit"][0], entry["backend"])
        for part in ("thinking", "effort", "schema", "tokens"):
            assert family.without(frozenset([part])).sent() == family.sent() - {part}
        bare = family.without(frozenset(("thinking", "effort", "schema", "tokens")))
        assert (bare.thinking, bare.effort, bare.schema, len(bare.sent())) == (None, None, "", 0)
        assert bare.max_tokens(QUESTION) >= family.max_tokens(QUESTION)


def test_the_parts_that_an_error_names() -> None:
    cases = [
        (
            b'{"error": {"message": "no thinking.type here, use output_config.effort"}}',
            {"thinking", "effort"},
        ),
        (b'{"error": {"message": "Unsupported value.", "param": "reasoning_effort"}}', {"effort"}),
        (b'{"error": {"message": "output_config: extra inputs"}}', {"effort", "schema"}),
        (b'{"error": {"message": "output_config.format: extra inputs"}}', {"schema"}),
        (b'[{"error": {"message": "Budget 0 is invalid"}}]', {"thinking"}),
        (b"'max_tokens' is not supported. Use 'max_completion_tokens'", {"tokens"}),
        (b'{"error": {"message": 5}, "detail": "nothing"}', set()),
        (b"", set()),
        (b"\xff\xfe", set()),
    ]
    assert [(body, parts) for body, parts in cases if rejected_parts(body) != parts] == []
