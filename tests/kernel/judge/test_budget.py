"""The budget that all processes share: caps, circuit breakers, switches."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memory_plugin.kernel.context import iso
from memory_plugin.kernel.judge import budget as module
from memory_plugin.kernel.judge.budget import REFUSED, VERDICTS, Caps, Remembered, SpendingBudget
from memory_plugin.kernel.judge.question import JudgeError, Verdict
from tests.project import PLUGIN_ROOT

CAPS = Caps(0.10, 0.30)
S, SERVER = "session", "server"
MOST = 0.05


def refusal(accounts: SpendingBudget, needs: list[float], session: str = S, caps: Caps = CAPS) -> str:
    """Return the name of the failure with which calls are not admitted; empty if they are."""
    try:
        accounts.admit(session, SERVER, needs, caps)
    except JudgeError as failed:
        return failed.name
    return ""


def end(
    failure: str = "", wait: float | None = None, spent: float = 0.0, reserved: float = 0.0
) -> tuple[float, Verdict]:
    """Return the end of a call."""
    verdict = Verdict(None, failure)
    verdict.wait = wait
    return spent - reserved, verdict


@pytest.fixture
def accounts(tmp_path: Path) -> SpendingBudget:
    """Empty accounts."""
    return SpendingBudget(str(tmp_path / "judge"))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time, which a test can set."""
    time = [1_800_000_000.0]
    monkeypatch.setattr(module, "now", lambda: time[0])
    return time


def test_a_session_has_a_cap_and_so_has_a_day(accounts: SpendingBudget) -> None:
    assert [refusal(accounts, [MOST]) for _ in range(3)] == ["", "", "over_budget"]
    assert refusal(accounts, [0.10], "b") == ""
    assert refusal(accounts, [0.10], "c") == ""
    assert refusal(accounts, [0.01], "d") == "over_budget"
    figures = accounts.figures(S)
    assert figures.day == pytest.approx(0.30)
    assert figures.session == pytest.approx(0.10)


def test_calls_of_one_round_are_admitted_together(accounts: SpendingBudget) -> None:
    assert refusal(accounts, [MOST]) == ""
    assert refusal(accounts, [MOST, 0.01]) == "over_budget"
    assert refusal(accounts, [MOST]) == ""


def test_a_cap_of_nothing_admits_nothing(accounts: SpendingBudget) -> None:
    assert refusal(accounts, [0.001], caps=Caps(0.0, 1.0)) == "over_budget"


def test_a_settlement_gives_back_what_was_not_spent(accounts: SpendingBudget) -> None:
    refusal(accounts, [MOST, MOST])
    accounts.settle(S, SERVER, [end(spent=0.01, reserved=MOST), end(spent=0.0, reserved=MOST)], CAPS)
    assert accounts.figures(S).session == pytest.approx(0.01)
    assert accounts.figures(S).day == pytest.approx(0.01)


def test_a_new_day_begins_at_nothing(accounts: SpendingBudget, clock: list[float]) -> None:
    for name in "abc":
        refusal(accounts, [0.10], name)
    assert refusal(accounts, [0.01], "d") == "over_budget"
    clock[0] += 86400
    assert refusal(accounts, [0.01], "d") == ""
    assert refusal(accounts, [0.01], "a") == "over_budget"


def test_calls_outside_of_sessions_share_an_account_a_day(
    accounts: SpendingBudget, clock: list[float]
) -> None:
    assert [refusal(accounts, [0.10], "") for _ in range(2)] == ["", "over_budget"]
    clock[0] += 86400
    assert refusal(accounts, [0.10], "") == ""


@pytest.mark.parametrize(
    ("wait", "open_after", "closed_after"),
    [(7.0, 6, 8), (None, 29, 31), (0.0, 0.5, 2), (1e9, 599, 601)],
)
@pytest.mark.parametrize("failure", ["rate_limited", "overloaded"])
def test_a_server_is_paused_for_the_time_it_names_within_bounds(
    accounts: SpendingBudget,
    clock: list[float],
    failure: str,
    wait: float | None,
    open_after: float,
    closed_after: float,
) -> None:
    accounts.settle(S, SERVER, [end(failure, wait)], CAPS)
    start = clock[0]
    clock[0] = start + open_after
    assert refusal(accounts, [0.0], "another") == "circuit_open"
    accounts.admit(S, "another server", [0.0], CAPS)
    clock[0] = start + closed_after
    assert refusal(accounts, [0.0]) == ""


