"""The backend `host`: files through which the client passes questions on, with a thread in the client's place."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.judge import calls
from tests.kernel.judge.bench import CHOSEN, GOOD, SESSION, Bench, question

ANSWER = {"isAnswered": True, "text": GOOD, "usage": {"input_tokens": 600, "output_tokens": 12}}
Result = Callable[[dict[str, Any]], object]


class Client:
    """Listens for a session as `hooks/register.js` does, and answers each question with what `result` returns; None: never."""

    def __init__(self, folder: str, result: Result) -> None:
        self.folder, self.result = folder, result
        self.requests: list[dict[str, Any]] = []
        self.is_over = False
        os.makedirs(folder, exist_ok=True)
        self.mark = os.path.join(folder, SESSION + ".open")
        self.write(self.mark, "1")
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    @staticmethod
    def write(path: str, text: str) -> None:
        """Write a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def listen(self) -> None:
        """Answer until the end."""
        seen = set()
        while not self.is_over:
            for name in os.listdir(self.folder):
                if name.startswith(SESSION) and name.endswith(".ask") and name not in seen:
                    seen.add(name)
                    self.answer(os.path.join(self.folder, name))
            time.sleep(0.005)

    def answer(self, path: str) -> None:
        """Answer one question."""
        assert os.stat(path).st_mode & 0o777 == 0o600
        with open(path, encoding="utf-8") as file:
            self.requests.append(json.load(file))
        result = self.result(self.requests[-1])
        if result is not None:
            self.write(path[: -len("ask")] + "answer", json.dumps(result) + "\n")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return a bench whose judge asks through the client."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    return Bench(str(tmp_path), "host")


@pytest.fixture
def listen(bench: Bench) -> Iterator[Callable[[Result], Client]]:
    """Yield a function that starts a client."""
    clients: list[Client] = []

    def start(result: Result) -> Client:
        clients.append(Client(bench.paths.state("judge", "host"), result))
        return clients[-1]

    yield start
    for client in clients:
        client.is_over = True
        client.thread.join()


def test_the_client_answers_and_its_files_are_gone(bench: Bench, listen: Callable[[Result], Client]) -> None:
    client = listen(lambda _: ANSWER)
    verdict = bench.ask(5)
    assert (verdict.values, verdict.failure, verdict.tokens_in, verdict.tokens_out) == (CHOSEN, "", 600, 12)
    (request,) = client.requests
    assert request.pop("key") == "1"
    assert request.keys() == {"model", "system", "prompt", "maxTokens", "effort", "timeoutMs"}
    assert (request["model"], request["timeoutMs"] <= 4900) == ("claude-haiku-5-5", True)
    assert os.listdir(client.folder) == [SESSION + ".open"]
    (row,) = bench.calls()
    assert (row["backend"], row["outcome"], row["cost_usd"]) == (
        "host",
        "ok",
        pytest.approx((600 * 0.1 + 12 * 0.5) / 1e6),
    )


@pytest.mark.parametrize(
    ("result", "failure"),
    [
        pytest.param({"isAnswered": False, "reason": "api-error", "status": 429}, "rate_limited", id="429"),
        pytest.param({"isAnswered": False, "reason": "api-error", "status": 401}, "http_401", id="401"),
        pytest.param(
            {"isAnswered": False, "reason": "api-error", "status": None}, "network", id="no connection"
        ),
        pytest.param({"isAnswered": False, "reason": "aborted"}, "timeout", id="cut off"),
        pytest.param({"isAnswered": False, "reason": "empty-reply"}, "truncated", id="no text"),
        pytest.param({"isAnswered": False, "reason": "refused"}, "http_400", id="not sent"),
        pytest.param({"isAnswered": True, "text": "Hello."}, "parse_error", id="prose"),
        pytest.param({"isAnswered": True}, "network", id="no text at all"),
        pytest.param([], "network", id="a list"),
        pytest.param(None, "timeout", id="never"),
    ],
)
def test_each_result_of_the_client(
    bench: Bench, listen: Callable[[Result], Client], result: object, failure: str
) -> None:
    client = listen(lambda _: result)
    seconds = 0.4 if result is None else 20
    verdict = bench.ask(seconds)
    assert (verdict.values, verdict.failure) == (None, failure)
    assert all(0 < request["timeoutMs"] < 1000 * seconds for request in client.requests)
    assert os.listdir(client.folder) == [SESSION + ".open"]


@pytest.mark.parametrize(
    "mark", ["none", "closed", "old", "another session's"], ids=lambda name: name.replace(" ", "-")
)
def test_without_a_listener_nothing_is_waited_for(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(calls, "sleep", waits.append)
    folder = bench.paths.state("judge", "host")
    assert not os.path.exists(folder)
    if mark != "none":
        os.makedirs(folder)
        path = os.path.join(folder, ("other" if "session" in mark else SESSION) + ".open")
        Client.write(path, "" if mark == "closed" else "1")
        if mark == "old":
            os.utime(path, (time.time() - 60,) * 2)
    assert (bench.ask(20).failure, waits) == ("no_host", [])
    assert os.path.isdir(folder)  # so that the client listens for the next prompt
    assert bench.asker().unready() is not None


@pytest.mark.parametrize("session", ["", "../x", "a.b", "ä"])
def test_a_session_that_cannot_be_a_files_name_is_not_asked_for(bench: Bench, session: str) -> None:
    assert bench.ask(1, session).failure == "no_host"


def test_files_that_others_left_behind_are_deleted(bench: Bench, listen: Callable[[Result], Client]) -> None:
    client = listen(lambda _: ANSWER)
    for name, age in (("gone.1.ask", 2 * 86_400), ("busy.1.ask", 10)):
        path = os.path.join(client.folder, name)
        Client.write(path, "{}")
        os.utime(path, (time.time() - age,) * 2)
    bench.ask(5)
    assert sorted(os.listdir(client.folder)) == ["busy.1.ask", SESSION + ".open"]


def test_the_caps_bound_the_number_of_calls(bench: Bench, listen: Callable[[Result], Client]) -> None:
    """A subscription has no price per call, so each counts at least $0.0005."""
    bench.judge["caps"] = {"session_usd": 0.004, "day_usd": 1}
    client = listen(lambda _: {**ANSWER, "usage": {"input_tokens": 1, "output_tokens": 1}})
    failures = [bench.ask(5, data=at).failure for at in range(12)]
    asked = failures.index("over_budget")
    assert 4 < asked == len(client.requests) <= 8
    assert set(failures[asked:]) == {"over_budget"}


def test_two_questions_are_asked_in_parallel(bench: Bench) -> None:
    both = threading.Barrier(2, timeout=5)

    class Waiting(Client):
        """Answers only when both questions are there."""

        def answer(self, path: str) -> None:
            threading.Thread(target=self.answer_with_the_other, args=(path,), daemon=True).start()

        def answer_with_the_other(self, path: str) -> None:
            both.wait()
            super().answer(path)

    client = Waiting(bench.paths.state("judge", "host"), lambda _: ANSWER)
    verdicts = bench.asker().ask_all([question(data=1), question(data=2)], Deadline(5))
    client.is_over = True
    assert [verdict.failure for verdict in verdicts] == ["", ""]
