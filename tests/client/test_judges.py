"""The two judges in the real client: what they are asked, what comes of their answers, and each way to fail."""

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
    begin,
    hooks_went_well,
    memory,
    recalled,
    repository,
    written,
)
from tests.client.sandbox import KEY, Sandbox
from tests.client.script import Body, Reply, Script
from tests.client.test_skills import results
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
# The form that others rely on, to the letter.
ALWAYS: dict[str, Any] = {"memory": {"retrieval": {"judge": {"enabled": True, "when": "always"}}}}


def asked(body: Body) -> tuple[str, dict[str, Any]]:
    """Which judge a request is for, and the data that it carries."""
    text: str = body["messages"][0]["content"]
    name = next(name for name, key in KEYS.items() if '{"%s"' % key in text)
    data: dict[str, Any] = json.loads(text[text.index("<data>") + 6 : text.index("</data>")])
    return name, data


class Judges(Script):
    """Each judge picks memories by their titles, or does as told; Claude says hello."""

    def __init__(self, relevance: list[str] | Reply, usefulness: list[str] | Reply) -> None:
        super().__init__({"default": {"text": "Hello."}})
        self.wanted = {"relevance": relevance, "usefulness": usefulness}

    def pick(self, asker: str, path: str, body: Body) -> tuple[Reply, str]:
        """Return the reply to a request."""
        if asker != "other":
            return super().pick(asker, path, body)
        name, data = asked(body)
        wanted = self.wanted[name]
        if isinstance(wanted, dict):
            return wanted, name
        chosen = [note["index"] for note in data["notes"] if note["title"] in wanted]
        return {"text": json.dumps({KEYS[name]: chosen})}, name


def judged(box: Sandbox, relevance: list[str] | Reply, usefulness: list[str] | Reply) -> Sandbox:
    """Return the sandbox with three memories, all above the threshold, and with judges that answer so about all of them."""
    repository(box)
    for title in TITLES:
        memory(box, "save", "--category", "decision", "--title", title, "--body", BODY, "--tags", "billing")
    switch_on(box)
    box.api.script = Judges(relevance, usefulness)
    return box


def switch_on(box: Sandbox, **judge: object) -> None:
    """Switches the judges on for all that is found."""
    patient = {"timeout_per_call": 8.0}  # a busy machine is no failure of a judge
    how = {"enabled": True, "when": "always", **patient, **judge}
    box.settings({"memory": {"retrieval": {"inject_threshold": 0.0, "judge": how}}})


def went_through(box: Sandbox, turn: Turn) -> Row:
    """Return what the ledger says of the judges on the last prompt, which reached Claude and was answered."""
    assert (turn.returncode, turn.text) == (0, "Hello.")
    assert turn.of_kind("proxy") == []
    hooks_went_well(box, turn)
    decision: Row = written(box, "recalls")[-1]["judge"]
    return decision


def told(turn: Turn) -> list[str]:
    """Return the memories that the model was told in full."""
    blocks = [block for text in turn.sent(BLOCK) for block in re.findall(_BLOCK, text, re.DOTALL)]
    texts = [block.partition("<memory-titles>")[0] for block in blocks]
    assert len(texts) <= 1
    return [title for title in TITLES if any(title in text for text in texts)]


def expected_body(name: str, sealed: str) -> Body:
    """Return what a judge is to be sent with this data, put together from its file by hand."""
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


def test_two_requests_go_out_and_what_both_approve_of_is_told(box: Sandbox) -> None:
    judged(box, relevance=TITLES[:2], usefulness=TITLES[1:])
    turn = box.prompt(QUESTION, plugins=PLUGIN)
    decision = went_through(box, turn)
    assert told(turn) == [TITLES[1]]
    assert (decision["path"], decision["reasons"], decision["asked"]) == ("judged", [], 3)
    requests = {asked(request.body)[0]: request for request in turn.of_kind("other")}
    assert len(turn.of_kind("other")) == len(requests) == 2
    for name, request in requests.items():
        data = asked(request.body)[1]
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


