"""The two judges in the real client: their requests, the effect of their answers, and every failure."""

from __future__ import annotations

import json
import os
import re
from typing import Any, NamedTuple

import pytest

from tests.client.fake_api import FakeApi
from tests.client.plugin import (
    ASK,
    BLOCK,
    PLUGIN,
    TITLE,
    bash,
    hooks_succeeded,
    is_recalled,
    ledger_rows,
    make_repository,
    memory,
    with_memory,
)
from tests.client.sandbox import KEY, Sandbox
from tests.client.script import Body, Reply, Script
from tests.client.test_skills import tool_results
from tests.client.turn import Row, Turn
from tests.project import PLUGIN_ROOT

pytestmark = pytest.mark.client

# The session catalog, which lists titles, may be in the same message.
_BLOCK = "<memory-context>.*?</memory-context>"
QUESTION = "Which billing database do the tests use?"
TITLES = [
    "Use Postgres for the billing database",
    "Billing tests need the seeded database",
    "Billing database tests run at night",
]
BODY = "The body of it: xylophone."
MODEL = "claude-haiku-5-5"
SECRET = "ghp_" + "a8Kd02mNq7Zx4Wv9Lp3Rt6Yb1Cf5Hj0GsE2U"
KEYS = {"relevance": "relevant", "usefulness": "useful"}
# A form of these settings that other programs write.
ALWAYS: dict[str, Any] = {"memory": {"retrieval": {"judge": {"enabled": True, "when": "always"}}}}


def parse_judge_request(body: Body) -> tuple[str, dict[str, Any]]:
    """Return the judge that a request is for, and its data."""
    text: str = body["messages"][0]["content"]
    name = next(name for name, key in KEYS.items() if '{"%s"' % key in text)
    data: dict[str, Any] = json.loads(text[text.index("<data>") + 6 : text.index("</data>")])
    return name, data


class Judges(Script):
    """A script in which each judge picks memories by title or gives a fixed reply; Claude says hello."""

    def __init__(self, relevance: list[str] | Reply, usefulness: list[str] | Reply) -> None:
        super().__init__({"default": {"text": "Hello."}})
        self.choices = {"relevance": relevance, "usefulness": usefulness}

    def pick(self, kind: str, path: str, body: Body) -> tuple[Reply, str]:
        """Return the reply to a request."""
        if kind != "other":
            return super().pick(kind, path, body)
        name, data = parse_judge_request(body)
        choice = self.choices[name]
        if isinstance(choice, dict):
            return choice, name
        chosen = [note["index"] for note in data["notes"] if note["title"] in choice]
        return {"text": json.dumps({KEYS[name]: chosen})}, name


def with_judges(sandbox: Sandbox, relevance: list[str] | Reply, usefulness: list[str] | Reply) -> Sandbox:
    """Save three memories, all above the threshold, and script the judges' answers; return the sandbox."""
    make_repository(sandbox)
    for title in TITLES:
        memory(
            sandbox, "save", "--category", "decision", "--title", title, "--body", BODY, "--tags", "billing"
        )
    switch_on(sandbox)
    sandbox.api.script = Judges(relevance, usefulness)
    return sandbox


def switch_on(sandbox: Sandbox, **judge: object) -> None:
    """Enable the judges for every candidate; keywords are further settings."""
    # The timeout is long because a busy machine must not count as a failed judge.
    settings = {"enabled": True, "when": "always", "timeout_per_call": 8.0, **judge}
    sandbox.settings({"memory": {"retrieval": {"inject_threshold": 0.0, "judge": settings}}})


def judge_decision(sandbox: Sandbox, turn: Turn) -> Row:
    """Return the recorded decision of the judges on the last prompt, after checking that Claude answered it."""
    assert (turn.returncode, turn.text) == (0, "Hello.")
    assert turn.of_kind("proxy") == []
    hooks_succeeded(sandbox, turn)
    decision: Row = ledger_rows(sandbox, "recalls")[-1]["judge"]
    return decision


def injected_titles(turn: Turn) -> list[str]:
    """Return the titles of the memories that the model was told in full."""
    blocks = [block for text in turn.sent(BLOCK) for block in re.findall(_BLOCK, text, re.DOTALL)]
    texts = [block.partition("<memory-titles>")[0] for block in blocks]
    assert len(texts) <= 1
    return [title for title in TITLES if any(title in text for text in texts)]


def expected_body(name: str, sealed: str) -> Body:
    """Return the expected request to a judge, made from its rubric file and the sealed data."""
    path = os.path.join(PLUGIN_ROOT, "config", "judges", "rubrics", name + ".json")
    with open(path, encoding="utf-8") as file:
        rubric = json.load(file)
    return {
        "model": MODEL,
        "max_tokens": rubric["max_tokens"],
        "system": "\n".join(rubric["system"]),
        "messages": [{"role": "user", "content": sealed + "\n" + "\n".join(rubric["closing"])}],
        "thinking": {"type": "disabled"},
        "output_config": {"format": {"type": "json_schema", "schema": rubric["schema"]}},
    }


