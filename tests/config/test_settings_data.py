"""The schema, the defaults, the README and the code agree on the settings keys."""

from __future__ import annotations

import ast
import glob
import json
import os
from functools import reduce
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from memory_plugin.kernel.hygiene.rules import PACKS, rules
from memory_plugin.kernel.settings import judge_switches
from memory_plugin.kernel.settings.schema import find_key, mismatch
from tests.config.settings_table import (
    CONFIG,
    README,
    RULES,
    SCHEMA,
    leaves,
    schema,
    scoring_text,
    with_rule_ids,
    with_table,
)
from tests.project import PLUGIN_ROOT

GETTERS = {"block", "get", "flag", "integer", "number", "text", "texts", "origin"}
KEYS = [name for name, _ in leaves(schema())]


def defaults() -> dict[str, Any]:
    """Return the content of config/defaults.json."""
    with open(os.path.join(CONFIG, "defaults.json"), encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    """Return values under dotted keys as blocks."""
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *above, last = key.split(".")
        reduce(lambda node, name: node.setdefault(name, {}), above, tree)[last] = value
    return tree


def test_the_schema_is_valid_and_accepts_the_defaults() -> None:
    Draft202012Validator.check_schema(schema())
    assert list(Draft202012Validator(schema()).iter_errors(nested(defaults()))) == []


def test_defaults_and_schema_have_the_same_keys_values_and_order() -> None:
    assert json.dumps(defaults()) == json.dumps({name: rule["default"] for name, rule in leaves(schema())})


def test_the_readme_explains_every_key() -> None:
    with open(README, encoding="utf-8") as file:
        text = file.read()
    assert text == with_table(text), "run: python3 tests/config/settings_table.py"


def test_every_key_has_bounds_a_description_and_a_rule_for_projects() -> None:
    bounds = {
        "object": {"additionalProperties"},
        "integer": {"minimum", "maximum"},
        "number": {"minimum", "maximum"},
        "array": {"maxItems", "items"},
    }
    for name, rule in leaves(schema()):
        if not {"properties", "x-rules"} & rule.keys():
            assert bounds.get(rule["type"], set()) <= set(rule), name
        assert rule["type"] != "string" or "enum" in rule or "maxLength" in rule, name
        assert rule["description"].endswith("."), name
        assert rule["x-project"] in ("any", "lower", "raise", "never"), name
        assert rule["x-project"] not in ("lower", "raise") or rule["type"] != "string" or "enum" in rule, name


# Keys that a project may set freely: they cause no further injection, question, request or cost.
FREE = {
    "evaluation.rubric": "which questions, not how many",
}


def test_a_project_may_set_only_these_keys_freely() -> None:
    assert {name for name, rule in leaves(schema()) if rule["x-project"] == "any"} == set(FREE)


def blocks(rule: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of the schema that list their keys."""
    inner = [block for part in rule.get("properties", {}).values() for block in blocks(part)]
    return [rule, *inner] if "properties" in rule else inner


def test_hygiene_allow_offers_all_rules() -> None:
    ids = [rule.id for rule in rules(tuple(PACKS))]
    assert dict(leaves(schema()))["hygiene.allow"]["items"]["enum"] == sorted(ids)


def test_the_choices_of_hygiene_allow_are_derived_from_the_rules() -> None:
    with open(SCHEMA, encoding="utf-8") as file:
        text = file.read()
    assert with_rule_ids(text) == text
    assert with_rule_ids(text.replace('"adafruit-key", ', '"gone", ', 1)) == text


def test_the_rules_of_an_interviews_scoring_are_derived_from_the_table() -> None:
    with open(RULES, encoding="utf-8") as file:
        assert file.read() == scoring_text(), "run: python3 tests/config/settings_table.py"


def test_a_block_that_lists_its_keys_allows_no_others() -> None:
    assert [block for block in blocks(schema()) if block.get("additionalProperties") is not False] == []


def keys_in_code() -> list[tuple[str, str]]:
    """Return path and key of each settings key that is a literal in the plugin's code."""
    found = []
    for path in glob.glob(os.path.join(PLUGIN_ROOT, "scripts", "**", "*.py"), recursive=True):
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read(), path)
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in GETTERS
            ):
                owner = ast.unparse(node.func.value).rpartition(".")[2]
                key = node.args[0] if node.args else None
                if owner in ("settings", "now") and isinstance(key, ast.Constant) and "." in str(key.value):
                    found.append((os.path.relpath(path, PLUGIN_ROOT), str(key.value)))
    return found


@pytest.mark.slow
def test_every_key_in_the_code_exists() -> None:
    used = keys_in_code()
    assert used
    assert [(path, key) for path, key in used if find_key(key) is None] == []


def test_each_judges_switch_is_a_key_with_these_values() -> None:
    for feature, (name, on, off) in judge_switches().items():
        key = find_key(name)
        assert key is not None, feature
        assert name.startswith(feature + ".")
        assert [value for value in (*on, off) if mismatch(key, value)] == []