def test_the_switch_in_the_form_that_others_rely_on(box: Sandbox) -> None:
    begin(box).settings(ALWAYS)
    box.api.script = Judges([TITLE], [TITLE])
    turn = box.prompt(ASK, plugins=PLUGIN)
    assert went_through(box, turn)["path"] == "judged"
    assert recalled(turn)
    assert len(turn.of_kind("other")) == 2
    memory(box, "judge", "reset")  # forget the verdicts: the same question is asked once
    box.api.script = Judges([], [])
    turn = box.prompt(ASK, plugins=PLUGIN)
    assert written(box, "recalls")[-1]["reason"] == "declined"
    assert not turn.sent(BLOCK)


def test_the_rules_decide_the_clear_cases_without_asking(box: Sandbox) -> None:
    begin(box).settings({"memory": {"retrieval": {"inject_threshold": 0.0, "judge": {}}}})
    turn = box.prompt(ASK, plugins=PLUGIN)
    assert went_through(box, turn)["path"] == "rules"
    assert recalled(turn)
    assert turn.of_kind("other") == []


def test_no_secret_of_the_prompt_goes_out_and_none_is_written(box: Sandbox) -> None:
    judged(box, relevance=TITLES, usefulness=TITLES[:1])
    private = "<private>my aunt Agatha</private>"
    turn = box.prompt("%s %s The token is %s" % (QUESTION, private, SECRET), plugins=PLUGIN)
    assert went_through(box, turn)["path"] == "judged"
    sent = json.dumps([request.body for request in turn.of_kind("other")])
    state = os.path.join(box.config, "lcars")
    files = [os.path.join(folder, name) for folder, _, names in os.walk(state) for name in names]
    assert files
    for gone in (SECRET, SECRET[4:24], "Agatha", KEY):
        assert gone not in sent
        assert [path for path in files if gone in box.read(path)] == []


class Rung(NamedTuple):
    """What two judges do, and what is to come of it."""

    relevance: list[str] | Reply
    usefulness: list[str] | Reply
    path: str
    reasons: list[str]
    told: list[str] | int


def both(reply: Reply, failure: str) -> Rung:
    """Both fail alike: the best two by the rules."""
    return Rung(reply, reply, "fallback", ["relevance: " + failure, "usefulness: " + failure], 2)


FAILURES = {
    "overloaded": both({"status": 529}, "overloaded"),
    "the key is refused": both({"status": 401}, "http_401"),
    "a server's fault": both({"status": 500}, "http_500"),
    "the connection breaks off": both({"drop": True}, "network"),
    "an answer that is no JSON": both({"raw": "{not json"}, "parse_error"),
    "an answer that is no choice": both({"text": "I had rather write a poem."}, "parse_error"),
    "too slow": both({"delay": 4, "text": '{"relevant": [0], "useful": [0]}'}, "timeout"),
    "the model refuses": both({"text": "No.", "stop_reason": "refusal"}, "refused"),
    "cut off": both({"text": '{"relevant": [0', "stop_reason": "max_tokens"}, "truncated"),
    "one fails": Rung({"status": 529}, TITLES[2:], "partial", ["relevance: overloaded"], TITLES[2:]),
    "the other fails": Rung(TITLES[:1], {"drop": True}, "partial", ["usefulness: network"], TITLES[:1]),
    "they agree on nothing": Rung(TITLES[:1], TITLES[1:], "judged", [], []),
}


@pytest.mark.parametrize("name", FAILURES)
def test_whatever_the_judges_do_the_prompt_goes_through(box: Sandbox, name: str) -> None:
    rung = FAILURES[name]
    judged(box, rung.relevance, rung.usefulness)
    if name == "too slow":
        switch_on(box, timeout_per_call=1.0)
    turn = box.prompt(QUESTION, plugins=PLUGIN)
    decision = went_through(box, turn)
    assert (decision["path"], decision["reasons"]) == (rung.path, rung.reasons)
    found = told(turn)
    assert (len(found) if isinstance(rung.told, int) else found) == rung.told
    assert len(turn.of_kind("other")) == 2


