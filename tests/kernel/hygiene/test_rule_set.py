"""Every rule has a reason, finds its hits, and does not find its misses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from memory_plugin.kernel.hygiene import findings, policy
from memory_plugin.kernel.hygiene.anchors import prefilters
from memory_plugin.kernel.hygiene.checks import CHECKS
from memory_plugin.kernel.hygiene.filters import FILTERS
from memory_plugin.kernel.hygiene.rule_set import _FIELDS, PACKS, _rule, compiled, rules
from memory_plugin.kernel.hygiene.tables import DataError, table
from memory_plugin.kernel.hygiene_choice import choose
from memory_plugin.kernel.paths import data_path
from tests.kernel.hygiene.samples import Sample, raw_rules, samples

# The forms that other scanners look for first; our own files must not look like a leak to them.
LIVE_LOOKING = re.compile(
    r"ghp_\w{36}|AKIA[0-9A-Z]{16}|xox[bp]-\d{9,}|sk_live_\w{20}|-----BEGIN \w+ PRIVATE KEY"
)


@pytest.fixture(autouse=True)
def every_pack() -> Iterator[None]:
    """Yield the rules of every pack in use, and afterwards of none."""
    choose([], PACKS)
    yield
    choose([], [])


def by_rule(what: str) -> list[Any]:
    """Return the hits or the misses of each rule, as rows of a parametrization."""
    found: dict[str, list[Sample]] = {}
    for sample in samples(what):
        found.setdefault(sample.rule, []).append(sample)
    return [pytest.param(rows, id=rule) for rule, rows in found.items()]


@pytest.mark.parametrize("rows", by_rule("hit"))
def test_a_hit_is_found_by_its_rule(rows: list[Sample]) -> None:
    assert [sample for sample in rows if sample.rule not in {one.rule for one in findings(sample.text)}] == []


@pytest.mark.parametrize("rows", by_rule("hit"))
def test_a_hit_is_found_amid_other_text(rows: list[Sample]) -> None:
    around = "Deploy notes.\n\n%s\nThen restart both workers.\n"
    assert [
        sample for sample in rows if sample.kind not in {one.kind for one in findings(around % sample.text)}
    ] == []


@pytest.mark.parametrize("rows", by_rule("miss"))
def test_a_miss_contains_no_finding_of_the_kind(rows: list[Sample]) -> None:
    assert [sample for sample in rows if sample.kind in {one.kind for one in findings(sample.text)}] == []


def test_every_id_is_there_once_and_fits_into_a_marker() -> None:
    ids = [rule.id for rule in rules()]
    assert [rule for rule, count in Counter(ids).items() if count > 1] == []
    assert all(re.fullmatch("[a-z0-9-]{1,60}", rule) for rule in ids)


def test_every_kind_has_a_rule() -> None:
    assert {str(rule.get("kind", "secret")) for rule in raw_rules()} == set(policy.KINDS)


def test_every_rule_gives_a_reason_that_is_a_sentence() -> None:
    assert [rule["id"] for rule in raw_rules() if not str(rule["reason"]).endswith(".")] == []


def test_every_check_filter_prefilter_and_context_is_used() -> None:
    used = rules()
    assert {rule.check for rule in used} - {""} == set(CHECKS)
    assert {name for rule in used for name in rule.filters} == set(FILTERS)
    assert {rule.prefilter for rule in used} - {""} == set(prefilters())


def test_keywords_are_lower_case_ascii() -> None:
    wrong = [k for rule in rules() for k in rule.keywords if k != k.lower() or not k.isascii() or len(k) < 1]
    assert wrong == []


def test_every_pattern_compiles() -> None:
    assert all(compiled(rule.pattern) for rule in rules())


@pytest.mark.parametrize(
    "file", ["keys.json", "services.json", "generic.json", "personal.json", "national.json"]
)
def test_no_file_looks_like_a_leak(file: str) -> None:
    assert LIVE_LOOKING.search(str(table(file))) is None


GOOD: dict[str, object] = {
    "id": "x",
    "reason": "For a test.",
    "keywords": ["x"],
    "pattern": "x",
    "hit": ["x"],
    "miss": ["y"],
}


def test_a_whole_rule_is_read() -> None:
    assert _rule(GOOD, "f.json").id == "x"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param({"colour": "red"}, "unknown field colour", id="unknown field"),
        pytest.param({"kind": "gossip"}, "unknown kind, check or filter", id="unknown kind"),
        pytest.param({"check": "luck"}, "unknown kind, check or filter", id="unknown check"),
        pytest.param({"filters": ["luck"]}, "unknown kind, check or filter", id="unknown filter"),
        pytest.param({"filters": "masked"}, "filters: expected a list of strings", id="filters as a text"),
        pytest.param({"keywords": []}, "prefilter: expected one of", id="neither keywords nor prefilter"),
        pytest.param({"prefilter": "heaven"}, "prefilter: expected one of", id="unknown prefilter"),
        pytest.param({"window": [1]}, "window: expected two numbers", id="half a window"),
        pytest.param({"pattern": 7}, "pattern: expected a text", id="pattern as a number"),
        pytest.param({"context": "weather"}, "words.json: no list weather", id="unknown context"),
    ],
)
def test_a_wrong_rule_is_refused_by_name(change: dict[str, object], named: str) -> None:
    with pytest.raises(DataError, match=named):
        _rule({**GOOD, **change}, "f.json")


def test_a_rule_without_id_is_refused() -> None:
    with pytest.raises(DataError, match=r"f\.json: every rule is an object with an id"):
        _rule({"kind": "secret"}, "f.json")


def test_the_readme_names_every_field_filter_and_check() -> None:
    with open(data_path("hygiene", "README.md"), encoding="utf-8") as file:
        words = set(re.findall("`([^`]+)`", file.read()))
    named = {part for word in words for part in word.split()}
    assert named >= set(FILTERS) | set(CHECKS) | _FIELDS