def test_a_clock_set_back_leaves_no_server_alone_for_years(
    accounts: SpendingBudget, clock: list[float]
) -> None:
    accounts.settle(S, SERVER, [end("overloaded", 300.0)], CAPS)
    clock[0] -= 86400 * 365
    assert refusal(accounts, [0.0]) == ""


def test_a_server_that_does_not_answer_is_paused(accounts: SpendingBudget, clock: list[float]) -> None:
    for _ in range(3):
        accounts.settle(S, SERVER, [end("timeout")], CAPS)
        assert refusal(accounts, [0.0]) == ""
    accounts.settle(S, SERVER, [end("network")], CAPS)
    assert refusal(accounts, [0.0]) == "circuit_open"
    clock[0] += 61
    assert refusal(accounts, [0.0]) == ""
    accounts.settle(S, SERVER, [end("timeout")], CAPS)
    assert refusal(accounts, [0.0]) == "circuit_open"
    clock[0] += 61
    accounts.settle(S, SERVER, [end()], CAPS)
    accounts.settle(S, SERVER, [end("timeout")], CAPS)
    assert refusal(accounts, [0.0]) == ""


@pytest.mark.parametrize("failure", ["http_401", "http_403"])
def test_a_refused_key_switches_this_session_off_and_is_reported_once(
    accounts: SpendingBudget, failure: str
) -> None:
    assert accounts.settle(S, SERVER, [end(failure), end(failure)], CAPS) == failure
    assert accounts.settle(S, SERVER, [end(failure)], CAPS) == ""
    assert refusal(accounts, [0.0]) == "disabled"
    assert refusal(accounts, [0.0], "another") == ""
    assert accounts.figures(S).off == failure


def test_a_reset_forgets_failures_and_keeps_what_was_spent(accounts: SpendingBudget) -> None:
    refusal(accounts, [0.08])
    accounts.settle(S, SERVER, [end("http_401"), end("overloaded", 500.0)], CAPS)
    accounts.reset()
    assert accounts.figures(S).session == pytest.approx(0.08)
    assert accounts.figures(S).off == ""
    assert refusal(accounts, [0.0]) == "", "no server is paused"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"day":"2027-01-15","spent":0,"sessions":{}}',
        b'{"day":"2027-01-15","spent":-1,"sessions":{},"servers":{}}',
        b'{"day":"2027-01-15","spent":true,"sessions":{},"servers":{}}',
        b'{"day":"2027-01-15","spent":1e999,"sessions":{},"servers":{}}',
        b'{"day":"2027-01-15","spent":0,"sessions":{"a":{"spent":"x"}},"servers":{}}',
        b'{"day":"2027-01-15","spent":0,"sessions":{"a":{"spent":-5,"off":"","at":0}},"servers":{}}',
        b'{"day":"2027-01-15","spent":0,"sessions":{},"servers":[]}',
        b'{"day":"2027-01-15","spent":0,"sessions":{},"servers":{"a":{"until":0}}}',
    ],
)
def test_with_a_damaged_file_spending_is_unknown(
    accounts: SpendingBudget, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "judge" / "accounts.json"
    path.parent.mkdir()
    path.write_bytes(content)
    assert refusal(accounts, [0.0]) == "no_state"
    accounts.reset()
    assert refusal(accounts, [0.0]) == ""


def test_a_file_of_version_1_0_0_counts(accounts: SpendingBudget, tmp_path: Path, clock: list[float]) -> None:
    path = tmp_path / "judge" / "accounts.json"
    path.parent.mkdir()
    book = {
        "day": iso(clock[0])[:10],
        "spent": 0.25,
        "requested": 1.0,
        "sessions": {},
        "servers": {},
        "refused": {},
    }
    path.write_text(json.dumps(book), encoding="ascii")
    assert refusal(accounts, [0.04]) == ""
    assert refusal(accounts, [0.04]) == "over_budget"


def test_without_a_place_to_write_nothing_is_admitted(tmp_path: Path) -> None:
    (tmp_path / "judge").write_text("no folder", encoding="ascii")
    assert refusal(SpendingBudget(str(tmp_path / "judge")), [0.0]) == "no_state"


@pytest.mark.slow
def test_old_sessions_are_forgotten(accounts: SpendingBudget, tmp_path: Path, clock: list[float]) -> None:
    for at in range(310):
        clock[0] += 1
        refusal(accounts, [0.0], "s%d" % at)
    book = json.loads((tmp_path / "judge" / "accounts.json").read_text(encoding="ascii"))
    assert len(book["sessions"]) == 300


VALUES = {"chosen": [1], "dropped": 0}


def test_a_verdict_is_found_by_another_process(tmp_path: Path) -> None:
    Remembered(str(tmp_path), VERDICTS).add({"k": VALUES})
    assert Remembered(str(tmp_path), VERDICTS).find(["k", "other"]) == {"k": VALUES}


def test_rejected_parts_of_a_request_are_remembered_for_a_week(tmp_path: Path, clock: list[float]) -> None:
    Remembered(str(tmp_path), REFUSED).add({SERVER: {"thinking": True}})
    assert Remembered(str(tmp_path), REFUSED).find([SERVER]) == {SERVER: {"thinking": True}}
    assert Remembered(str(tmp_path), VERDICTS).find([SERVER]) == {}
    clock[0] += 8 * 86400
    assert Remembered(str(tmp_path), REFUSED).find([SERVER]) == {}


def test_an_old_verdict_is_gone(tmp_path: Path, clock: list[float]) -> None:
    cache = Remembered(str(tmp_path), VERDICTS)
    cache.add({"k": VALUES})
    clock[0] += 8 * 86400
    assert cache.find(["k"]) == {}
    cache.add({"new": VALUES})
    assert "k" not in (tmp_path / "verdicts.json").read_text(encoding="ascii").split('"')


def test_the_cache_has_a_bound(tmp_path: Path) -> None:
    cache = Remembered(str(tmp_path), VERDICTS)
    for at in range(10):
        cache.add({"k%d.%d" % (at, more): VALUES for more in range(50)})
    assert cache.clear() == 400
    assert cache.clear() == 0
    assert not (tmp_path / "verdicts.json").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b'{"k": 1}', b'{"k": [1, {}]}', b'{"k": [1.0, []]}', b"\xff", b'{"k":[1e999,{}]}'],
)
def test_a_damaged_file_is_an_empty_cache(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "verdicts.json").write_bytes(content)
    cache = Remembered(str(tmp_path), VERDICTS)
    assert cache.find(["k"]) == {}
    cache.add({"k": VALUES})
    assert cache.find(["k"]) == {"k": VALUES}


