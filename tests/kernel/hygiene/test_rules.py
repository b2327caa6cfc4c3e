"""Every rule has a reason, finds its hits, and does not find its misses; each place has an action for each kind; anchors."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.hygiene import choose, findings
from memory_plugin.kernel.hygiene.checks import CHECKS
from memory_plugin.kernel.hygiene.filters import FILTERS, compiled, words
from memory_plugin.kernel.hygiene.rules import (
    PACKS,
    Anchors,
    action,
    places,
    prefilters,
    rules,
)
from memory_plugin.kernel.paths import data_path, load_data
from tests.kernel.hygiene.samples import raw_rules, samples

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


def test_every_hit_is_found_by_its_rule_amid_other_text() -> None:
    around = "Deploy notes.\n\n%s\nThen restart both workers.\n"
    found = [(one, {finding.rule for finding in findings(around % one.text)}) for one in samples("hit")]
    assert [one for one, rules_found in found if one.rule not in rules_found] == []


def test_every_miss_contains_no_finding_of_the_kind() -> None:
    assert [one for one in samples("miss") if one.kind in {found.kind for found in findings(one.text)}] == []


def test_every_id_is_there_once_and_fits_into_a_marker() -> None:
    ids = [rule.id for rule in rules(tuple(PACKS))]
    assert [rule for rule, count in Counter(ids).items() if count > 1] == []
    assert all(re.fullmatch("[a-z0-9-]{1,60}", rule) for rule in ids)


def test_every_rule_gives_a_reason_that_is_a_sentence() -> None:
    assert [rule["id"] for rule in raw_rules() if not str(rule["reason"]).endswith(".")] == []


def test_every_check_filter_prefilter_and_context_is_used() -> None:
    used = rules(tuple(PACKS))
    assert {rule.check for rule in used} - {""} == set(CHECKS)
    assert {name for rule in used for name in rule.filters} == set(FILTERS)
    assert {rule.prefilter for rule in used} - {""} == set(prefilters())


def test_keywords_are_lower_case_ascii() -> None:
    wrong = [
        k
        for rule in rules(tuple(PACKS))
        for k in rule.keywords
        if k != k.lower() or not k.isascii() or len(k) < 1
    ]
    assert wrong == []


def test_every_pattern_compiles() -> None:
    assert all(compiled(rule.pattern) for rule in rules(tuple(PACKS)))


def test_no_file_looks_like_a_leak() -> None:
    assert [
        file
        for file in ["keys", "services", "generic", "personal", "national"]
        if LIVE_LOOKING.search(str(load_data("hygiene", file))) is not None
    ] == []


FIELDS: dict[str, Any] = {
    "id": str, "kind": str, "reason": str, "keywords": list, "pattern": str, "names": str, "value": str, "entropy": (int, float),
    "check": str, "filters": list, "name_filter": bool, "context": str, "reach": int, "window": list, "prefilter": str, "hit": list,
    "miss": list,
}  # fmt: skip


def faults(entry: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the fields of a rule."""
    yield from (name for name, value in entry.items() if not isinstance(value, FIELDS.get(name, ())))
    lists = [*entry.get("keywords", ()), *entry.get("filters", ())]
    checks = {
        "texts": all(isinstance(text, str) for text in lists),
        "filters": set(entry.get("filters", ())) <= set(FILTERS),
        "check": entry.get("check", "") in {"", *CHECKS},
        "window": [type(number) for number in entry.get("window", [1, 1])] == [int, int],
        "found by": entry["prefilter"] in prefilters() if "prefilter" in entry else entry.get("keywords"),
        "pattern": entry.get("pattern") or (entry.get("names") and entry.get("value")),
        "context": not entry.get("context") or words(entry["context"]),
    }
    yield from (name for name, holds in checks.items() if not holds)


def test_every_rule_has_valid_fields() -> None:
    assert [(entry["id"], fault) for entry in raw_rules() for fault in faults(entry)] == []
    broken = {"id": 5, "filters": ["no such"], "color": "red"}
    assert {"id", "filters", "color", "found by", "pattern"} <= set(faults(broken))


