"""Addresses: which URLs are accepted, and when a proxy is bypassed."""

from __future__ import annotations

from memory_plugin.kernel.judge.vendors import Address, parse_address


def test_an_address_is_taken() -> None:
    cases = [
        ("https://api.example.org", Address("https", "api.example.org", 443, "")),
        ("https://API.Example.org:8443/v1/", Address("https", "api.example.org", 8443, "/v1")),
        ("http://localhost:11434/v1", Address("http", "localhost", 11434, "/v1")),
        ("http://127.9.9.9", Address("http", "127.9.9.9", 80, "")),
        ("http://[::1]:99/a/b", Address("http", "::1", 99, "/a/b")),
        ("https://[2001:db8::1]", Address("https", "2001:db8::1", 443, "")),
    ]
    assert [(url, address) for url, address in cases if parse_address(url) != address] == []


def test_an_address_is_refused() -> None:
    cases = [
        "",
        "api.example.org",
        "ftp://example.org",
        "file:///etc/passwd",
        "http://example.org",
        "http://10.0.0.1",
        "http://127.0.0.1.example.org",
        "http://127.0.0.256",
        "http://localhost.example.org",
        "http://localhost@example.org",
        "https://user:password@example.org",
        "https://example.org?key=1",
        "https://example.org/#x",
        "https://example.org/a b",
        "https://exa\nmple.org",
        "https://example.org\\@evil.org",
        "https://ex\u00e4mple.org",
        "https://:443",
        "https://example.org:0",
        "https://example.org:65536",
        "https://example.org:-1",
        "https://example.org:4a",
        "https://[::1",
        "https://" + "a" * 3000,
    ]
    assert [url for url in cases if parse_address(url) is not None] == []


def test_the_authority_leaves_out_the_usual_port() -> None:
    urls = ["https://a.org", "https://a.org:444", "http://[::1]:80", "http://[::1]:81"]
    found = [parse_address(url) for url in urls]
    assert [one.authority for one in found if one] == ["a.org", "a.org:444", "[::1]", "[::1]:81"]
