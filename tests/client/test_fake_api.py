"""The fake API answers and fails as its script says, and keeps no secret."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.client.fake_api import FakeApi
from tests.client.script import Script, last_user, request_kind

NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
HELLO = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
STREAM = {**HELLO, "stream": True}
TOOL = {"name": "Bash", "input": {"command": "ls"}}


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        yield server


def post(api: FakeApi, reply: dict[str, Any], body: object = None, seconds: float = 5) -> str:
    """Return the text of the response to a request that the script answers with `reply`."""
    api.script = Script({"side": reply})
    headers = {"content-type": "application/json", "x-api-key": "sk-ant-secret-value-123"}
    request = urllib.request.Request(  # noqa: S310 (the fake API's address)
        api.url + "/v1/messages", json.dumps(body or HELLO).encode(), headers
    )
    with NO_PROXY.open(request, timeout=seconds) as answer:
        return str(answer.read().decode())


def test_a_message_is_answered_and_the_key_is_not_kept(api: FakeApi) -> None:
    answer = json.loads(post(api, {"text": "hello"}))
    assert (answer["content"], answer["stop_reason"]) == ([{"type": "text", "text": "hello"}], "end_turn")
    (request,) = api.requests
    assert (request.kind, request.answered, request.texts) == ("other", "side", ["", "hi"])
    assert request.headers["x-api-key"] == "<23 characters>"


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "authentication_error"), (429, "rate_limit_error"), (500, "api_error"), (529, "overloaded_error")],
)
def test_an_error_has_the_type_of_its_status(api: FakeApi, status: int, kind: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(api, {"status": status, "headers": {"retry-after": "1"}})
    with caught.value as answer:
        assert (answer.code, answer.headers["retry-after"]) == (status, "1")
        assert json.loads(answer.read())["error"]["type"] == kind


@pytest.mark.parametrize(
    "reply", [{"drop": True}, {"text": "late", "delay": 2}], ids=["a reset", "a late answer"]
)
def test_a_reset_or_late_answer_raises(api: FakeApi, reply: dict[str, Any]) -> None:
    with pytest.raises((ConnectionError, OSError, http.client.HTTPException)):
        post(api, reply, seconds=0.5)


def test_a_raw_body_is_sent_as_it_is(api: FakeApi) -> None:
    assert post(api, {"raw": "<html>"}) == "<html>"


def test_a_stream_has_text_thinking_and_tool_calls(api: FakeApi) -> None:
    raw = post(api, {"thinking": "hm", "text": "abc", "tool_use": [TOOL], "chunk": 2}, STREAM)
    lines = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: ")]
    assert [line["type"] for line in lines][:2] == ["message_start", "content_block_start"]
    assert lines[-1]["type"] == "message_stop"
    assert [line["delta"]["text"] for line in lines if line.get("delta", {}).get("type") == "text_delta"] == [
        "ab",
        "c",
    ]
    assert '"partial_json": "{\\"command\\": \\"ls\\"}"' in raw
    assert '"stop_reason": "tool_use"' in raw


def test_a_stream_can_break(api: FakeApi) -> None:
    assert "{not json" in post(api, {"text": "abc", "malformed": True}, STREAM)
    for fault in ({"drop": "mid"}, {"stream_error": "overloaded_error"}):
        with pytest.raises((ConnectionError, http.client.IncompleteRead)):
            post(api, {"text": "abc" * 400, **fault}, STREAM)


def test_another_host_is_refused_and_the_attempt_recorded(api: FakeApi) -> None:
    proxy = urllib.request.build_opener(urllib.request.ProxyHandler({"http": api.url}))
    with pytest.raises(urllib.error.HTTPError) as caught:
        proxy.open("http://example.invalid/x", timeout=3)
    with caught.value as answer:
        assert answer.code == 403
    assert [request.kind for request in api.requests] == ["proxy"]


def test_rules_come_before_turns_and_turns_before_the_default() -> None:
    rule = {
        "name": "judge",
        "when": {"system": "JUDGE"},
        "replies": [{"text": "1"}, {"text": "2"}],
        "times": 2,
    }
    script = Script({"rules": [rule], "turns": [{"text": "turn"}], "default": {"text": "default"}})
    judged = {"system": [{"type": "text", "text": "A JUDGE"}], "messages": []}
    picks = [script.pick("main", "/v1/messages", body) for body in (judged, judged, judged, HELLO)]
    assert [(reply["text"], source) for reply, source in picks] == [
        ("1", "judge"),
        ("2", "judge"),
        ("turn", "turn"),
        ("default", "default"),
    ]
    assert script.pick("side", "/v1/messages", HELLO)[1] == "side"


def test_a_script_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValueError, match=r"turn$"):
        Script({"turn": []})


def test_a_request_has_a_kind() -> None:
    cases: list[tuple[str, str, dict[str, object], str]] = [
        ("/v1/messages", "claude-cli/2.1", {"tools": [{}]}, "main"),
        ("/v1/messages?beta=true", "claude-cli/2.1", {}, "side"),
        ("/v1/messages/count_tokens", "claude-cli/2.1", {}, "count"),
        ("/api/hello", "claude-code/2.1", {}, "client"),
        ("/v1/messages", "Python-urllib/3.9", {"tools": [{}]}, "other"),
    ]
    assert [
        (path, agent, body, expected)
        for path, agent, body, expected in cases
        if request_kind(path, {"user-agent": agent}, body) != expected
    ] == []


def test_the_last_user_text_is_found_in_tool_results() -> None:
    result = {"type": "tool_result", "content": [{"type": "text", "text": "42"}]}
    messages = [{"role": "user", "content": "hi"}, {"role": "user", "content": [result]}]
    assert last_user({"messages": messages}) == "42"