def test_a_memory_that_both_judges_approve_is_injected(sandbox: Sandbox) -> None:
    with_judges(sandbox, relevance=TITLES[:2], usefulness=TITLES[1:])
    turn = sandbox.prompt(QUESTION, plugins=PLUGIN)
    decision = judge_decision(sandbox, turn)
    assert injected_titles(turn) == [TITLES[1]]
    assert (decision["path"], decision["reasons"], decision["asked"]) == ("judged", [], 3)
    requests = {parse_judge_request(request.body)[0]: request for request in turn.of_kind("other")}
    assert len(turn.of_kind("other")) == len(requests) == 2
    for name, request in requests.items():
        data = parse_judge_request(request.body)[1]
        sealed, end, _ = request.body["messages"][0]["content"].partition("</data>")
        assert request.body == expected_body(name, sealed + end)
        assert (request.method, request.path) == ("POST", "/v1/messages")
        assert request.headers["x-api-key"] == "<%d characters>" % len(KEY)
        assert "authorization" not in request.headers
        assert data["request"] == QUESTION
        assert sorted(note["title"] for note in data["notes"]) == sorted(TITLES)
        assert all(note.keys() == {"index", "category", "title", "tags"} for note in data["notes"])
        assert {(note["category"], tuple(note["tags"])) for note in data["notes"]} == {
            ("decision", ("billing",))
        }
        assert "xylophone" not in json.dumps(request.body)
    first = min(request.number for request in turn.of_kind("main") if request.answered == "default")
    assert all(request.number < first for request in requests.values())


def test_the_judges_are_enabled_by_settings_of_another_program(sandbox: Sandbox) -> None:
    with_memory(sandbox).settings(ALWAYS)
    sandbox.api.script = Judges([TITLE], [TITLE])
    turn = sandbox.prompt(ASK, plugins=PLUGIN)
    assert judge_decision(sandbox, turn)["path"] == "judged"
    assert is_recalled(turn)
    assert len(turn.of_kind("other")) == 2
    memory(sandbox, "judge", "reset")  # forgets the verdicts: a judge is asked the same question only once
    sandbox.api.script = Judges([], [])
    turn = sandbox.prompt(ASK, plugins=PLUGIN)
    assert ledger_rows(sandbox, "recalls")[-1]["reason"] == "declined"
    assert not turn.sent(BLOCK)


def test_clear_cases_are_decided_by_rules_without_a_judge(sandbox: Sandbox) -> None:
    with_memory(sandbox).settings(
        {"memory": {"retrieval": {"inject_threshold": 0.0, "judge": {"when": "unsure"}}}}
    )
    turn = sandbox.prompt(ASK, plugins=PLUGIN)
    assert judge_decision(sandbox, turn)["path"] == "rules"
    assert is_recalled(turn)
    assert turn.of_kind("other") == []


def test_no_secret_of_a_prompt_is_sent_or_written(sandbox: Sandbox) -> None:
    with_judges(sandbox, relevance=TITLES, usefulness=TITLES[:1])
    private = "<private>my aunt Agatha</private>"
    turn = sandbox.prompt("%s %s The token is %s" % (QUESTION, private, SECRET), plugins=PLUGIN)
    assert judge_decision(sandbox, turn)["path"] == "judged"
    sent = json.dumps([request.body for request in turn.of_kind("other")])
    state = os.path.join(sandbox.config, "lcars")
    files = [os.path.join(folder, name) for folder, _, names in os.walk(state) for name in names]
    assert files
    for secret in (SECRET, SECRET[4:24], "Agatha", KEY):
        assert secret not in sent
        assert [path for path in files if secret in sandbox.read(path)] == []


class Outcome(NamedTuple):
    """What both judges do, and the expected decision; `injected` holds titles or their number."""

    relevance: list[str] | Reply
    usefulness: list[str] | Reply
    path: str
    reasons: list[str]
    injected: list[str] | int


def both_fail(reply: Reply, failure: str) -> Outcome:
    """Return the outcome of two judges that fail alike: the best two memories by the rules."""
    return Outcome(reply, reply, "fallback", ["relevance: " + failure, "usefulness: " + failure], 2)