def test_a_refused_key_is_said_once_in_a_session_and_then_left_alone(box: Sandbox) -> None:
    judged(box, {"status": 401}, {"status": 401})
    first = box.prompt(QUESTION, plugins=PLUGIN)
    again = box.prompt(
        "And which seeded database do they need at night?", "--resume", first.session, plugins=PLUGIN
    )
    assert again.text == "Hello."
    shown = [record for record in box.hook_records(first.session) if record["type"] == "hook_system_message"]
    assert len([record for record in shown if "memory judge check" in str(record)]) == 1
    assert again.of_kind("other") == []


def test_without_a_key_for_the_hook_the_rules_answer(box: Sandbox) -> None:
    """A subscriber: the client has a way to its provider that no hook has."""
    judged(box, TITLES, TITLES)
    turn = box.prompt(QUESTION, plugins=PLUGIN, ANTHROPIC_API_KEY=None, CLAUDE_CODE_OAUTH_TOKEN="made-up")
    assert went_through(box, turn)["path"] == "no_key"
    assert len(told(turn)) == 2
    assert turn.of_kind("other") == []


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize(
    "name", ["ANTHROPIC_BASE_URL", "HTTPS_PROXY", "NODE_EXTRA_CA_CERTS", "ANTHROPIC_API_KEY"]
)
def test_a_project_that_reaches_for_keys_gets_no_judge(box: Sandbox, name: str, file: str) -> None:
    """The client hands the project's `env` to our hooks; with a base URL it sends its own requests there, too."""
    judged(box, TITLES, TITLES)
    with FakeApi({"default": {"text": "Hello."}}) as theirs:
        values = {
            "NODE_EXTRA_CA_CERTS": os.path.join(box.project, "ca.pem"),
            "ANTHROPIC_API_KEY": "sk-theirs",
        }
        box.write(os.path.join(box.project, ".claude", file), {"env": {name: values.get(name, theirs.url)}})
        turn = box.prompt(QUESTION, plugins=PLUGIN)
        assert [request.path for request in theirs.requests if request.kind == "other"] == []
    assert (turn.returncode, turn.text) == (0, "Hello.")
    (row,) = [row for row in written(box, "recalls") if row["place"] == "prompt"]
    assert (row["judge"]["path"], row["outcome"]) == ("disabled", "injected")
    assert "memory doctor" in row["judge"]["reasons"][0]
    assert turn.of_kind("other") == []
    assert written(box, "judge-calls") == []


def test_a_project_cannot_switch_judges_on(box: Sandbox) -> None:
    begin(box).write(os.path.join(box.project, ".claude", "settings.json"), ALWAYS)
    turn = box.prompt(ASK, plugins=PLUGIN)
    assert turn.text == "Hello."
    assert recalled(turn)
    assert turn.of_kind("other") == []


def test_claude_searches_with_judges(box: Sandbox) -> None:
    """One of the two is enough in a search, and each result says who approved of it."""
    judged(box, TITLES[:1], TITLES[1:2])
    memory(
        box, "config", "set", "judge.base_url", box.api.url
    )  # a command of Claude's uses no address of the environment
    box.api.script.turns = [bash("memory search 'billing database tests' --judge --json")]
    turn = box.prompt("/memory:search billing database tests", plugins=PLUGIN)
    assert turn.text == "Hello."
    (answer,) = results(turn)
    found = json.loads(str(answer["content"]))
    approved = {row["title"]: row["approved_by"] for row in found["results"]}
    assert approved == {TITLES[0]: ["relevance"], TITLES[1]: ["usefulness"]}
    assert found["judge"]["path"] == "judged"
