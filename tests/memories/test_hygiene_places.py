"""Secrets in unusual places of a memory: field names, numbers, our own fields, values that only their name reveals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_plugin.memories.hygiene import clean_data
from memory_plugin.memories.record import body_text, categories, parse_memory

TOKEN = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
CARD = 4111111111111111


def data(**fields: object) -> dict[str, Any]:
    """Return a memory's data with some fields replaced or added."""
    return {
        "schema_version": "1.0", "category": "decision", "id": "a", "title": "A", "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02", "record_status": "active", "content": {"decision": "b"}, **fields,
    }  # fmt: skip


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"content": {"decision": "b", TOKEN: "x"}}, id="a name in the content"),
        pytest.param({"content": {"decision": "b", "a": [{"b_" + TOKEN: 1}]}}, id="a name deep in it"),
        pytest.param({TOKEN: "x"}, id="a name beside it"),
        pytest.param({"content": {"decision": "b", "card": CARD}}, id="a number"),
        pytest.param({"content": {"decision": "b", "password": "hunter2isgreat99"}}, id="told by its name"),
        *(pytest.param({name: TOKEN}, id=name) for name in ("schema_version", "created_at", "updated_at", "retired_at")),
    ],
)  # fmt: skip
def test_no_place_keeps_a_secret(fields: dict[str, Any]) -> None:
    cleaned, redacted = clean_data(data(**fields))
    written = json.dumps([cleaned, redacted])
    assert redacted
    assert not [secret for secret in (TOKEN, str(CARD), "hunter2isgreat99") if secret in written]


def test_private_passages_go_out_of_names_as_well() -> None:
    cleaned, _ = clean_data(data(content={"decision": "b", "<private>hush</private>x": 1}))
    assert cleaned["content"] == {"decision": "b", "x": 1}


def test_ordinary_fields_stay_as_they_are() -> None:
    stored_data = data(
        confidence=0.5,
        times_updated=3,
        content={"decision": "b", "ticket": 20260102, "ratio": 0.25, "ok": True},
    )
    assert clean_data(stored_data) == (stored_data, [])


def test_an_irregular_field_name_stays_unchanged_for_the_rules() -> None:
    memory = parse_memory(
        data(content={"decision": "b", TOKEN: "x", "key_moves": "y"}), "a", categories()["decision"]
    )
    assert body_text(memory).split("\n") == ["b", '"%s": x' % TOKEN, '"key_moves": y']