FAILURES = {
    "overloaded": both_fail({"status": 529}, "overloaded"),
    "the key is refused": both_fail({"status": 401}, "http_401"),
    "a server error": both_fail({"status": 500}, "http_500"),
    "the connection is reset": both_fail({"drop": True}, "network"),
    "an answer that is not JSON": both_fail({"raw": "{not json"}, "parse_error"),
    "an answer that makes no choice": both_fail({"text": "I had rather write a poem."}, "parse_error"),
    "too slow": both_fail({"delay": 4, "text": '{"relevant": [0], "useful": [0]}'}, "timeout"),
    "the model refuses": both_fail({"text": "No.", "stop_reason": "refusal"}, "refused"),
    "cut off": both_fail({"text": '{"relevant": [0', "stop_reason": "max_tokens"}, "truncated"),
    "one fails": Outcome({"status": 529}, TITLES[2:], "partial", ["relevance: overloaded"], TITLES[2:]),
    "the other fails": Outcome(TITLES[:1], {"drop": True}, "partial", ["usefulness: network"], TITLES[:1]),
    "they agree on nothing": Outcome(TITLES[:1], TITLES[1:], "judged", [], []),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_prompt_is_answered_whatever_the_judges_do(sandbox: Sandbox, name: str) -> None:
    expected = FAILURES[name]
    with_judges(sandbox, expected.relevance, expected.usefulness)
    if name == "too slow":
        switch_on(sandbox, timeout_per_call=1.0)
    turn = sandbox.prompt(QUESTION, plugins=PLUGIN)
    decision = judge_decision(sandbox, turn)
    assert (decision["path"], decision["reasons"]) == (expected.path, expected.reasons)
    titles = injected_titles(turn)
    assert (len(titles) if isinstance(expected.injected, int) else titles) == expected.injected
    assert len(turn.of_kind("other")) == 2


def test_a_refused_key_is_reported_once_and_not_used_again(sandbox: Sandbox) -> None:
    with_judges(sandbox, {"status": 401}, {"status": 401})
    first = sandbox.prompt(QUESTION, plugins=PLUGIN)
    again = sandbox.prompt(
        "And which seeded database do they need at night?", "--resume", first.session, plugins=PLUGIN
    )
    assert again.text == "Hello."
    messages = [
        record for record in sandbox.hook_records(first.session) if record["type"] == "hook_system_message"
    ]
    assert len([record for record in messages if "memory judge check" in str(record)]) == 1
    assert again.of_kind("other") == []


def test_without_a_key_for_the_hook_the_rules_answer(sandbox: Sandbox) -> None:
    """With a subscription the client can reach its provider, but no hook can."""
    with_judges(sandbox, TITLES, TITLES)
    turn = sandbox.prompt(QUESTION, plugins=PLUGIN, ANTHROPIC_API_KEY=None, CLAUDE_CODE_OAUTH_TOKEN="made-up")
    assert judge_decision(sandbox, turn)["path"] == "no_key"
    assert len(injected_titles(turn)) == 2
    assert turn.of_kind("other") == []


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize(
    "name", ["ANTHROPIC_BASE_URL", "HTTPS_PROXY", "NODE_EXTRA_CA_CERTS", "ANTHROPIC_API_KEY"]
)
def test_a_project_that_sets_addresses_or_keys_disables_the_judges(
    sandbox: Sandbox, name: str, file: str
) -> None:
    """The client passes the project's `env` to hooks. With a base URL it sends its own requests there as well."""
    with_judges(sandbox, TITLES, TITLES)
    with FakeApi({"default": {"text": "Hello."}}) as other:
        values = {
            "NODE_EXTRA_CA_CERTS": os.path.join(sandbox.project, "ca.pem"),
            "ANTHROPIC_API_KEY": "sk-theirs",
        }
        sandbox.write(
            os.path.join(sandbox.project, ".claude", file), {"env": {name: values.get(name, other.url)}}
        )
        turn = sandbox.prompt(QUESTION, plugins=PLUGIN)
        assert [request.path for request in other.requests if request.kind == "other"] == []
    assert (turn.returncode, turn.text) == (0, "Hello.")
    (row,) = [row for row in ledger_rows(sandbox, "recalls") if row["place"] == "prompt"]
    assert (row["judge"]["path"], row["outcome"]) == ("disabled", "injected")
    assert "memory doctor" in row["judge"]["reasons"][0]
    assert turn.of_kind("other") == []
    assert ledger_rows(sandbox, "judge-calls") == []


def test_a_project_cannot_enable_judges(sandbox: Sandbox) -> None:
    with_memory(sandbox).write(os.path.join(sandbox.project, ".claude", "settings.json"), ALWAYS)
    turn = sandbox.prompt(ASK, plugins=PLUGIN)
    assert turn.text == "Hello."
    assert is_recalled(turn)
    assert turn.of_kind("other") == []


def test_a_search_by_claude_uses_the_judges(sandbox: Sandbox) -> None:
    """In a search one approval is enough, and each result names the judges that approved it."""
    with_judges(sandbox, TITLES[:1], TITLES[1:2])
    memory(
        sandbox, "config", "set", "judge.base_url", sandbox.api.url
    )  # a command of Claude's uses no address of the environment
    sandbox.api.script.turns = [bash("memory search 'billing database tests' --judge --json")]
    turn = sandbox.prompt("/memory:search billing database tests", plugins=PLUGIN)
    assert turn.text == "Hello."
    (answer,) = tool_results(turn)
    output = json.loads(str(answer["content"]))
    approved = {row["title"]: row["approved_by"] for row in output["results"]}
    assert approved == {TITLES[0]: ["relevance"], TITLES[1]: ["usefulness"]}
    assert output["judge"]["path"] == "judged"
