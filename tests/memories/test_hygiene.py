"""Secrets and private text never reach a memory's file, and nothing else is lost."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.hygiene import choose
from memory_plugin.memories import InvalidMemory
from memory_plugin.memories.hygiene import clean_data, shown, shown_block, shown_items, shown_line
from memory_plugin.memories.record import MAX_TITLE, categories, new_memory

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LONG_SECRET = "sk-ant-" + "api03-" + "kZ8wQ2rT5yU7iO9pA3sD6fG1hJ4kL0zX" * 3 + "-AA"
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)


def data(title: str = "Title", body: str = "Body", **fields: object) -> dict[str, Any]:
    return {**new_memory(categories()["decision"], "", title, {"decision": body}, {}), **fields}


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "use " + SECRET},
        {"content": {"decision": "use " + SECRET}},
        {"content": {"decision": "x", "alternatives": [{"option": "use " + SECRET}]}},
        {"tags": [SECRET]},
        {"related_files": ["src/" + SECRET]},
        {"asked_as": ["where is " + SECRET]},
        {"source": {"quote": SECRET}},
        {"unknown": {"deep": [[SECRET]]}},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_secret_is_removed_from_every_field(fields: dict[str, object]) -> None:
    cleaned, redacted = clean_data({**data(), **fields})
    assert SECRET not in str(cleaned)
    assert [found.field.partition(".")[0] for found in redacted] == list(fields)


def test_a_repeated_text_is_redacted_by_the_rules_in_force() -> None:
    card = "card 4111 1111 1111 1111"
    before = shown(card)
    choose(["credit-card"], [])
    try:
        assert shown(card) == card
    finally:
        choose([], [])
    assert "1111" not in before
    assert shown(card) == before


def test_private_passages_and_hidden_characters_go() -> None:
    cleaned, _ = clean_data(data("A\u202eb\u200b\x1b[31m", "keep <private>not this</private> that\U000e0041"))
    assert cleaned["title"] == "Ab[31m"
    assert cleaned["content"] == {"decision": "keep  that"}


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "<private>x</private>"},
        {"title": "\u200b"},
        {"content": {"decision": "<private>x"}},
        {"content": {}},
    ],
)
def test_a_memory_of_which_nothing_is_left_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidMemory, match=r"nothing is left"):
        clean_data({**data(), **fields})


def test_deep_nesting_is_refused() -> None:
    value: object = "x"
    for _ in range(100):
        value = {"a": value}
    with pytest.raises(InvalidMemory, match="nested more than"):
        clean_data(data(extra=value))


def test_long_texts_many_tags_and_long_names_are_kept_whole() -> None:
    long, tags, name = "word " * 20_000 + "end", ["t%d" % n for n in range(60)], "n" * 100
    cleaned, _ = clean_data(data(content={"decision": long, name: "x"}, tags=tags))
    assert cleaned["content"] == {"decision": long, name: "x"}
    assert cleaned["tags"] == tags


def test_titles_and_tags_are_one_line_and_bounded() -> None:
    cleaned, _ = clean_data(data("two\nlines " + "x" * 200, tags=["a,b\nc", "a,b\nc", "", 7]))
    assert cleaned["title"].startswith("two lines ")
    assert len(cleaned["title"]) == MAX_TITLE
    assert cleaned["tags"] == ["a b c"]


def test_fields_that_are_no_text_stay_as_they_are() -> None:
    cleaned, redacted = clean_data(data(confidence=0.5, times_updated=3, flag=True, nothing=None))
    assert (cleaned["confidence"], cleaned["times_updated"], cleaned["flag"], cleaned["nothing"]) == (
        0.5,
        3,
        True,
        None,
    )
    assert redacted == []


@given(st.text(), st.text())
def test_no_text_carries_hidden_characters_into_a_file_or_onto_a_screen(title: str, body: str) -> None:
    assert not HIDDEN.search(shown(body))
    try:
        cleaned, _ = clean_data(data(title, body))
    except InvalidMemory:
        return
    assert not HIDDEN.search(cleaned["title"] + cleaned["content"]["decision"])
    again, redacted = clean_data(cleaned)
    assert (again, redacted) == (cleaned, [])


@pytest.mark.parametrize(
    "before",
    ["x ", "\u200b", "\n", "token=Qw8zXk2LpR5tYv9B " * 20],
    ids=["plain", "hidden", "lines", "secrets"],
)
def test_no_half_of_a_secret_is_left_at_a_cut(before: str) -> None:
    for at in (60, 70, 80, 119, 120, 121, 10_100, 10_119, 10_121, 10_200):
        text = ((before * at)[:at] + " " + LONG_SECRET + " ") + "end " * 5000
        for shown_text in (shown_line(text, 120), shown_block(text, 120)):
            assert "kZ8wQ2" not in shown_text, at
            assert "sk-ant-api03" not in shown_text, at
            assert len(shown_text) <= 120, at


def test_each_item_is_redacted() -> None:
    cases = [
        ([], []),  # none
        (["a", " b ", "a"], ["a", "b", "a"]),  # plain
        (["a", SECRET, "b"], ["a", "[redacted:github-token]", "b"]),  # a secret
        (["a", "\u200b", "b"], ["a", "", "b"]),  # nothing visible
        (["two\nlines", SECRET], ["two lines", "[redacted:github-token]"]),  # a line break
        (["x"] * 70 + [SECRET], ["x"] * 70 + ["[redacted:github-token]"]),  # many
        (["x\ry"] * 70, ["x y"] * 70),  # many with line breaks
    ]
    assert [(items, expected) for items, expected in cases if shown_items(items, 200) != expected] == []


PASSWORD = "kZ8w" + "Qm4tRx2v"


@pytest.mark.parametrize(
    "content",
    [
        {"password": PASSWORD + " with space"},
        {"password": "with space " + PASSWORD},
        {"DB_PASSWORD": [PASSWORD]},
        {"DB_PASSWORD": ["", [PASSWORD]]},
        {"api_key": {"value": PASSWORD}},
        {"api_key": {"value": [PASSWORD]}},
        {"api_key": {"prod": PASSWORD, "staging": PASSWORD}},
        {"env": [{"token": PASSWORD}]},
    ],
)
def test_a_fields_name_counts_for_lists_and_objects_in_it(content: dict[str, Any]) -> None:
    cleaned, redacted = clean_data({"title": "x", "content": content})
    assert PASSWORD not in json.dumps(cleaned)
    assert redacted
    assert clean_data(cleaned) == (cleaned, [])


@pytest.mark.parametrize(
    "content", [{"password": {"policy": "at least 12 characters"}}, {"token": {"header": "X-Api-Version2"}}]
)
def test_what_is_said_about_a_secret_is_kept(content: dict[str, Any]) -> None:
    assert clean_data({"title": "x", "content": content})[0]["content"] == content


@pytest.mark.parametrize("between", [":\u00a0", ":\n ", " -> ", "\uff1a"])
def test_a_disguised_password_in_a_title_is_removed(between: str) -> None:
    cleaned, _ = clean_data({"title": "Staging password" + between + PASSWORD, "content": {"a": "b"}})
    assert PASSWORD not in cleaned["title"]
