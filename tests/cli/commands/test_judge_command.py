"""`memory judge` and the doctor's check of it."""

from __future__ import annotations

import argparse
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memory_plugin.cli.command_context import CommandContext, CommandError
from memory_plugin.cli.commands.judge_command import HANDLERS
from memory_plugin.cli.console import Console
from memory_plugin.host.environment import Taint
from memory_plugin.kernel.context import Ledger
from memory_plugin.kernel.judge.question import explain_failure
from memory_plugin.kernel.settings import judge_switches
from memory_plugin.work.installation import judge as doctors_check
from tests.kernel.judge.bench import KEY, Bench, payload
from tests.kernel.judge.server import Act, Server, answer

JUDGE, EVEN = HANDLERS["judge"], answer(payload("anthropic", '{"even": [1, 3]}', tokens=(200, 8)))
# All names that a call or an ask can fail with; each needs words.
FAILURES = """
no_key disabled bad_url no_state no_script timeout network tls proxy redirect rate_limited overloaded circuit_open over_budget
refused truncated parse_error too_large wrong_type error http_400 http_401 http_402 http_403 http_404 http_418 http_500
"""


class RunResult(NamedTuple):
    """The exit code and the output of one run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 (a test knows the shape)
        """Return the printed JSON."""
        return json.loads(self.out)


class User:
    """A user at the command line."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.taint = Taint()

    def context(self) -> CommandContext:
        """Return the context of one run."""
        self.out, self.err = io.StringIO(), io.StringIO()
        return CommandContext(self.bench.paths, Console(self.out, self.err), self.taint)

    def run(self, *words: str) -> RunResult:
        """Return the result of one run, with the settings file as it is."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--json", action="store_true")
        JUDGE.configure(parser)  # type: ignore[misc]
        context, arguments = self.context(), parser.parse_args(words)
        context.console.as_json = arguments.json
        try:
            code = JUDGE.run(arguments, context) or 0  # type: ignore[misc]
        except CommandError as error:  # as `main` does
            context.console.error(str(error))
            code = error.exit_code
        return RunResult(code, self.out.getvalue(), self.err.getvalue())

    @property
    def own(self) -> dict[str, Any]:
        """Return the user's settings file."""
        with open(os.path.join(self.bench.config, "settings.json"), encoding="utf-8") as file:
            settings: dict[str, Any] = json.load(file)
        return settings

    def own_value(self, key: str) -> object:
        """Return the value of a key in the user's settings file."""
        value: Any = self.own["memory"]
        for name in key.split("."):
            value = value[name]
        return value


