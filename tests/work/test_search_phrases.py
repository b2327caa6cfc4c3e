"""Phrases that the client's model writes in the background, with a thread in the client's place."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memory_plugin.kernel.context import Context, Deadline
from memory_plugin.kernel.settings.load import load
from memory_plugin.memories.survey import survey
from memory_plugin.work.search_phrases import write_phrases
from tests.kernel.judge.bench import SESSION
from tests.kernel.judge.test_host import Client
from tests.project import Project
from tests.recall.store_files import accept_all, at_home, memory, put

PHRASES = ["where did my demo data go", "my test account vanished over night"]
NAME = "staging"
Reply = Callable[[list[dict[str, str]]], object]
Listen = Callable[[Reply], Client]


@pytest.fixture
def staging(project: Project) -> Project:
    """Return a project with one trusted memory without phrases, and the judge of recall on through the client."""
    project.write_settings(judge={"backend": "host"}, retrieval={"judge": {"enabled": True}})
    put(
        project,
        NAME,
        memory("Staging is reset every night at 03:00", "Rows that you add there are gone the next day."),
    )
    with at_home(project) as paths:
        accept_all(paths)
    project.cli("refresh")
    return project


@pytest.fixture
def listen(staging: Project) -> Iterator[Listen]:
    """Yield a function that starts a client whose model answers a question about memories with what `reply` returns."""
    clients: list[Client] = []

    def start(reply: Reply) -> Client:
        def result(request: dict[str, Any]) -> object:
            data = request["prompt"].split("<data>\n")[1].split("\n</data>")[0]
            if "memories" not in json.loads(data):  # the question about a prompt
                return {"isAnswered": False, "reason": "refused"}
            text = json.dumps({"memories": reply(json.loads(data)["memories"])})
            return {"isAnswered": True, "text": text, "usage": {"input_tokens": 900, "output_tokens": 90}}

        with at_home(staging) as paths:
            clients.append(Client(paths.state("judge", "host"), result))
        return clients[-1]

    yield start
    for client in clients:
        client.is_over = True
        client.thread.join()


def written(project: Project, seconds: float = 5.0) -> dict[str, list[str]]:
    """Return the phrases that are written after a reply, in this process."""
    with at_home(project) as paths:
        settings = load(paths.config_dir, paths.project_root)
        return write_phrases(Context(paths, settings, Deadline(seconds), SESSION))


def test_after_a_reply_a_memory_gets_phrases_and_a_prompt_in_their_words_finds_it(
    staging: Project, listen: Listen
) -> None:
    ask = "hey where did all my demo data go?"
    assert staging.prompt(ask).context == ""
    client = listen(lambda rows: [{"id": row["id"], "asked_as": PHRASES} for row in rows])
    ended = {"event": "Stop", "session": SESSION, "transcript": "", "text": "Done.", "judges_off": False}
    assert staging.cli("background", stdin=json.dumps(ended)).returncode == 0
    request = client.requests[-1]
    assert "Rows that you add there are gone the next day." in request["prompt"]
    assert "four words or more" in request["system"]
    assert "gone the next day" in staging.prompt(ask, session_id=SESSION).context
    assert staging.cli("show", NAME, "--json").json["asked_as"] == PHRASES
    rows = [row for row in staging.ledger("judge-calls") if row["question"] == "memories/phrases"]
    assert [(row["outcome"], row["backend"]) for row in rows] == [("ok", "host")]


def test_the_user_is_told_and_what_they_undo_does_not_return(staging: Project, listen: Listen) -> None:
    client = listen(lambda rows: [{"id": row["id"], "asked_as": PHRASES} for row in rows])
    ended = {"event": "Stop", "session": SESSION, "transcript": "", "text": "Done.", "judges_off": False}
    staging.cli("background", stdin=json.dumps(ended))
    assert "Claude wrote search phrases for 1 memory" in staging.prompt("ok", session_id=SESSION).message
    staging.cli("edit", NAME, "--asked-as", "none")
    assert written(staging) == {}
    assert sum("Which phrases" in request["prompt"] for request in client.requests) == 1


def test_four_memories_a_reply_the_last_changed_first(staging: Project, listen: Listen) -> None:
    for at in range(5):
        stamp = "2026-02-0%dT00:00:00Z" % (at + 1)
        put(
            staging,
            "port-%d" % at,
            memory("Service %d has a port" % at, "It is 80%d." % at, updated_at=stamp),
        )
    with at_home(staging) as paths:
        accept_all(paths)
    client = listen(
        lambda rows: [{"id": row["id"], "asked_as": ["which port has " + row["id"]]} for row in rows]
    )
    assert list(written(staging)) == ["port-4", "port-3", "port-2", "port-1"]
    assert list(written(staging)) == ["port-0", NAME]
    assert written(staging) == {}
    assert len(client.requests) == 2


@pytest.mark.parametrize(
    "row",
    [
        pytest.param({"id": "another", "asked_as": PHRASES}, id="a memory that was not sent"),
        pytest.param({"id": NAME, "asked_as": "where did my demo data go"}, id="no list"),
        pytest.param({"id": NAME, "asked_as": [7]}, id="a number"),
        pytest.param({"id": NAME, "asked_as": ["x" * 121]}, id="too long"),
        pytest.param({"id": NAME, "asked_as": ["question %d" % at for at in range(9)]}, id="too many"),
        pytest.param({"id": NAME, "asked_as": ["\u202e\u200b"]}, id="nothing visible"),
        pytest.param({"id": [NAME], "asked_as": PHRASES}, id="a list as id"),
        pytest.param({}, id="nothing"),
    ],
)
def test_a_hostile_answer_changes_nothing_and_is_not_paid_twice(
    staging: Project, listen: Listen, row: dict[str, object]
) -> None:
    client = listen(lambda _: [row])
    assert written(staging) == {}
    assert written(staging) == {}
    assert len(client.requests) == 1
    with at_home(staging) as paths:
        (item,) = survey(paths, []).items
    assert item.stored.memory.asked_as == ()


def test_a_model_changes_no_phrases_and_writes_none_to_a_pending_memory(
    staging: Project, listen: Listen
) -> None:
    put(staging, "mine", memory("Logs rotate daily", "At midnight.", asked_as=["why is the log empty"]))
    with at_home(staging) as paths:
        accept_all(paths)
    put(staging, "theirs", memory("Deploy on Fridays", "Always."))
    names = ("mine", "theirs", NAME)
    client = listen(lambda _: [{"id": name, "asked_as": PHRASES} for name in names])
    assert list(written(staging)) == [NAME]
    assert [name for name in names if '"%s"' % name in client.requests[0]["prompt"]] == [NAME]


def test_secrets_and_private_parts_are_not_sent(staging: Project, listen: Listen) -> None:
    key = "ghp_" + "q7Zt2LxWv9KdR4sYpN8mBc3HfJ6gT1uEaQ5o"
    body = "Log in with %s. <private>Ask Sam.</private> Write to sam.baker@larkspur.io." % key
    put(staging, "login", memory("Log in to the registry", body))
    with at_home(staging) as paths:
        accept_all(paths)
    client = listen(lambda _: [])
    written(staging)
    sent = client.requests[0]["prompt"]
    assert "Log in with" in sent
    assert not any(secret in sent for secret in (key, "Ask Sam", "sam.baker@larkspur.io"))


@pytest.mark.parametrize(
    ("settings", "judges_off"),
    [
        pytest.param({"judge": {"backend": "host"}}, False, id="judge off"),
        pytest.param({"retrieval": {"judge": {"enabled": True}}}, False, id="another backend"),
        pytest.param(
            {"judge": {"backend": "host"}, "retrieval": {"judge": {"enabled": True, "phrases": False}}},
            False,
            id="phrases off",
        ),
        pytest.param(
            {
                "judge": {"backend": "host", "caps": {"session_usd": 0.0}},
                "retrieval": {"judge": {"enabled": True}},
            },
            False,
            id="caps",
        ),
        pytest.param(
            {"judge": {"backend": "host"}, "retrieval": {"judge": {"enabled": True}}}, True, id="tainted"
        ),
    ],
)
def test_nothing_is_asked_unless_the_user_allows_it(
    staging: Project, listen: Listen, settings: dict[str, Any], judges_off: bool
) -> None:
    staging.write_settings(**settings)
    client = listen(lambda rows: [{"id": row["id"], "asked_as": PHRASES} for row in rows])
    ended = {"event": "Stop", "session": SESSION, "transcript": "", "text": "Done.", "judges_off": judges_off}
    staging.cli("background", stdin=json.dumps(ended))
    assert client.requests == []


def test_without_a_client_that_listens_nothing_waits(staging: Project) -> None:
    assert written(staging, 30.0) == {}
    with at_home(staging) as paths:
        assert not os.path.exists(paths.state("judge-calls.jsonl"))
