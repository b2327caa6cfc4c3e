"""Asking a judge: what is sent, paid, cached and recorded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from socket import socket
from time import sleep

import pytest

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.judge.budget import SpendingBudget
from tests.kernel.judge import server
from tests.kernel.judge.bench import CHOSEN, KEY, SESSION, Bench, payload, question
from tests.kernel.judge.server import Act, Seen, answer, serving
from tests.project import PLUGIN_ROOT

MakeBench = Callable[..., Bench]
GOOD = answer(payload("anthropic"))


def in_turn(*acts: Act) -> Act:
    """Return an act that uses one of these per request and repeats the last."""
    remaining = list(acts)

    def act(conn: socket, seen: Seen) -> None:
        next_act = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        next_act(conn, seen)

    return act


def test_a_call_leaves_one_line(make_bench: MakeBench) -> None:
    with serving(GOOD) as api:
        bench = make_bench("anthropic", api.url)
        bench.ask()
    (row,) = bench.calls()
    assert row["session"] == SESSION
    assert (row["feature"], row["question"], row["backend"]) == ("retrieval", "relevance", "anthropic")
    assert (row["model"], row["outcome"], row["cached"]) == ("claude-haiku-5-5", "ok", False)
    assert (row["tokens_in"], row["tokens_out"]) == (600, 12)
    assert row["cost_usd"] == pytest.approx(0.000066)
    assert 0 < row["latency_ms"] < 2000
    assert len(row["rubric"]) == 12


def test_the_same_question_is_asked_once(make_bench: MakeBench) -> None:
    with serving(GOOD) as api:
        bench = make_bench("anthropic", api.url)
        verdicts = [bench.ask() for _ in range(2)]
        assert [verdict.values for verdict in verdicts] == [CHOSEN, CHOSEN]
        assert [verdict.cached for verdict in verdicts] == [False, True]
        assert bench.ask(data="another").cached is False
        bench.retrieval["model"] = "another-model"
        assert bench.ask().cached is False
        assert len(api.seen) == 3
    assert [row["cached"] for row in bench.calls()] == [False, True, False, False]
    assert bench.calls()[1]["cost_usd"] == 0


def test_two_of_the_same_question_are_one(make_bench: MakeBench) -> None:
    with serving(GOOD) as api:
        verdicts = make_bench("anthropic", api.url).asker().ask_all([question(), question()], Deadline(5))
        assert [verdict.values for verdict in verdicts] == [CHOSEN, CHOSEN]
        assert len(api.seen) == 1


def test_a_failure_is_not_kept(make_bench: MakeBench) -> None:
    with serving(in_turn(answer({}, 500), GOOD)) as api:
        bench = make_bench("anthropic", api.url)
        assert [bench.ask().failure for _ in range(2)] == ["http_500", ""]


def test_an_unknown_models_cost_is_unknown_and_counts(make_bench: MakeBench) -> None:
    with serving(GOOD) as api:
        bench = make_bench("anthropic", api.url)
        bench.retrieval["model"] = "brand-new-model"
        assert bench.ask().cost is None
    assert bench.calls()[0]["cost_usd"] is None
    assert SpendingBudget(bench.paths.state("judge")).figures(SESSION).day == pytest.approx(0.0033)


@pytest.mark.parametrize(
    ("act", "spent"),
    [
        (GOOD, True),
        (answer({}, 500), False),
        (answer({}, 429), False),
        (server.silent, True),
        (server.ends_in_body, True),
        (answer({"type": "message", "content": [], "usage": None}), True),
    ],
    ids=["answered", "500", "429", "silence", "half an answer", "no usage told"],
)
def test_calls_that_may_have_been_charged_count_as_spent(
    make_bench: MakeBench, act: Act, *, spent: bool
) -> None:
    with serving(act) as api:
        bench = make_bench("anthropic", api.url)
        bench.ask(0.4 if act is server.silent else 20.0)
    assert ('"spent":0.0,' not in bench.written()) is spent


def test_a_call_that_did_not_leave_costs_nothing(make_bench: MakeBench) -> None:
    bench = make_bench("anthropic", "http://127.0.0.1:9")
    assert bench.ask().cost == 0.0
    assert '"spent":0.0,' in bench.written()


def test_the_cap_of_a_session_ends_the_asking(make_bench: MakeBench) -> None:
    with serving(answer(payload("anthropic", tokens=(200_000, 10)))) as api:
        bench = make_bench("anthropic", api.url)
        failures = [bench.ask(data=at).failure for at in range(4)]
        assert failures == [
            "",
            "",
            "",
            "over_budget",
        ]  # the third begins below the cap, and its real size was not known
        assert bench.ask(data="x", session="another").failure == ""
        assert len(api.seen) == 4
    assert bench.calls()[3]["outcome"] == "over_budget"


def test_reservations_are_small_enough_for_a_small_cap(make_bench: MakeBench) -> None:
    """Two ordinary calls cost about $0.0015; reserving much more would stop the judge long before the cap."""
    notes = [{"index": at, "category": "decision", "title": "t" * 60, "tags": ["a", "b"]} for at in range(15)]
    questions = [
        question(15, name, {"request": "r" * 300, "notes": notes}) for name in ("relevance", "usefulness")
    ]
    with serving(GOOD) as api:
        bench = make_bench("anthropic", api.url, caps={"session_usd": 0.01})
        verdicts = bench.asker().ask_all(questions, Deadline(20))
    assert [verdict.failure for verdict in verdicts] == ["", "parse_error"]


def test_a_server_that_answers_429_is_not_asked_again_during_the_pause(make_bench: MakeBench) -> None:
    with serving(in_turn(answer({}, 429, retry_after="60"), GOOD)) as api:
        bench = make_bench("anthropic", api.url)
        assert [bench.ask().failure for _ in range(2)] == ["rate_limited", "circuit_open"]
        assert bench.ask(session="another").failure == "circuit_open"
        assert len(api.seen) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_ends_the_asking_for_this_session(make_bench: MakeBench, status: int) -> None:
    with serving(in_turn(answer({}, status), GOOD)) as api:
        bench = make_bench("anthropic", api.url)
        judge = bench.asker()
        assert judge.ask(question(), Deadline(5)).failure == "http_%d" % status
        assert "http_%d" % status in judge.notice
        later = bench.asker()
        verdict = later.ask(question(), Deadline(5))
        assert (verdict.failure, later.notice) == ("disabled", "")
        assert "http_%d" % status in verdict.detail
        assert bench.ask(session="another").failure == ""


@pytest.mark.parametrize(("status", "wait"), [(429, "0"), (500, "0"), (529, "0")])
def test_only_detached_work_tries_again_and_once(make_bench: MakeBench, status: int, wait: str) -> None:
    with serving(in_turn(answer({}, status, retry_after=wait), GOOD)) as api:
        assert make_bench("anthropic", api.url).ask(waits=False).values == CHOSEN
    with serving(answer({}, status, retry_after=wait)) as api:
        assert make_bench("anthropic", api.url).ask(data="y", waits=False, session="b").failure != ""
        assert len(api.seen) == 2
    with serving(answer({}, status, retry_after=wait)) as api:
        make_bench("anthropic", api.url).ask(data="z", session="c")
        assert len(api.seen) == 1


def test_a_wait_in_milliseconds_goes_before_one_in_seconds(make_bench: MakeBench) -> None:
    with serving(in_turn(answer({}, 429, retry_after="60", retry_after_ms="50"), GOOD)) as api:
        assert make_bench("anthropic", api.url).ask(waits=False).values == CHOSEN


def test_no_wait_exceeds_the_deadline(make_bench: MakeBench) -> None:
    with serving(answer({}, 429, retry_after="60")) as api:
        deadline = Deadline(10)
        assert make_bench("anthropic", api.url).ask(9.0, waits=False).failure == "rate_limited"
        assert deadline.elapsed_ms() < 6000


@pytest.mark.parametrize(
    ("date", "name"),
    [
        ("Wed, 21 Oct 2015 07:28:00 GMT", "rate_limited"),
        ("not a date", "rate_limited"),
        ("99999999999999999999", "rate_limited"),
        ("\u00b2", "rate_limited"),
        ("Wed, 99 Foo 99999999 99:99:99 +99999999", "rate_limited"),
    ],
)
def test_any_retry_after_is_read(make_bench: MakeBench, date: str, name: str) -> None:
    with serving(answer({}, 429, retry_after=date)) as api:
        assert make_bench("anthropic", api.url).ask().failure == name


def test_a_judge_that_is_not_switched_on_is_not_asked(make_bench: MakeBench) -> None:
    with serving(GOOD) as api:
        bench = make_bench("anthropic", api.url)
        bench.retrieval["enabled"] = False
        assert bench.ask().failure == "disabled"
        off = bench.asker(off="the project reaches for keys").ask(question(), Deadline(5))
        assert (off.failure, off.detail) == ("disabled", "the project reaches for keys")
        assert api.connections == 0
    assert bench.calls() == []


def test_without_a_state_folder_no_judge_is_asked(make_bench: MakeBench) -> None:
    with serving(GOOD) as api:
        bench = make_bench("anthropic", api.url)
        judge = bench.asker()
        Path(bench.paths.state()).parent.mkdir(parents=True)
        Path(bench.paths.state()).write_text("no folder", encoding="ascii")
        assert judge.ask(question(), Deadline(5)).failure == "no_state"
        assert api.connections == 0


def test_a_fault_of_ours_is_a_failure_too(make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError(KEY)

    monkeypatch.setattr("memory_plugin.kernel.judge.calls._ask_vendor", broken)
    verdict = make_bench("anthropic", "http://127.0.0.1:9").ask()
    assert verdict.failure == "error"
    assert verdict.detail.startswith("ZeroDivisionError at test_asking.py:")


def test_a_thread_that_cannot_start_is_a_failure_too(
    make_bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", broken)
    assert make_bench("anthropic", "http://127.0.0.1:9").ask().failure == "timeout"


def test_a_late_answer_changes_nothing_any_more(make_bench: MakeBench) -> None:
    with serving(server.after(0.5, GOOD)) as api:
        bench = make_bench("anthropic", api.url)
        verdict = bench.ask(0.2)
        before = bench.written()
        sleep(0.6)
        assert (verdict.failure, verdict.values) == ("timeout", None)
        assert bench.written() == before


QUIET = """
import sys
sys.path[:0] = sys.argv[1:3]
from memory_plugin.kernel.context import Deadline
from tests.kernel.judge.bench import Bench, question
bench = Bench(sys.argv[3], "anthropic", "http://127.0.0.1:9", **{"key_variable": sys.argv[4]})
before = set(sys.modules)
verdict = bench.asker().ask(question(), Deadline(1))
print(verdict.failure, sorted((set(sys.modules) - before) & {"socket", "ssl", "http", "http.client", "urllib.request"}))
"""


@pytest.mark.parametrize(
    ("variable", "failure", "loaded"), [("NOBODY", "no_key", False), ("", "network", True)]
)
def test_the_network_is_imported_when_a_question_goes_out(
    tmp_path: Path, variable: str, failure: str, *, loaded: bool
) -> None:
    command = [sys.executable, "-c", QUIET, PLUGIN_ROOT + "/scripts", PLUGIN_ROOT, str(tmp_path), variable]
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    run = subprocess.run(command, capture_output=True, timeout=20, env=env, check=True)
    assert run.stdout.decode().strip() == "%s %s" % (
        failure,
        ["http", "http.client", "socket", "ssl", "urllib.request"] if loaded else [],
    )


def test_every_request_has_the_same_schema(make_bench: MakeBench) -> None:
    """A provider compiles a schema once; one with the number of candidates in it would be compiled for each."""
    with serving(GOOD) as api:
        bench = make_bench("anthropic", api.url)
        for offered in (1, 9):
            bench.asker().ask(question(offered, data=offered), Deadline(5))
        forms = [seen.body["output_config"] for seen in api.seen]
    assert len(forms) == 2
    assert forms[0] == forms[1]


def test_what_was_seen_by_the_server_is_what_was_asked(make_bench: MakeBench) -> None:
    seen: list[Seen] = []

    def act(conn: socket, request: Seen) -> None:
        seen.append(request)
        GOOD(conn, request)

    with serving(act) as api:
        make_bench("anthropic", api.url).ask(data={"request": "caf\u00e9"})
    assert '{"request":"caf\u00e9"}' in seen[0].body["messages"][0]["content"]