@pytest.fixture
def create_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Act], User]]:
    """Return a function that creates a user whose judge is on and whose server behaves as given."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    servers: list[Server] = []

    def create(act: Act = EVEN) -> User:
        servers.append(Server(act))
        bench = Bench(str(tmp_path), "anthropic", servers[0].url)
        bench.settings()
        return User(bench)

    yield create
    for server in servers:
        server.close()


CreateUser = Callable[..., User]


def test_on_says_what_is_sent_and_what_it_costs_and_writes_the_switch(create_user: CreateUser) -> None:
    user = create_user()
    path = os.path.join(user.bench.config, "settings.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"model": "opus", "env": {"ANTHROPIC_API_KEY": KEY}}, file)
    result = user.run("on")
    assert result.code == 0
    for part in (
        "first and last 250",
        "title, category and tags",
        "never sent",
        "$0.0002",
        "$0.25",
        "$1.00",
        "found",
    ):
        assert part in result.out
    assert KEY not in result.out
    assert user.own["memory"] == {"retrieval": {"judge": {"enabled": True}}}
    assert user.own["model"] == "opus"
    assert user.run("off").code == 0
    assert user.own["memory"]["retrieval"]["judge"] == {"enabled": False}


def test_on_with_host_needs_no_key_and_says_what_it_counts_against(create_user: CreateUser) -> None:
    user = create_user()
    user.bench.env = {}
    user.bench.settings()
    result = user.run("on", "--host")
    assert (result.code, user.own_value("judge.backend")) == (0, "host")
    assert os.path.isdir(user.bench.paths.state("judge", "host"))
    assert (
        "No key is needed; the calls count against your plan, at most 500 in a session and 2000 a day"
        in result.out
    )
    assert "is not set" not in result.out
    assert doctors_check(user.context())[:2] == ("judge", "ok")
    assert "no_host" in user.run("check").out  # no client listens to a test
    words = argparse.Namespace(action="on", feature="recall", host=True)
    approval = JUDGE.approval(words, user.context())  # type: ignore[misc]
    assert "count against your plan" in str(approval)
    user.run("on", "evaluation", "--host")
    assert user.own_value("evaluation.judge.judges") == ["host:claude-haiku-5-5"] * 3


def test_on_without_a_key_names_the_ways_to_one(create_user: CreateUser) -> None:
    user = create_user()
    user.bench.env = {}
    user.bench.settings()
    result = user.run("on")
    assert result.code == 0
    assert "Recall works without" in result.out
    assert "ANTHROPIC_API_KEY" in result.out
    assert "judge.backend openai" in result.out


@pytest.mark.parametrize(
    ("feature", "sent", "also"),
    [
        ("scoring", "the tool calls of the turn", ""),
        ("sessions", "the beginning and end of outputs", "sessions.judge.when ended"),
        ("interview", "the last ten questions", ""),
        ("capture", "the sentences that you typed", "memory review"),
        ("evaluation", "Sent to each juror", "evaluation.judge.judges"),
    ],
)
def test_each_feature_has_a_judge_of_its_own(
    create_user: CreateUser, feature: str, sent: str, also: str
) -> None:
    user = create_user()
    user.bench.retrieval["enabled"] = False
    user.bench.settings()
    result = user.run("on", feature)
    assert result.code == 0
    assert (sent in result.out, also in result.out, "prices of" in result.out) == (True, True, True)
    key, (value, *_), off = judge_switches()[feature]
    assert user.own_value(key) == value
    assert user.own["memory"]["retrieval"]["judge"]["enabled"] is False
    assert doctors_check(user.context())[:2] == ("judge", "ok")
    assert user.run("off", "all").code == 0
    assert user.own_value(key) == off
    assert user.own_value("retrieval.judge.enabled") is False


def test_on_and_off_keep_the_finer_choice_of_a_switch(create_user: CreateUser) -> None:
    user = create_user()
    user.bench.more["memory"] = {"sessions": {"judge": {"when": "ended"}}, "scoring": {"mode": "shadow"}}
    user.bench.settings()
    user.run("on", "sessions")
    assert user.own_value("sessions.judge.when") == "ended"
    user.run("off", "all")
    assert (user.own_value("sessions.judge.when"), user.own_value("scoring.mode")) == ("never", "shadow")


def test_a_check_asks_each_judge_of_a_jury(create_user: CreateUser) -> None:
    user = create_user()
    user.run("on", "evaluation")
    result = user.run("check", "evaluation", "--json")
    judges = {row["backend"]: row for row in result.json["judges"]}
    assert (judges["anthropic"]["ok"], judges["openai"]["failure"], result.code) == (True, "no_key", 1)
    assert "evaluation" in judges["openai"]["advice"][-1]
    assert [row["feature"] for row in user.bench.calls()] == ["evaluation"]


def test_an_unknown_price_is_reported(create_user: CreateUser) -> None:
    user = create_user()
    user.bench.retrieval["model"] = "brand-new"
    user.bench.settings()
    assert "unknown for brand-new" in user.run("on").out


def test_a_local_model_needs_no_key_and_is_distinguished(create_user: CreateUser) -> None:
    user = create_user()
    user.bench.retrieval["model"] = "llama"
    user.bench.judge["backend"] = "openai"
    user.bench.env = {}
    user.bench.settings()
    result = user.run("on")
    assert "Key: not needed, the model runs on this machine." in result.out
    assert "unknown for llama; the caps assume" in result.out
    user.bench.judge["prices"] = {"llama": [0, 0]}
    user.bench.settings()
    assert "nothing (2 calls to llama" in user.run("on").out


def test_without_a_key_a_check_says_so_once_and_names_the_ways(create_user: CreateUser) -> None:
    user = create_user()
    user.bench.env = {}
    user.bench.settings()
    out = user.run("check").out
    assert (out.count("neither"), "No key was found" in out, "below" in out) == (1, False, False)
    assert [line[:2] for line in out.splitlines()].count("- ") == 3


def test_check_makes_one_small_call(create_user: CreateUser) -> None:
    user = create_user()
    result = user.run("check", "--json")
    assert (result.code, result.json["ok"], result.json["failure"]) == (0, True, "")
    assert result.json["cost_usd"] == pytest.approx(0.000024)
    assert user.run("check").out.startswith("The judge works: claude-haiku-5-5 through anthropic")
    assert [row["cached"] for row in user.bench.calls()] == [False, False]


@pytest.mark.parametrize(
    ("act", "failure", "word"),
    [
        (answer({"error": {"message": KEY}}, 401), "http_401", "reset"),
        (answer({}, 404), "http_404", "retrieval.judge.model"),
        (answer(payload("anthropic", "I am a poet.")), "parse_error", "JSON"),
        (answer({}, 529), "overloaded", "Wait"),
    ],
)
def test_check_says_what_is_wrong_and_what_to_do(
    create_user: CreateUser, act: Act, failure: str, word: str
) -> None:
    user = create_user(act)
    result = user.run("check")
    assert result.code == 1
    assert failure in result.out
    assert word in result.out
    assert KEY not in result.out


def test_check_of_a_judge_that_is_off_asks_nothing(create_user: CreateUser) -> None:
    user = create_user()
    user.bench.retrieval["enabled"] = False
    user.bench.settings()
    result = user.run("check", "--json")
    assert (result.code, result.json["failure"]) == (1, "disabled")
    assert user.run("check").out == "The judge is off. To turn it on: memory judge on\n"
    assert user.run("check", "scoring").out == "The judge is off. To turn it on: memory judge on replies\n"
    assert user.bench.calls() == []


def test_check_in_a_project_that_reaches_for_keys_asks_nothing(create_user: CreateUser) -> None:
    user = create_user()
    user.taint.names["ANTHROPIC_BASE_URL"] = "/p/.claude/settings.json"
    result = user.run("check")
    assert result.code == 1
    assert "ANTHROPIC_BASE_URL" in result.out
    assert user.bench.calls() == []


def test_check_runs_the_users_key_helper(create_user: CreateUser) -> None:
    user = create_user()
    user.bench.env = {}
    user.bench.more["apiKeyHelper"] = "echo helped"
    user.bench.settings()
    assert user.run("check").code == 0


def test_reset_lets_a_session_ask_again_and_keeps_the_bill(create_user: CreateUser) -> None:
    user = create_user(answer({}, 401))
    assert user.run("check", "--json").json["failure"] == "http_401"
    assert user.run("check", "--json").json["failure"] == "disabled"
    assert "still counts" in user.run("reset").out
    assert user.run("check", "--json").json["failure"] == "http_401"


def keep_nothing(bench: Bench, times: int) -> None:
    """Record decisions in which the judges approved no memory."""
    paths = bench.paths
    judged = {"path": "judged", "verdicts": {"a": [False, False]}}
    for _ in range(times):
        Ledger(paths.state(), "recalls").append("s", paths.project_key, {"judge": judged})


def test_a_judge_that_keeps_nothing_is_reported(create_user: CreateUser) -> None:
    user = create_user()
    keep_nothing(user.bench, 19)
    assert doctors_check(user.context()).status == "ok"
    keep_nothing(user.bench, 1)
    check = doctors_check(user.context())
    assert (check.status, check.fix) == ("warn", "memory judge check")
    assert "kept no memory in the last 20 decisions" in check.text


def test_the_doctor_asks_nothing(create_user: CreateUser) -> None:
    user = create_user()
    assert doctors_check(user.context())[:3] == ("judge", "ok", "on for recall; $0.0000 spent today")
    assert user.bench.calls() == []


def test_the_doctor_explains_what_works_without_a_key(create_user: CreateUser) -> None:
    user = create_user()
    user.bench.env = {}
    user.bench.settings()
    check = doctors_check(user.context())
    assert check.status == "warn"
    assert "Recall works without" in check.text
    assert [detail[:2] for detail in check.details].count("- ") == 3
    user.bench.retrieval["enabled"] = False
    user.bench.settings()
    assert doctors_check(user.context()).status == "ok"  # a default is no remark


def test_the_doctor_reports_a_refused_key_and_damaged_files(
    create_user: CreateUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = create_user(answer({}, 403))
    user.run("check")
    assert "memory judge reset" in doctors_check(user.context()).fix
    with open(user.bench.paths.state("judge", "accounts.json"), "w", encoding="ascii") as file:
        file.write("{")
    check = doctors_check(user.context())
    assert (check.status, "reset" in check.fix) == ("warn", True)
    assert user.run("reset").code == 0


@pytest.mark.parametrize("failure", FAILURES.split())
def test_every_failure_has_an_explanation(failure: str) -> None:
    words = explain_failure(failure, "scoring")
    assert words.says
    assert words.do
    assert "FEATURE" not in words.do
    assert failure == "error" or words != explain_failure("error", "scoring")
