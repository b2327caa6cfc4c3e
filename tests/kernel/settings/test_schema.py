"""Values against the rules of their keys: this file's table, and a public JSON Schema validator as a second opinion."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from memory_plugin.kernel.settings.schema import Rule, allowed, expected, keys, mismatch, shown
from tests.config.settings_table import leaves, schema

URL = keys()["judge.base_url"]
VARIABLE = keys()["judge.key_variable"]
SECRET = "-".join(["sk", "ant", "api03", "x" * 40])


@pytest.mark.parametrize(
    ("value", "good"),
    [
        pytest.param("", True, id="empty means the backend's own"),
        pytest.param("https://openrouter.ai/api/v1", True, id="https"),
        pytest.param("http://localhost:11434/v1", True, id="http to this machine"),
        pytest.param("http://127.0.0.1:8000", True, id="http to the loopback address"),
        pytest.param("http://[::1]:8000", True, id="http to the loopback address, version 6"),
        pytest.param("http://example.org", False, id="http elsewhere"),
        pytest.param("http://localhost.example.org", False, id="a name that begins like this machine"),
        pytest.param("http://localhost@example.org", False, id="this machine as a user's name"),
        pytest.param("https://user:word@example.org", False, id="a password"),
        pytest.param("file:///etc/passwd", False, id="a file"),
        pytest.param("http://LOCALHOST:8000", True, id="http to this machine in capitals"),
        pytest.param("http://127.0.0.2", True, id="http to another loopback address"),
        pytest.param("https://", False, id="no host"),
        pytest.param("https://?x", False, id="a query for a host"),
        pytest.param("https://example.org?key=1", False, id="a query"),
        pytest.param("https://example.org:99999", False, id="no port"),
        pytest.param("https://exa mple.org", False, id="a space"),
        pytest.param("https://example.org\n", False, id="a line break"),
        pytest.param("https://ex\u00e4mple.org", False, id="no ASCII"),
        pytest.param("http://localhost\\@example.org", False, id="a backslash"),
        pytest.param("https://example.org/" + "a" * 500, False, id="very long"),
    ],
)
def test_urls(value: str, *, good: bool) -> None:
    assert fits(URL, value) == good


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("", True),
        ("OPENROUTER_API_KEY", True),
        ("lower", False),
        ("A-B", False),
        (SECRET, False),
        ("1A", False),
    ],
)
def test_names_of_variables(value: str, *, good: bool) -> None:
    assert fits(VARIABLE, value) == good


def test_texts_that_no_model_is_called() -> None:
    assert [
        value
        for value in ["a\x1b[2J", "a\n", "\ud800", "\u202e", ""]
        if fits(keys()["retrieval.judge.model"], value)
    ] == []


PRICES = keys()["judge.prices"]


@pytest.mark.parametrize(
    ("value", "good"),
    [
        pytest.param({}, True, id="none"),
        pytest.param({"qwen3:4b": [0, 0], "org/model": [0.1, 2]}, True, id="two models"),
        pytest.param({"m": [1]}, False, id="one price"),
        pytest.param({"m": [1, 2, 3]}, False, id="three prices"),
        pytest.param({"m": [-1, 2]}, False, id="less than nothing"),
        pytest.param({"m": [1, float("inf")]}, False, id="without end"),
        pytest.param({"m": [True, 1]}, False, id="a switch"),
        pytest.param({"m": "1"}, False, id="a text"),
        pytest.param([["m", 1, 2]], False, id="a list"),
    ],
)
def test_blocks_of_names_of_the_users_own(value: object, *, good: bool) -> None:
    assert fits(PRICES, value) == good
    assert expected(PRICES) == "a block of names, each with a list of 2 numbers"


def fits(rule: Rule, value: object) -> bool:
    """Return whether nothing is wrong with a value."""
    return mismatch(rule, value) is None


ANY = st.one_of(
    st.booleans(),
    st.integers(-5, 20),
    st.integers(),
    st.floats(allow_nan=False),
    st.sampled_from(["strict", "lenient", "unsure", "always", "anthropic", "", "ask", "keyword", "a b"]),
    st.text("ab", max_size=8),
    st.lists(st.text("ab", max_size=3) | st.integers(), max_size=3),
    st.just({}),
    st.sampled_from(
        [
            {"auto": {"max_output": 2}},
            {"auto": {"max_output": -1}},
            {"code": 0.5},
            {"day_usd": 1, "week_usd": 2},
            {"m": [1, 2]},
        ]
    ),
    st.none(),
)


@cache
def second_reader(name: str) -> Draft202012Validator:
    """Return another implementation's reader of a key's rule."""
    return Draft202012Validator(dict(leaves(schema()))[name])


def different_rules() -> list[str]:
    """Return a key for each rule, without those that only one of the two readers knows: many keys have the same one."""
    by_rule: dict[str, str] = {}
    for name, entry in leaves(schema()):
        if not {"format", "x-rules"} & entry.keys():
            about_values = {key: entry[key] for key in entry.keys() - {"description", "default", "x-project"}}
            by_rule.setdefault(json.dumps(about_values, sort_keys=True), name)
    return list(by_rule.values())


@pytest.mark.parametrize("name", different_rules())
@given(value=ANY)
def test_a_second_reader_of_the_schema_agrees(name: str, value: Any) -> None:  # noqa: ANN401 (any JSON)
    rule = keys()[name]
    if rule.type == "integer" and isinstance(value, float):
        assert not fits(
            rule, value
        )  # JSON Schema takes 3.0 for an integer; a limit of 3.0 is more likely a slip
    else:
        assert fits(rule, value) == second_reader(name).is_valid(value)


def test_every_default_fits_and_every_rule_says_what_it_expects() -> None:
    for name, key in keys().items():
        assert fits(key, key.default), name
        assert expected(key), name
        assert key.project == "never" or allowed(key, key.default, key.default), name


def rule(kind: str, direction: str, **more: Any) -> Rule:  # noqa: ANN401 (any JSON)
    return Rule({"type": kind, "x-project": direction, **more})


ITEMS = {"items": {"type": "string", "maxLength": 9}, "maxItems": 9}
LIMIT, SWITCH = {"minimum": 0, "maximum": 9}, {"enum": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("kind", "more", "less", "own", "above"),
    [
        pytest.param("number", LIMIT, 1, 2, 3, id="a number"),
        pytest.param("number", LIMIT, 0.25, 0.5, 0.75, id="a share"),
        pytest.param("string", SWITCH, "a", "b", "c", id="a choice"),
        pytest.param("array", ITEMS, ["x"], ["x", "y"], ["x", "y", "z"], id="a list"),
        pytest.param("array", ITEMS, [], ["x"], ["y", "x"], id="a list in another order"),
    ],
)
def test_a_direction_allows_the_own_value_and_one_side_of_it(
    kind: str,
    more: dict[str, Any],
    less: Any,  # noqa: ANN401 (any JSON)
    own: Any,  # noqa: ANN401
    above: Any,  # noqa: ANN401
) -> None:
    lower, raised = rule(kind, "lower", **more), rule(kind, "raise", **more)
    assert [allowed(lower, value, own) for value in (less, own, above)] == [True, True, False]
    assert [allowed(raised, value, own) for value in (less, own, above)] == [False, True, True]
    for direction in ("any", "never"):
        results = [allowed(rule(kind, direction, **more), value, own) for value in (less, own, above)]
        assert results == [direction == "any"] * 3


@pytest.mark.parametrize("direction", ["lower", "raise"])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("value", [False, True])
def test_a_project_may_move_a_switch_in_one_direction_only(direction: str, *, own: bool, value: bool) -> None:
    is_allowed = value in (own, direction == "raise")
    assert allowed(rule("boolean", direction), value, own) == is_allowed


def test_lists_that_neither_hold_the_other_are_refused_both_ways() -> None:
    for direction in ("lower", "raise"):
        assert not allowed(rule("array", direction, **ITEMS), ["x"], ["y"])


def test_an_error_shows_no_text_that_could_be_a_secret() -> None:
    cases = [
        (SECRET, "a text of %d characters" % len(SECRET)),  # what may be a key
        ("a\x1bb", "a text of 3 characters"),  # what a terminal would obey
        ("yes", '"yes"'),  # a short word
        (10**47, "1" + "0" * 47),  # a number of 48 digits
        (10**48, "a number of 49 digits"),  # a number of 49 digits
        (float("inf"), "an infinite number"),  # infinity
        (float("nan"), "not a number"),
        ([SECRET], "a list"),  # a list
        ({"a": SECRET}, "a block of keys"),  # a block
        (None, "null"),  # null
        (True, "true"),  # true
    ]
    assert [(value, text) for value, text in cases if shown(value) != text] == []
