"""The address and the key of each backend."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory_plugin.kernel.judge.credentials import ServerAccess, UserEnvironment, resolve_access
from memory_plugin.kernel.judge.question import JudgeError
from memory_plugin.kernel.judge.vendors import VENDORS
from tests.kernel.judge.bench import KEY, Bench, payload
from tests.kernel.judge.server import answer, serving

MakeBench = Callable[..., Bench]


def access(bench: Bench, *, helper: bool = False) -> ServerAccess:
    """Return the access to the bench's backend."""
    settings = bench.settings()
    return resolve_access(VENDORS[bench.backend], settings, UserEnvironment(bench.config), helper)


def failure(bench: Bench, *, helper: bool = False) -> tuple[str, str]:
    """Return the name of the failure."""
    with pytest.raises(JudgeError) as caught:
        access(bench, helper=helper)
    return caught.value.name, caught.value.detail


@pytest.mark.parametrize(
    ("backend", "own", "environment", "headers"),
    [
        ("anthropic", {"ANTHROPIC_API_KEY": "a"}, {}, ("x-api-key", "a")),
        ("anthropic", {}, {"ANTHROPIC_API_KEY": " a\n"}, ("x-api-key", "a")),
        ("anthropic", {"ANTHROPIC_API_KEY": "a"}, {"ANTHROPIC_API_KEY": "b"}, ("x-api-key", "a")),
        ("anthropic", {"ANTHROPIC_API_KEY": "a"}, {"ANTHROPIC_AUTH_TOKEN": "b"}, ("x-api-key", "a")),
        (
            "anthropic",
            {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_AUTH_TOKEN": "t"},
            {},
            ("authorization", "Bearer t"),
        ),
        ("openai", {}, {"OPENAI_API_KEY": "o"}, ("authorization", "Bearer o")),
        ("gemini", {}, {"GOOGLE_API_KEY": "g"}, ("x-goog-api-key", "g")),
        ("gemini", {}, {"GOOGLE_API_KEY": "g", "GEMINI_API_KEY": "h"}, ("x-goog-api-key", "g")),
    ],
)
def test_the_users_file_goes_before_the_environment(
    make_bench: MakeBench,
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
    own: dict[str, str],
    environment: dict[str, str],
    headers: tuple[str, str],
) -> None:
    bench = make_bench(backend)
    bench.env = own
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert access(bench).headers == (headers,)


def test_a_variable_of_the_users_choice(make_bench: MakeBench) -> None:
    bench = make_bench("anthropic", key_variable="MY_JUDGE_KEY")
    assert failure(bench) == ("no_key", "MY_JUDGE_KEY is not set")
    bench.env["MY_JUDGE_KEY"] = "mine"
    assert access(bench).headers == (("x-api-key", "mine"),)


@pytest.mark.parametrize("key", ["a b", "a\r\nx-evil: 1", "k\u00e4y", "a" * 5000])
def test_an_invalid_key_is_refused(make_bench: MakeBench, key: str) -> None:
    bench = make_bench("anthropic")
    bench.env = {"ANTHROPIC_API_KEY": key}
    name, detail = failure(bench)
    assert name == "no_key"
    assert key not in detail


def test_without_a_key_the_failure_names_the_variables(make_bench: MakeBench) -> None:
    bench = make_bench("anthropic")
    bench.env = {}
    assert failure(bench) == ("no_key", "neither ANTHROPIC_AUTH_TOKEN nor ANTHROPIC_API_KEY is set")


def test_the_address_comes_from_the_setting_then_the_variable_then_the_backend(
    make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make_bench("anthropic", "https://one.example.org")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://three.example.org")
    bench.env["ANTHROPIC_BASE_URL"] = "https://two.example.org/gate/"
    assert access(bench).address.host == "one.example.org"
    bench.judge["base_url"] = ""
    assert access(bench).address[1:4] == ("two.example.org", 443, "/gate")
    del bench.env["ANTHROPIC_BASE_URL"]
    assert access(bench).address.host == "three.example.org"
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    assert access(bench).address.host == "api.anthropic.com"


def test_plain_http_to_another_machine_is_refused(make_bench: MakeBench) -> None:
    bench = make_bench("anthropic")
    bench.env["ANTHROPIC_BASE_URL"] = "http://example.org"
    assert failure(bench)[0] == "bad_url"
    assert "ANTHROPIC_BASE_URL" in failure(bench)[1]


@pytest.mark.parametrize(
    ("variables", "proxy"),
    [
        ({}, ""),
        ({"HTTPS_PROXY": "http://me:p%40ss@p.corp:3128/"}, "http://me:p%40ss@p.corp:3128/"),
        ({"HTTPS_PROXY": "p.corp:3128"}, "http://p.corp:3128"),
        ({"https_proxy": "http://q.corp:1", "HTTPS_PROXY": "http://p.corp:3128"}, "http://q.corp:1"),
        *(
            ({"HTTPS_PROXY": "http://p.corp:3128", "NO_PROXY": exempt}, "")
            for exempt in ("anthropic.com", "*", "other.org, .anthropic.com", "api.anthropic.com:443")
        ),
        ({"HTTPS_PROXY": "http://p.corp:3128", "no_proxy": "thropic.com,,"}, "http://p.corp:3128"),
        ({"HTTP_PROXY": "http://p.corp:3128", "ALL_PROXY": "http://p.corp:3128"}, ""),
    ],
)
def test_the_users_proxy(make_bench: MakeBench, variables: dict[str, str], proxy: str) -> None:
    bench = make_bench("anthropic")
    bench.env.update(variables)
    assert access(bench).proxy == proxy


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "https://localhost:9", "https://[::1]:9"])
def test_this_machine_is_reached_without_a_proxy(make_bench: MakeBench, url: str) -> None:
    bench = make_bench("anthropic", url)
    bench.env["HTTPS_PROXY"] = "http://p.corp:3128"
    assert access(bench).proxy == ""


