"""The contract of all backends: each way in which a server answers or fails has a name, within the deadline."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.kernel.judge import server
from tests.kernel.judge.bench import CHOSEN, GOOD, KEY, NETWORK, Bench, payload
from tests.kernel.judge.server import Act, Seen, answer, serving

MakeBench = Callable[..., Bench]
SECONDS = 0.6  # the deadline of what never ends
AMPLE = 10.0  # for what ends by itself
SLACK = 4.0  # of a machine with other work on it; `benchmarks/judge_wait.py` measures

FENCED = "Here you are:\n```json\n%s\n```" % GOOD
PROSE = "Notes 0 and 2 fit: %s. Note 1 {does not}." % GOOD
# What a model writes -> the verdict's failure; none means the values.
TEXTS = {
    "a good answer": (GOOD, ""),
    "fenced": (FENCED, ""),
    "prose around JSON": (PROSE, ""),
    "out of range": ('{"relevant": [0, 2, 7]}', "dropped"),
    "wrong shape": ('{"choice": [0, 2]}', "parse_error"),
    "a list": ("[0, 2]", "parse_error"),
    "a text for a list": ('{"relevant": "0, 2"}', "parse_error"),
    "no JSON": ("I would rather not say.", "parse_error"),
    "empty": ("", "parse_error"),
    "nested too deeply": ('{"relevant":' + "[" * 30000, "parse_error"),
    "two answers": (GOOD + " or " + '{"relevant": [1]}', "parse_error"),
}
# What a vendor's server answers -> the verdict's failure.
ANSWERS: dict[str, tuple[Act, str]] = {
    "400 for whatever is sent": (answer({"error": {}}, 400), "http_400"),
    "401": (answer({"error": {"message": "bad key " + KEY}}, 401), "http_401"),
    "403": (answer({}, 403), "http_403"),
    "404": (answer({}, 404), "http_404"),
    "402": (answer({}, 402), "http_402"),
    "429 with retry-after": (answer({}, 429, retry_after="7"), "rate_limited"),
    "429 without retry-after": (answer({}, 429), "rate_limited"),
    "500": (answer({}, 500), "http_500"),
    "503": (answer({}, 503), "overloaded"),
    "529": (answer({}, 529), "overloaded"),
    "JSON of another kind": (answer({"hello": 1}), "parse_error"),
    "a JSON list": (answer([1]), "parse_error"),
}
# How any server or network fails, with any vendor -> the verdict's failure.
FAILURES: dict[str, tuple[Act, str]] = {
    "reset before the answer": (server.reset, "network"),
    "reset in mid-body": (server.reset_in_body, "network"),
    "an end in mid-body": (server.ends_in_body, "network"),
    "a redirect": (answer({}, 307, location="http://127.0.0.1:1/v1/messages"), "redirect"),
    "no first byte": (server.silent, "timeout"),
    "one byte now and then, header": (server.drips_headers, "timeout"),
    "one byte now and then, body": (server.drips_body, "timeout"),
    "interim answers forever": (server.interim_forever, "timeout"),
    "50 MB": (server.huge, "too_large"),
    "50 MB, announced": (
        server.sends(server.raw(200, b"", length=50 << 20, content_type=server.JSON)),
        "too_large",
    ),
    "50 MB in chunks": (server.huge_chunks, "too_large"),
    "headers without end": (server.huge_head, "too_large"),
    "a gzip bomb": (server.bomb, "parse_error"),
    "a page": (server.sends(server.raw(200, b"<html>hi</html>", content_type="text/html")), "wrong_type"),
    "no content type": (server.sends(server.raw(200, b"{}")), "parse_error"),
    "half a JSON text": (server.sends(server.raw(200, b'{"a":', content_type=server.JSON)), "parse_error"),
    "no HTTP": (server.sends(b"SSH-2.0-OpenSSH_9.0\r\n"), "network"),
    "a length that is none": (
        server.sends(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: -5\r\n\r\n"),
        "parse_error",
    ),
    "broken chunks": (
        server.sends(
            server.raw(200, b"zz\r\n", length=None, content_type=server.JSON, transfer_encoding="chunked")
        ),
        "network",
    ),
}


@pytest.mark.parametrize("backend", [*NETWORK, "scripted"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_reply_in_any_wrapping_is_read(make_bench: MakeBench, backend: str, name: str) -> None:
    text, failure = TEXTS[name]
    if backend == "scripted":
        bench = make_bench(backend)
        bench.script({"text": text})
        verdict = bench.ask()
    else:
        with serving(answer(payload(backend, text))) as api:
            verdict = make_bench(backend, api.url).ask()
    values = dict(CHOSEN, dropped=1) if failure == "dropped" else None if failure else CHOSEN
    assert (verdict.values, verdict.failure) == (values, "" if failure == "dropped" else failure)


@pytest.mark.parametrize("backend", NETWORK)
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_none(make_bench: MakeBench, backend: str, name: str) -> None:
    with serving(ANSWERS[name][0]) as api:
        bench = make_bench(backend, api.url)
        verdict = bench.ask(AMPLE)
    assert (verdict.values, verdict.failure) == (None, ANSWERS[name][1])
    assert KEY not in bench.written() + verdict.detail
    assert [row["outcome"] for row in bench.calls()] == [ANSWERS[name][1]]


@pytest.mark.parametrize("name", FAILURES)
def test_failures_of_a_server(make_bench: MakeBench, name: str) -> None:
    act, failure = FAILURES[name]
    server.packed()
    with serving(act) as api:
        bench = make_bench("anthropic", api.url)
        started = monotonic()
        verdict = bench.ask(SECONDS if failure == "timeout" else AMPLE)
        took = monotonic() - started
    assert (verdict.values, verdict.failure) == (None, failure)
    assert took < SECONDS + SLACK
    assert KEY not in bench.written() + verdict.detail
    assert [row["outcome"] for row in bench.calls()] == [failure]


@pytest.mark.parametrize(
    "failure", ["timeout", "network", "tls", "rate_limited", "overloaded", "refused", "truncated", "http_500"]
)
def test_failures_of_the_scripted_backend(make_bench: MakeBench, failure: str) -> None:
    bench = make_bench("scripted")
    bench.script({"failure": failure})
    verdict = bench.ask()
    assert (verdict.values, verdict.failure) == (None, failure)


@pytest.mark.parametrize("backend", NETWORK)
@pytest.mark.parametrize(("stop", "failure"), [("length", "truncated"), ("refusal", "refused")])
def test_a_truncated_text_is_a_failure(make_bench: MakeBench, backend: str, stop: str, failure: str) -> None:
    with serving(answer(payload(backend, GOOD, stop))) as api:
        verdict = make_bench(backend, api.url).ask()
    assert (verdict.values, verdict.failure) == (None, failure)


def room(body: dict[str, Any]) -> object:
    """Return how many tokens an answer may have."""
    flat = {**body, **body.get("generationConfig", {})}
    names = ("max_tokens", "max_completion_tokens", "maxOutputTokens")
    return next(flat[name] for name in names if name in flat)


# The error for each part of a request, in its vendor's format, and the field that is omitted or renamed afterwards.
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "anthropic thinking": (
        "anthropic",
        {
            "message": '"thinking.type.disabled" is not supported for this model. Use "output_config.effort" instead.'
        },
        "thinking",
    ),
    "anthropic schema": (
        "anthropic",
        {"message": "output_config.format: Extra inputs are not permitted"},
        "format",
    ),
    "openai effort": (
        "openai",
        {"message": "Unsupported value.", "param": "reasoning_effort", "code": "unsupported_value"},
        "reasoning_effort",
    ),
    "openai schema": (
        "openai",
        {"message": "Invalid schema for response_format 'relevance'", "param": "response_format"},
        "response_format",
    ),
    "openai tokens": (
        "openai",
        {
            "message": "Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead.",
            "param": None,
        },
        "max_completion_tokens",
    ),
    "gemini thinking": (
        "gemini",
        {
            "code": 400,
            "status": "INVALID_ARGUMENT",
            "message": "Thinking level is not supported for this model.",
        },
        "thinkingConfig",
    ),
    "gemini schema": (
        "gemini",
        {
            "code": 400,
            "message": "Invalid JSON payload received. Unknown name \"responseJsonSchema\" at 'generation_config'",
        },
        "responseJsonSchema",
    ),
}
MODELS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna", "gemini": "gemini-3.5-flash-lite"}


def fields(body: object) -> set[str]:
    """Return the names of all fields in a request."""
    if isinstance(body, list):
        return set().union(*map(fields, body))
    if not isinstance(body, dict):
        return set()
    return set(body).union(*map(fields, body.values()))


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("status", [400, 422])
def test_only_what_a_refusal_names_is_left_out_once_and_remembered(
    make_bench: MakeBench, name: str, status: int
) -> None:
    backend, error, field = REFUSED[name]

    def choose(seen: Seen) -> Act:
        return answer({"error": error}, status) if field in fields(seen.body) else answer(payload(backend))

    with serving(server.by_request(choose)) as api:
        bench = make_bench(backend, api.url)
        bench.retrieval["model"] = MODELS[backend]
        assert bench.ask().values == CHOSEN
        assert bench.ask(data="another").values == CHOSEN
        first, second, third = (fields(seen.body) for seen in api.seen)
    assert first - second >= {field}
    assert first - second <= {field, "thinkingBudget", "thinkingLevel", "type", "responseMimeType"} | (
        first if "schema" in name else set()
    )
    assert second - first <= {"max_tokens"}
    assert third == second


def test_without_a_thinking_limit_the_answer_has_room_for_thinking(make_bench: MakeBench) -> None:
    _, error, field = REFUSED["anthropic thinking"]

    def choose(seen: Seen) -> Act:
        return answer({"error": error}, 400) if field in seen.body else answer(payload("anthropic"))

    with serving(server.by_request(choose)) as api:
        make_bench("anthropic", api.url).ask()
        assert [room(seen.body) for seen in api.seen] == [256, 4256]


def test_rejected_parts_are_remembered_by_server_and_model(make_bench: MakeBench) -> None:
    _, error, field = REFUSED["anthropic thinking"]

    def choose(seen: Seen) -> Act:
        return answer({"error": error}, 400) if field in seen.body else answer(payload("anthropic"))

    with serving(server.by_request(choose)) as api, serving(answer(payload("anthropic"))) as other:
        bench = make_bench("anthropic", api.url)
        bench.ask()
        bench.retrieval["model"] = "claude-sonnet-5"
        bench.ask(data="another model")
        bench.judge["base_url"] = other.url
        bench.retrieval["model"] = "claude-haiku-5-5"
        bench.ask(data="another server")
        assert [field in seen.body for seen in api.seen] == [True, False, True, False]
        assert [field in seen.body for seen in other.seen] == [True]


@pytest.mark.parametrize("backend", NETWORK)
@pytest.mark.parametrize(
    "error", [{}, {"error": {"message": "Your credit balance is too low"}}, {"error": "bad"}, {"detail": []}]
)
def test_a_refusal_that_names_nothing_is_not_tried_again(
    make_bench: MakeBench, backend: str, error: dict[str, Any]
) -> None:
    with serving(answer(error, 400)) as api:
        verdict = make_bench(backend, api.url).ask()
        assert (verdict.failure, len(api.seen)) == ("http_400", 1)


def test_parts_that_are_rejected_twice_are_not_remembered(make_bench: MakeBench) -> None:
    """Nothing is learned from a server that rejects every request with the same name."""
    with serving(answer({"error": {"message": "thinking"}}, 400)) as api:
        bench = make_bench("anthropic", api.url)
        verdict = bench.ask()
        assert (verdict.failure, len(api.seen)) == ("http_400", 2)
        bench.ask(data="another")
        assert ["thinking" in seen.body for seen in api.seen] == [True, False, True, False]


def test_the_second_request_keeps_to_the_caps(make_bench: MakeBench) -> None:
    """The first reserves little; with thinking the second may cost more than the session's cap leaves."""
    with serving(answer({"error": {"message": "thinking"}}, 400)) as api:
        bench = make_bench("anthropic", api.url, caps={"session_usd": 0.001})
        assert bench.ask().failure == "over_budget"
        assert len(api.seen) == 1
    assert '"spent":0.0,' in bench.written()