SPENDER = """
import sys
sys.path.insert(0, sys.argv[1])
from memory_plugin.kernel.judge.budget import SpendingBudget, Caps
from memory_plugin.kernel.judge.question import JudgeError, Verdict
accounts, made = SpendingBudget(sys.argv[2]), 0
for _ in range(10):
    try:
        accounts.admit(sys.argv[3], "server", [0.01], Caps(0.25, 1.0))
    except JudgeError as failed:
        assert failed.name in ("over_budget", "no_state"), failed.name  # refused, or the others kept the lock
        continue
    made += 1
    accounts.settle(sys.argv[3], "server", [(-0.002, Verdict({}))], Caps(0.25, 1.0))
print(made)
"""


@pytest.mark.slow
def test_the_caps_hold_over_twenty_parallel_processes(tmp_path: Path) -> None:
    """200 calls try to spend $1.60 in one session with a cap of $0.25."""
    command = [sys.executable, "-I", "-S", "-c", SPENDER, PLUGIN_ROOT + "/scripts", str(tmp_path), S]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(20)]
    outputs = [process.communicate(timeout=60)[0] for process in running]
    admitted = sum(int(output) for output in outputs)
    assert 0.2 < admitted * 0.008 <= 0.25
    assert admitted * 0.008 <= SpendingBudget(str(tmp_path)).figures(S).session <= 0.25


def test_a_request_has_its_own_cap_and_does_not_count_for_the_day(tmp_path: Path) -> None:
    accounts = SpendingBudget(str(tmp_path))
    accounts.admit(S, SERVER, [0.10], CAPS)
    accounts.admit("request 1", SERVER, [0.40, 0.40], Caps(1.0, None))
    assert refusal(accounts, [0.30], caps=Caps(1.0, None), session="request 1") == "over_budget"
    accounts.settle(
        "request 1", SERVER, [end(spent=0.1, reserved=0.4), end(spent=0.1, reserved=0.4)], Caps(1.0, None)
    )
    figures = accounts.figures("request 1")
    assert (figures.day, figures.session) == pytest.approx((0.10, 0.20))
    accounts.admit("another", SERVER, [0.10], CAPS)
