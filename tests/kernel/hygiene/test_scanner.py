"""The findings of a scan and their places, and that redacting twice changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.hygiene import findings, redact
from memory_plugin.kernel.hygiene.filters import FILTERS, PatternMatch
from tests.kernel.hygiene.samples import samples

KEY = "ghp_" + "q7Wm2kLx9Vt0RfZc4Yb8Np1Hd6Js3Gu5Ae0K"
CARD = "4716 2210 5188 5662"
HITS = [sample.text for sample in samples("hit")]
PLACES = ["memory", "inject", "judge", "ledger", "report"]


def test_a_finding_says_kind_rule_place_and_action() -> None:
    (found,) = findings("use " + KEY)
    assert found._asdict() == {
        "kind": "secret",
        "rule": "github-token",
        "start": 4,
        "end": 44,
        "action": "redact",
    }


def test_the_value_is_replaced_by_the_rule() -> None:
    assert redact("use %s now" % KEY).text == "use [redacted:github-token] now"


def test_only_the_value_of_an_assignment_goes() -> None:
    assert redact('{"api_key": "h3Kq8ZpT1vXw6RbN"}').text == '{"api_key": "[redacted:secret-assignment]"}'


def test_only_the_password_of_a_url_goes() -> None:
    text = "postgres://anna:w9Xk2pQ7@db.internal:5432/shop"
    assert redact(text).text == "postgres://anna:[redacted:url-credentials]@db.internal:5432/shop"


def test_a_private_key_goes_as_a_whole() -> None:
    head = "-----BEGIN %s KEY-----" % "PRIVATE"
    text = "before\n%s\n%s\n%s\nafter" % (head, "q7WmLkV9Tt2RfZc4" * 8, head.replace("BEGIN", "END"))
    assert redact(text).text == "before\n[redacted:private-key]\nafter"


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("memory", "mail anna@firma-nord.de at 10.20.0.5"),
        ("judge", "mail [redacted:email] at [redacted:ipv4]"),
    ],
)
def test_the_place_decides(place: str, text: str) -> None:
    assert redact("mail anna@firma-nord.de at 10.20.0.5", place).text == text


def test_an_allowed_finding_is_still_reported() -> None:
    assert [(f.kind, f.action) for f in redact("staging is 10.20.0.5").findings] == [("ip_address", "allow")]


def test_an_unknown_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no such place: 'moon'"):
        redact("nothing to see", "moon")


def test_a_marker_of_no_rule_hides_nothing() -> None:
    assert (
        redact("[redacted:sk-0f3c9a1e5b2d48607f3c9a1e5b2d4860]").text
        == "[redacted:[redacted:openai-api-key]]"
    )


def test_a_new_secret_beside_a_marker_is_found() -> None:
    assert redact("[redacted:jwt] " + KEY).text == "[redacted:jwt] [redacted:github-token]"


def test_kinds_limit_the_search() -> None:
    text = "%s and %s" % (KEY, CARD)
    assert [f.kind for f in findings(text, kinds=["credit_card"])] == ["credit_card"]
    assert [f.kind for f in findings(text)] == ["secret", "credit_card"]


@pytest.mark.parametrize("before", ["\u0130\u0130 ", "\u00e9 ", "\U0001f600 ", "\ud800 ", "\u212a ", "\0 "])
def test_positions_hold_after_characters_of_any_width(before: str) -> None:
    (found,) = findings(before + KEY)
    assert (before + KEY)[found.start : found.end] == KEY


def test_nothing_is_found_in_nothing() -> None:
    assert findings("") == []


def test_a_better_rule_names_what_two_find() -> None:
    assert [f.rule for f in findings("GITHUB_TOKEN=" + KEY)] == ["github-token"]


def test_context_does_not_reach_across_a_finding() -> None:
    assert [f.kind for f in findings("SSN [redacted:us-ssn] 536228145")] == []


@given(
    st.lists(st.sampled_from(HITS), min_size=1, max_size=4), st.sampled_from(["", " ", "\n", ", ", "/", "="])
)
def test_findings_are_ordered_and_apart(parts: list[str], between: str) -> None:
    text = between.join(parts)
    found = findings(text)
    assert all(0 <= f.start < f.end <= len(text) for f in found)
    assert all(first.end <= second.start for first, second in zip(found, found[1:]))


@given(
    st.lists(st.sampled_from(HITS) | st.text(max_size=12), min_size=1, max_size=5),
    st.sampled_from(["", " ", "\n", ", ", "/", "=", ":", "@", "."]),
    st.sampled_from(PLACES),
)
def test_redacting_twice_changes_nothing(parts: list[str], between: str, place: str) -> None:
    once = redact(between.join(parts), place).text
    assert redact(once, place).text == once


@given(st.text())
def test_any_text_can_be_scanned(text: str) -> None:
    assert isinstance(redact(text).text, str)


def test_filters_look_at_each_character_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value of 3,000 characters may begin every 16 characters, which is 190 times each."""
    text = ("authorization=1a" * 2500)[:30_000]
    looked_at = 0
    plain = FILTERS["masked"]

    def counting(candidate: PatternMatch) -> bool:
        nonlocal looked_at
        looked_at += len(candidate.value)
        return plain(candidate)

    monkeypatch.setitem(cast("dict[str, Callable[[PatternMatch], bool]]", FILTERS), "masked", counting)
    redacted = redact(text)
    assert redacted.findings
    assert looked_at < 40 * len(text), "of all rules together"
    assert redact(redacted.text).text == redacted.text


def test_a_finding_inside_a_disguise_and_one_outside_are_both_found() -> None:
    away = " lorem ipsum " * 100
    hidden = "password" + "\u200b: kZ8wQ2mVx7Lp"
    for text in (KEY + away + hidden, hidden + away + KEY, hidden + " " + KEY + away + hidden):
        found = redact(text).text
        assert "kZ8wQ2mVx7Lp" not in found
        assert KEY not in found
        assert redact(found).text == found


@given(
    st.lists(
        st.sampled_from(
            ["a", " ", "\n", "\u0435", "\u200b", "%3D", "'+'", KEY, "password: ", "kZ8wQ2mVx7Lp", "x@y.org"]
        )
    )
)
def test_redaction_is_idempotent(pieces: list[str]) -> None:
    once = redact("".join(pieces)).text
    assert redact(once).text == once


def test_a_value_that_ends_at_a_marker_is_no_finding_wherever_it_is() -> None:
    text = "lorem ipsum " * 20 + KEY + "[redacted:github-token]"
    assert redact(text).text == text


def test_a_word_far_after_a_number_is_not_context() -> None:
    number = "5551 2344"
    assert [found.kind for found in findings(number + " is my phone")] == ["phone"]
    assert findings(number + " lorem ipsum dolor sit amet consectetur phone") == []


@pytest.mark.parametrize("name", ["anna", "git.user", "zoe"])
def test_a_mail_address_is_found_whatever_its_name_begins_with(name: str) -> None:
    assert [found.kind for found in findings("write to %s@acme-shop.org now" % name)] == ["email"]