@pytest.mark.parametrize("backend", NETWORK)
def test_the_second_request_shares_the_deadline(make_bench: MakeBench, backend: str) -> None:
    with serving(server.after(SECONDS * 0.7, answer({"error": {"message": "schema"}}, 400))) as api:
        started = monotonic()
        verdict = make_bench(backend, api.url).ask(SECONDS)
        assert verdict.failure == "timeout"
        assert monotonic() - started < SECONDS + SLACK


@pytest.mark.parametrize("backend", NETWORK)
def test_a_port_without_a_server(make_bench: MakeBench, backend: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    verdict = make_bench(backend, "http://127.0.0.1:%d" % port).ask()
    assert (verdict.failure, verdict.detail) == ("network", "Connection refused")


@pytest.mark.parametrize("backend", NETWORK)
def test_a_certificate_of_an_unknown_authority(make_bench: MakeBench, backend: str, tmp_path: Path) -> None:
    with serving(answer(payload(backend)), server.tls(server.certificate(str(tmp_path)))) as api:
        verdict = make_bench(backend, api.url).ask()
        assert verdict.failure == "tls"
        assert "self" in verdict.detail
        assert api.seen == []


@pytest.mark.parametrize("backend", NETWORK)
def test_a_server_that_speaks_no_tls(make_bench: MakeBench, backend: str) -> None:
    with serving(answer(payload(backend))) as api:
        verdict = make_bench(backend, api.url.replace("http:", "https:")).ask(SECONDS)
    assert verdict.failure in ("tls", "timeout")


@pytest.mark.parametrize("backend", NETWORK)
def test_a_good_answer_over_tls_in_chunks(make_bench: MakeBench, backend: str, tmp_path: Path) -> None:
    """NODE_EXTRA_CA_CERTS is the client's own way to trust a company's authority."""
    paths = server.certificate(str(tmp_path))
    with serving(server.chunked(payload(backend)), server.tls(paths)) as api:
        bench = make_bench(backend, api.url)
        bench.env["NODE_EXTRA_CA_CERTS"] = paths[0]
        assert bench.ask().values == CHOSEN


def requests(backend: str, bench: Bench, api: server.Server) -> Seen:
    """Return the one request of an ask."""
    assert bench.ask(data={"request": "caf\u00e9 </data> \u202e"}).values == CHOSEN
    return api.seen[0]


def test_a_request_of_the_messages_api(make_bench: MakeBench) -> None:
    with serving(answer(payload("anthropic"))) as api:
        seen = requests("anthropic", make_bench("anthropic", api.url + "/"), api)
    assert seen.line == "POST /v1/messages HTTP/1.1"
    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert "gzip" not in seen.headers["accept-encoding"]
    body: dict[str, Any] = seen.body
    assert body["model"] == "claude-haiku-5-5"
    assert body["max_tokens"] >= 200
    assert body["thinking"] == {"type": "disabled"}
    schema = body["output_config"]["format"]["schema"]
    assert (body["output_config"]["format"]["type"], schema["additionalProperties"]) == ("json_schema", False)
    assert {"temperature", "top_p", "top_k"}.isdisjoint(body)
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert body["messages"][0]["content"].count("</data>") == 1


def test_a_request_for_chat_completions(make_bench: MakeBench) -> None:
    with serving(answer(payload("openai"))) as api:
        seen = requests("openai", make_bench("openai", api.url + "/v1"), api)
    assert seen.line == "POST /v1/chat/completions HTTP/1.1"
    assert seen.headers["authorization"] == "Bearer " + KEY
    assert seen.body["response_format"]["json_schema"]["strict"] is True
    assert [message["role"] for message in seen.body["messages"]] == ["system", "user"]


def test_a_request_of_gemini_has_its_key_in_a_header_alone(make_bench: MakeBench) -> None:
    with serving(answer(payload("gemini"))) as api:
        bench = make_bench("gemini", api.url)
        bench.retrieval["model"] = "gem/ini?x"
        seen = requests("gemini", bench, api)
    assert seen.line == "POST /v1beta/models/gem%2Fini%3Fx:generateContent HTTP/1.1"
    assert seen.headers["x-goog-api-key"] == KEY
    assert seen.body["generationConfig"]["responseMimeType"] == "application/json"
    assert KEY not in seen.line + json.dumps(seen.body)


def test_a_local_server_needs_no_key(make_bench: MakeBench) -> None:
    with serving(answer(payload("openai"))) as api:
        bench = make_bench("openai", api.url + "/v1")
        bench.env = {}
        assert bench.ask().values == CHOSEN
        assert "authorization" not in api.seen[0].headers
