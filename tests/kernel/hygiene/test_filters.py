"""Each filter alone: false alarms and candidates that pass; names that mean a secret, and the forms of an assignment."""

from __future__ import annotations

import re

import pytest

from memory_plugin.kernel.hygiene.filters import (
    FILTERS,
    PatternMatch,
    assignment_pattern,
    entropy,
    names_a_secret,
    whole_name,
)

CASES = [
    ("code", "config.services.maps.key", "h3Kq8ZpT1vXw6RbN"),
    ("date", "2024-11-05", "78 651 450"),
    ("example", "AKIAIOSFODNN7EXAMPLE", "AKIAQ3EGR7XZ2LMNOP4T"),
    ("example-host", "anna@mail.example.com", "anna@firma-nord.de"),
    ("few-kinds", "step-3a", "rX9_llQm3"),
    ("hash", "d41d8cd98f00b204e9800998ecf8427e", "h3Kq8ZpT1vXw6RbN"),
    ("letters", "correct-horse-battery", "w9Xk2-pQ7"),
    ("masked", "ghp_xxxxxxxxxxxx", "ghp_q7Wm2kLx9Vt0"),
    ("masked", "se****", "se4*r2"),
    ("no-digit", "AbCdEf", "AbCd3f"),
    ("not-mail", "icon@2x.png", "anna@firma-nord.de"),
    ("path", "/run/secrets/db1", "q7Wm/2kLx9Vt0RfZc4Yb8Np1Hd6Js3Gu5Ae0+KiT"),
    ("placeholder", "your-api-key-1", "h3Kq8ZpT1vXw6RbN"),
    ("placeholder", "insert_key_2", "hunter2"),
    ("prose", "field-number-2", "Sole!Nero5512"),
    ("repeated", "AAAAAAAAAAAAAAAA", "h3Kq8ZpT1vXw6RbN"),
    ("sentence", "Enter the new password", "copper lantern drifts north"),
    ("shared-home", "ubuntu", "anna"),
    ("slug", "us-east-1", "h3Kq-8ZpT-1vXw"),
    ("slug", "inf-vsqt-01-secret-id", "h3kq-8zpt-1vxw-01"),
    ("stand-in", "testPassword123", "Welcome1"),
    ("template", "${API_KEY}", "pa$word1"),
    ("template", "{{ token }}", "p{a}ss1"),
    ("template", "<token>", "a<3b"),
    ("time-uuid", "9d0c1e52-93ab-11f0-8c6d-21f0b7e94a35", "9d0c1e52-93ab-4f18-8c6d-21f0b7e94a35"),
    ("wordy", "getAccessTokenFromServer2", "kP3vn8Zt61WqRxmd"),
]


@pytest.mark.parametrize(("name", "false_alarm", "finding"), CASES, ids=[c[0] + " " + c[1] for c in CASES])
def test_filter(name: str, false_alarm: str, finding: str) -> None:
    assert FILTERS[name](_alone(false_alarm))
    assert not FILTERS[name](_alone(finding))


def _alone(value: str) -> PatternMatch:
    return PatternMatch(value, 0, len(value), value)


def test_a_sealed_value_is_no_secret() -> None:
    text = "encryptedData:\n  password: AgBy3i4OJSWK"
    assert FILTERS["sealed"](PatternMatch(text, text.index("Ag"), len(text), "AgBy3i4OJSWK"))
    assert not FILTERS["sealed"](_alone("AgBy3i4OJSWK"))


def test_every_filter_is_in_the_table() -> None:
    assert {name for name, _, _ in CASES} | {"version", "url-stand-in", "sealed"} == set(FILTERS)


def test_four_numbers_after_a_version_word_are_a_version() -> None:
    assert [
        before
        for before in ["version ", "Chrome/", "v", "tool==", "release: "]
        if not FILTERS["version"](PatternMatch(before + "1.2.3.4", len(before), len(before) + 7, "1.2.3.4"))
    ] == []


@pytest.mark.parametrize("before", ["staging is ", "http://", ""])
def test_four_numbers_elsewhere_are_an_address(before: str) -> None:
    assert not FILTERS["version"](PatternMatch(before + "1.2.3.4", len(before), len(before) + 7, "1.2.3.4"))


@pytest.mark.parametrize(
    ("password", "host", "invented"),
    [
        pytest.param("password", "localhost:5432/shop", True, id="invented password and host"),
        pytest.param("w9Xk2pQ7", "db.example.com/shop", True, id="host kept for documentation"),
        pytest.param("password", "db.firma-nord.de/shop", False, id="weak password of a real host"),
        pytest.param("w9Xk2pQ7", "localhost/shop", False, id="password of this machine"),
    ],
)
def test_credentials_of_documentation(password: str, host: str, invented: bool) -> None:
    candidate = PatternMatch("://anna:%s@%s" % (password, host), 8, 8 + len(password), password)
    assert FILTERS["url-stand-in"](candidate) is invented


def test_a_call_is_code() -> None:
    assert FILTERS["code"](PatternMatch("make_token9(x)", 0, 11, "make_token9"))


def test_an_ssh_remote_is_no_mail() -> None:
    text = "anna@host.de:repo"
    assert FILTERS["not-mail"](PatternMatch(text, 0, 12, text[:12]))


@pytest.mark.parametrize(("value", "bits"), [("aaaa", 0.0), ("abab", 1.0), ("abcd", 2.0)])
def test_entropy_is_bits_per_character(value: str, bits: float) -> None:
    assert entropy(value) == pytest.approx(bits)


SECRET = "api_key apiKey API_KEY client-secret aws.secret.key token auth_token DB_PASSWORD dbPassword2 secret_key_base"
SECRET += " GITHUB_TOKEN_PROD user_pass x-api-key credentials webhookSecret private_key encryption.key.v2"
HARMLESS = "key cacheKey primary_key public_key key_id token_count max_tokens tokenizer keyboard monkey pass password_hash"
HARMLESS += (
    " secretName passwordFile csrf_token next_page_token sortKey author api_version credentialsId auth_url"
)


def test_names_of_secrets() -> None:
    assert [name for name in SECRET.split() if not names_a_secret(name)] == []


def test_harmless_names() -> None:
    assert [name for name in HARMLESS.split() if names_a_secret(name)] == []


FORMS = {
    "assignment": "token = abc",
    "no space": "token=abc",
    "quotes": 'token = "abc"',
    "yaml": "token: abc",
    "json": '"token": "abc"',
    "json in json": '\\"token\\": \\"abc\\"',
    "php": "'token' => 'abc'",
    "go": 'token := "abc"',
    "make": "token ?= abc",
    "typed": 'token: str = "abc"',
    "index": 'env["token"] = "abc"',
    "bytes": 'token = b"abc"',
    "call": 'token("abc")',
    "pair": '("token", "abc")',
    "xml": "<token>abc</token>",
    "longer name": "token_value=abc",
    "comparison": 'token == "abc"',
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_the_value_is_found_in_the_form(text: str) -> None:
    match = re.search(assignment_pattern("token", "abc"), text)
    assert match is not None
    assert match["value"] == "abc"


@pytest.mark.parametrize("text", ["token abc", "token, abc", "token\nabc", "token - abc"])
def test_a_nearby_value_is_not_an_assignment(text: str) -> None:
    assert re.search(assignment_pattern("token", "abc"), text) is None


def test_the_whole_name_begins_before_the_keyword() -> None:
    text = "my.db_password = x"
    assert whole_name(text, text.index("password"), text.index(" =")) == "my.db_password"
