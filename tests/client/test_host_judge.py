"""The judges without a key: `hooks/register.js` in the real client asks with the session's own login."""

from __future__ import annotations

import json
import os
import re
import threading
from typing import Any

import pytest

from tests.client.binary import version
from tests.client.plugin import PLUGIN, bash, hooks_succeeded, ledger_rows, make_repository, memory
from tests.client.sandbox import Sandbox
from tests.client.script import Body, Reply
from tests.client.terminal import READY
from tests.client.test_judges import BODY, QUESTION, TITLES, Judges, injected_titles
from tests.client.test_skills import tool_results
from tests.client.turn import Row, Turn
from tests.project import PLUGIN_ROOT

FIRST_WITH_MODS = (2, 1, 287)
has_mods = tuple(map(int, version().split("."))) >= FIRST_WITH_MODS
pytestmark = pytest.mark.client
needs_mods = pytest.mark.skipif(not has_mods, reason="this client loads no mods")
# A reply that the rules are unsure about, and what a judge says about it.
FILLER = "I understand. The proxy listens on port 8080, set in config/proxy.toml under the key listen."
GRADE = {"SyA": 0, "VDet": 0, "EpAd": 0, "EPad": 0, "phrases": [{"index": 0, "filler": True}], "missed": []}
TOKEN: dict[str, str | None] = {"ANTHROPIC_API_KEY": None, "CLAUDE_CODE_OAUTH_TOKEN": "made-up"}


# More than a title's line says, so that a memory is still to come after its title was shown.
LONG = BODY + (
    " Invoices need row locks, which MySQL lost under load, so that numbers were given twice in one night of March."
    " MariaDB was considered and left out, because the team that runs the servers knows only Postgres well."
)


class HostJudges(Judges):
    """The same judges, asked by the client itself; each takes `delay` seconds."""

    delay = 0.0

    def pick(self, kind: str, path: str, body: Body) -> tuple[Reply, str]:
        """Return the reply to a request."""
        if kind == "side" and '"SyA"' in json.dumps(body.get("messages")).replace("\\", ""):
            return {"text": json.dumps(GRADE)}, "judge"
        if kind == "side" and "Which phrases lead" in json.dumps(body.get("messages")):
            names = re.findall(r'"id": ?"([a-z0-9-]+)"', json.dumps(body.get("messages")).replace("\\", ""))
            rows = [{"id": name, "asked_as": ["what a teammate asks of " + name]} for name in names]
            return {"text": json.dumps({"memories": rows})}, "judge"
        if kind == "side" and "</data>" in json.dumps(body.get("messages")):
            reply, _ = super().pick("other", path, body)
            return {**reply, "delay": self.delay}, "judge"
        return super().pick("main" if kind == "other" else kind, path, body)


def with_host_judges(sandbox: Sandbox, delay: float = 0.0, **judge: object) -> Sandbox:
    """Save three memories and choose the backend as `memory judge on --host` does."""
    make_repository(sandbox)
    for title in TITLES:
        memory(
            sandbox, "save", "--category", "decision", "--title", title, "--body", LONG, "--tags", "billing"
        )
    memory(sandbox, "judge", "on", "--host")
    path = os.path.join(sandbox.config, "settings.json")
    settings: dict[str, Any] = json.loads(sandbox.read(path))
    assert settings["memory"] == {"judge": {"backend": "host"}, "retrieval": {"judge": {"enabled": True}}}
    settings["memory"]["retrieval"]["judge"].update({"timeout_per_call": 8.0, **judge})
    sandbox.write(path, settings)
    script = HostJudges(TITLES[:2], TITLES[1:])
    script.delay = delay
    sandbox.api.script = script
    return sandbox


def asked(turn_or_requests: Any) -> int:  # noqa: ANN401 (a turn or a list of requests)
    """Return how many judge calls the client made."""
    requests = getattr(turn_or_requests, "requests", turn_or_requests)
    return sum(request.answered == "judge" for request in requests)


def decision(sandbox: Sandbox, turn: Turn) -> tuple[str, list[str]]:
    """Return path and reasons of the last prompt, after checking that it was answered as usual."""
    assert (turn.returncode, turn.text) == (0, "Hello.")
    hooks_succeeded(sandbox, turn)
    judged = judgments(sandbox)[-1]
    return judged["path"], judged["reasons"]


def judgments(sandbox: Sandbox) -> list[Row]:
    """Return what the judges did on each prompt, as the ledger has it."""
    return [row["judge"] for row in ledger_rows(sandbox, "recalls") if row["place"] == "prompt"]