def test_the_readme_names_every_field_filter_and_check() -> None:
    with open(data_path("hygiene", "README.md"), encoding="utf-8") as file:
        words = set(re.findall("`([^`]+)`", file.read()))
    named = {part for word in words for part in word.split()}
    assert named >= set(FILTERS) | set(CHECKS) | set(FIELDS)


EVERYWHERE = ("secret", "url_credentials", "credit_card", "iban", "us_ssn")
USEFUL = ("email", "phone", "ip_address", "home_path")


def test_secrets_and_account_numbers_go_everywhere() -> None:
    pairs = [
        (place, kind) for place in ("memory", "inject", "judge", "ledger", "report") for kind in EVERYWHERE
    ]
    assert [(place, kind) for place, kind in pairs if action(place, kind, "any") != "redact"] == []


@pytest.mark.parametrize("kind", USEFUL)
def test_a_runbook_keeps_its_addresses_and_what_is_sent_does_not(kind: str) -> None:
    actions = [action(place, kind, "any") for place in ("memory", "inject", "judge", "ledger", "report")]
    assert actions == ["allow", "allow", "redact", "redact", "redact"]


def test_a_rule_goes_before_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "memory_plugin.kernel.hygiene.rules.places", lambda: {"memory": {"secret": "redact", "jwt": "block"}}
    )
    assert action("memory", "secret", "jwt") == "block"
    assert action("memory", "secret", "other") == "redact"


def test_each_place_has_an_action_for_every_kind() -> None:
    used = rules(tuple(PACKS))
    kinds, ids = {rule.kind for rule in used}, {rule.id for rule in used}
    for actions in places().values():
        assert set(actions.values()) <= {"allow", "redact", "block"}
        assert kinds <= set(actions) <= kinds | ids


def test_case_does_not_count() -> None:
    assert Anchors("Key KEY key").places("key") == [0, 4, 8]


def test_occurrences_may_overlap() -> None:
    assert Anchors("----").places("--") == [0, 1, 2]


def test_a_letter_outside_ascii_is_not_a_question_mark() -> None:
    assert Anchors("\u0456?\u0456").places("?") == [1]


@given(st.text(alphabet="ab_-.: \u0130\u212a\U0001f600"), st.sampled_from(["a", "ab", "a_", "b.a", ": a"]))
def test_every_place_of_a_keyword_is_found(text: str, keyword: str) -> None:
    lower = text.encode("ascii", "replace").lower()
    found = re.finditer(b"(?=%s)" % re.escape(keyword.encode("ascii")), lower)
    assert Anchors(text).places(keyword) == [match.start() for match in found]


def test_regions_that_touch_are_one() -> None:
    assert Anchors("x@y@z" + " " * 20 + "@").around(["@"], 2, 3) == [(0, 6), (23, 28)]


def test_a_prefilter_selects_regions() -> None:
    assert Anchors("call 030 901820 now").regions("digits") == [(0, 31)]
    assert Anchors("call me").regions("digits") == []


def test_a_prefilter_within_another_selects_some_of_its_regions() -> None:
    found = Anchors("call 030 901820 now" + " " * 60 + "card 4111 1111 1111 1111 now")
    assert len(found.regions("digits")) == 2
    assert found.regions("card-digits") == found.regions("digits")[1:]


def test_within_names_a_prefilter_that_is_not_nested_itself() -> None:
    cases = [name for name, found in prefilters().items() if found.within]
    assert [within for within in cases if prefilters()[prefilters()[within].within].within] == []


@pytest.mark.parametrize("keyword", ["born on", "sig=", ":apa91b", "key"])
def test_a_long_text_without_a_part_of_a_keyword_is_not_searched_for_it(keyword: str) -> None:
    text = "nothing of that sort " * 2000
    assert Anchors(text).places(keyword) == []
    assert Anchors(text + keyword).places(keyword) == [len(text)]