@pytest.mark.parametrize("url", ["socks5://p.corp:1080", "https://p.corp:443"])
def test_a_proxy_of_an_unknown_kind_is_no_reason_to_go_without(make_bench: MakeBench, url: str) -> None:
    bench = make_bench("anthropic")
    bench.env["HTTPS_PROXY"] = url
    assert failure(bench) == ("bad_url", "HTTPS_PROXY: only http:// proxies are supported")


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("echo from-helper", ("from-helper", "Bearer from-helper")),
        ("exit 3", "apiKeyHelper ended with exit code 3"),
        ("printf 'a b'", "the output of apiKeyHelper holds no key"),
        ("true", "the output of apiKeyHelper holds no key"),
    ],
)
def test_a_key_helper(make_bench: MakeBench, command: str, found: str | tuple[str, str]) -> None:
    bench = make_bench("anthropic")
    bench.env = {}
    bench.more["apiKeyHelper"] = command
    assert failure(bench)[0] == "no_key"  # not run unless it may be
    if isinstance(found, str):
        assert failure(bench, helper=True)[1].startswith(found)
    else:
        headers = access(bench, helper=True).headers
        assert [name for name, _ in headers] == ["x-api-key", "authorization"]
        assert tuple(value for _, value in headers) == found


def test_no_key_is_seen_in_a_printed_access(make_bench: MakeBench) -> None:
    assert KEY not in "%r %s" % (access(make_bench("anthropic")), access(make_bench("anthropic")))


@pytest.mark.parametrize(
    ("lines", "headers"),
    [
        ("x-team: red", [("x-team", "red")]),
        ("X-Team:red\r\n\n anthropic-beta : a,b ", [("x-team", "red"), ("anthropic-beta", "a,b")]),
        ("x-empty:", [("x-empty", "")]),
        ("Tenant-Id: 7\nHosted-By: us", [("tenant-id", "7"), ("hosted-by", "us")]),
        ("Content-Security: a", [("content-security", "a")]),
        ("no header\nx-a: 1", [("x-a", "1")]),
        ("content-length: 5\nHost: evil.example.org\ntransfer-encoding: chunked\nhost : x", []),
        ("b\u00e4d: 1\nx-b: caf\u00e9\nx b: 1\n: 1", []),
    ],
)
def test_the_users_own_headers_are_sent(
    make_bench: MakeBench, lines: str, headers: list[tuple[str, str]]
) -> None:
    bench = make_bench("anthropic")
    bench.env["ANTHROPIC_CUSTOM_HEADERS"] = lines
    assert access(bench).headers == (("x-api-key", KEY), *headers)


def test_a_custom_header_with_a_key_replaces_ours(make_bench: MakeBench) -> None:
    secret = "gateway-secret-0123456789"
    with serving(answer(payload("anthropic"))) as api:
        bench = make_bench("anthropic", api.url)
        bench.env["ANTHROPIC_CUSTOM_HEADERS"] = "X-Api-Key: %s\nUser-Agent: mine" % secret
        assert bench.ask().values is not None
        del bench.env["ANTHROPIC_API_KEY"]
        assert bench.ask(data="another").values is not None
        for seen in api.seen:
            assert (seen.headers["x-api-key"], seen.headers["user-agent"]) == (secret, "mine")
        assert secret not in bench.written() + repr(access(bench))


def test_a_key_of_the_helper_is_not_sent_beside_a_header_with_a_key(make_bench: MakeBench) -> None:
    bench = make_bench("anthropic")
    bench.env = {"ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer gateway-secret-0123456789"}
    bench.more["apiKeyHelper"] = "echo from-helper"
    assert [name for name, _ in access(bench, helper=True).headers] == ["authorization"]


def test_custom_headers_go_only_to_the_clients_own_api(make_bench: MakeBench) -> None:
    bench = make_bench("openai")
    bench.env["ANTHROPIC_CUSTOM_HEADERS"] = "x-team: red"
    assert access(bench).headers == (("authorization", "Bearer " + KEY),)