@needs_mods
@pytest.mark.parametrize("login", [{}, TOKEN], ids=["a key", "a subscription"])
def test_the_client_asks_with_its_own_login(sandbox: Sandbox, login: dict[str, str | None]) -> None:
    with_host_judges(sandbox)
    turn = sandbox.prompt(QUESTION, plugins=PLUGIN, **login)
    assert decision(sandbox, turn) == ("judged", [])
    assert injected_titles(turn) == [TITLES[1]]
    assert (asked(turn), turn.of_kind("other"), turn.of_kind("proxy")) == (2, [], [])
    calls = ledger_rows(sandbox, "judge-calls")
    assert [(row["backend"], row["outcome"], row["cached"]) for row in calls] == [("host", "ok", False)] * 2
    folder = os.path.join(sandbox.config, "lcars", "memory", "judge", "host")
    assert [name.partition(".")[2] for name in os.listdir(folder)] == ["open"]


@needs_mods
def test_a_model_that_takes_too_long_leaves_the_rules(sandbox: Sandbox) -> None:
    with_host_judges(sandbox, delay=20.0, timeout_per_call=1.0)
    turn = sandbox.prompt(QUESTION, plugins=PLUGIN)
    path, reasons = decision(sandbox, turn)
    assert (path, sorted(reasons)) == ("fallback", ["relevance: timeout", "usefulness: timeout"])
    waits = [row["latency_ms"] for row in ledger_rows(sandbox, "judge-calls")]
    assert (len(waits), max(waits) < 1300) == (2, True)


@pytest.mark.skipif(has_mods, reason="this client loads mods")
def test_a_client_without_mods_leaves_the_rules(sandbox: Sandbox) -> None:
    with_host_judges(sandbox)
    turn = sandbox.prompt(QUESTION, plugins=PLUGIN)
    assert decision(sandbox, turn) == ("fallback", ["no_host"])
    assert (asked(turn), ledger_rows(sandbox, "judge-calls")) == (0, [])


@needs_mods
def test_a_judge_that_is_off_costs_no_call(sandbox: Sandbox) -> None:
    with_host_judges(sandbox, enabled=False)
    turn = sandbox.prompt(QUESTION, plugins=PLUGIN)
    assert (turn.returncode, asked(turn), ledger_rows(sandbox, "judge-calls")) == (0, 0, [])


@needs_mods
def test_two_sessions_at_once_get_their_own_answers(sandbox: Sandbox) -> None:
    with_host_judges(sandbox, delay=1.0)
    turns: list[Turn] = []

    def ask(text: str) -> None:
        turns.append(sandbox.prompt(text, plugins=PLUGIN))

    texts = (QUESTION, "Does the billing database test suite run at night?")
    threads = [threading.Thread(target=ask, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [turn.text for turn in turns] == ["Hello.", "Hello."]
    assert [judged["path"] for judged in judgments(sandbox)] == ["judged", "judged"]
    assert asked(sandbox.api.requests) == len(ledger_rows(sandbox, "judge-calls")) == 4


@needs_mods
def test_claude_runs_our_commands_with_it(sandbox: Sandbox) -> None:
    with_host_judges(sandbox)
    script = sandbox.api.script
    script.turns = [bash("memory search 'billing database tests' --judge --json")]
    turn = sandbox.prompt("/memory:search billing database tests", plugins=PLUGIN)
    (answer,) = tool_results(turn)
    output = json.loads(str(answer["content"]))
    assert (output["judge"]["path"], asked(turn)) == ("judged", 2)


@needs_mods
@pytest.mark.terminal
@pytest.mark.usefixtures("tmux")
def test_in_a_terminal_prompts_and_replies_are_judged(sandbox: Sandbox) -> None:
    with_host_judges(sandbox)
    memory(sandbox, "judge", "on", "scoring")
    sandbox.api.script.default = {"text": FILLER}
    terminal = sandbox.terminal("--plugin-dir", PLUGIN_ROOT)
    terminal.wait(READY)
    for number, text in enumerate((QUESTION, "Again: " + QUESTION), 1):
        terminal.submit(text)
        terminal.wait(re.escape(text) + ".*I understand")
        terminal.settle()
        assert sandbox.ledger("lcars/memory/judge-calls.jsonl", wait=20, at_least=3 * number + 1)
    assert [judged["path"] for judged in judgments(sandbox)] == ["judged", "judged"]
    calls = ledger_rows(sandbox, "judge-calls")
    assert [(row["feature"], row["outcome"]) for row in calls if row["feature"] == "scoring"] == [
        ("scoring", "ok"),
        ("scoring", "ok"),
    ]
    assert [row["outcome"] for row in calls if row["question"] == "memories/phrases"] == ["ok"]
    assert asked(sandbox.api.requests) == sum(not row["cached"] for row in calls)
    listed = memory(sandbox, "check", "phrases")
    assert listed["memories"] == []
    terminal.submit("/exit")
