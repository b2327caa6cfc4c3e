"""Names that mean a secret, and the forms in which a value is assigned to a name."""

from __future__ import annotations

import re

import pytest

from memory_plugin.kernel.hygiene.assignment import assignment_pattern, names_a_secret, whole_name

SECRET = "api_key apiKey API_KEY client-secret aws.secret.key token auth_token DB_PASSWORD dbPassword2 secret_key_base"
SECRET += " GITHUB_TOKEN_PROD user_pass x-api-key credentials webhookSecret private_key encryption.key.v2"
HARMLESS = "key cacheKey primary_key public_key key_id token_count max_tokens tokenizer keyboard monkey pass password_hash"
HARMLESS += (
    " secretName passwordFile csrf_token next_page_token sortKey author api_version credentialsId auth_url"
)


@pytest.mark.parametrize("name", SECRET.split())
def test_names_of_secrets(name: str) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize("name", HARMLESS.split())
def test_harmless_names(name: str) -> None:
    assert not names_a_secret(name)


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
