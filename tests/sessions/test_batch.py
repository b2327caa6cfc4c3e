"""Sessions in batches: submitted, recorded, collected, at half the price and within the caps."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from memory_plugin.kernel.judge.budget import SpendingBudget
from memory_plugin.kernel.judge.errors import JudgeError
from memory_plugin.sessions import batch as batch_module
from memory_plugin.sessions.batch import collect, submit, waiting
from memory_plugin.sessions.score_rows import ungraded
from memory_plugin.sessions.submitted import SubmittedBatches
from tests.sessions.bench import IDS, Bench
from tests.sessions.provider import Provider


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    with closing(Provider()) as server:
        yield server


@pytest.fixture
def busy(make_bench: Callable[..., Bench], provider: Provider) -> Bench:
    """Return a bench with five sessions and the provider as its judge."""
    new_bench = make_bench()
    new_bench.settings["judge"] = {"base_url": provider.url, "caps": {"day_usd": 1}}
    for identity in IDS[:5]:
        new_bench.transcript(identity)
    return new_bench


def paths(bench: Bench) -> list[str]:
    return [
        bench.transcript(identity) if not os.path.exists(path) else path for identity, path in located(bench)
    ]


def located(bench: Bench) -> list[tuple[str, str]]:
    folder = next((bench.config / "projects").iterdir())
    return [(identity, str(folder / (identity + ".jsonl"))) for identity in IDS[:5]]


def quiet(_at: int) -> None:
    """Show no progress."""


def test_a_batch_is_submitted_polled_and_collected(busy: Bench, provider: Provider) -> None:
    scorer, all_paths = busy.scorer, paths(busy)
    sent = submit(all_paths, scorer, quiet)
    assert (sent.sessions, sent.batches, sent.refused) == (5, ["msgbatch_1"], {})
    (requests,) = provider.batches.values()
    assert len({request["custom_id"] for request in requests}) == 5
    assert {request["params"]["model"] for request in requests} == {"claude-sonnet-5-5"}
    assert collect(scorer).pending == ["msgbatch_1"]
    assert submit(all_paths, scorer, quiet).sessions == 0
    provider.done = True
    collected = collect(scorer)
    assert sorted(row["session"] for row in collected.rows) == IDS[:5]
    assert (collected.failed, collected.pending, waiting(scorer)) == ({}, [], [])
    row = busy.rows()[0]
    assert row["scorer"]["by"] == "batch"
    assert row["scorer"]["cost_usd"] == round((1000 * 2 + 100 * 10) / 1e6 / 2, 6)
    assert ungraded(all_paths, scorer.paths, scorer.settings) == []
    assert len(busy.rows("judge-calls")) == 5


def test_the_reserved_price_is_replaced_by_the_cost(busy: Bench, provider: Provider) -> None:
    scorer = busy.scorer
    accounts = SpendingBudget(scorer.paths.state("judge"))
    submit(paths(busy), scorer, quiet)
    assert accounts.figures("").day > 0.02
    provider.done = True
    collect(scorer)
    assert accounts.figures("").day == pytest.approx(5 * 0.0015)


def test_the_days_cap_holds(busy: Bench, provider: Provider) -> None:
    busy.settings["judge"]["caps"] = {"day_usd": 0.06}
    sent = submit(paths(busy), busy.scorer, quiet)
    assert 0 < sent.sessions < 5
    assert set(sent.refused.values()) == {"over_budget"}
    assert len(next(iter(provider.batches.values()))) == sent.sessions


def test_single_failures_leave_the_others_graded(busy: Bench, provider: Provider) -> None:
    scorer = busy.scorer
    all_paths = paths(busy)
    submit(all_paths, scorer, quiet)
    names = [request["custom_id"] for request in provider.batches["msgbatch_1"]]
    provider.fails, provider.done = {names[0]: "errored", names[1]: "expired"}, True
    os.unlink(all_paths[2])
    with open(all_paths[3], "a", encoding="utf-8") as file:
        file.write('{"type":"user","uuid":"new","message":{"content":"More"}}\n')
    collected = collect(scorer)
    assert [row["session"] for row in collected.rows] == [IDS[4]]
    assert [why.partition(":")[0] for why in collected.failed.values()][:2] == ["errored", "expired"]
    assert "changed" in collected.failed[os.path.basename(all_paths[3])]
    assert waiting(scorer) == []


def test_many_questions_are_sent_in_several_batches(
    busy: Bench, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_module, "MAX_BATCH_BYTES", 15_000)
    sent = submit(paths(busy), busy.scorer, quiet)
    assert sum(map(len, provider.batches.values())) == 5
    assert len(sent.batches) > 1
    provider.done = True
    assert len(collect(busy.scorer).rows) == 5


@pytest.mark.parametrize(
    ("status", "failure"), [(400, "http_400"), (401, "http_401"), (429, "rate_limited"), (529, "overloaded")]
)
def test_a_refusal_of_the_provider_is_reported(
    busy: Bench, provider: Provider, status: int, failure: str
) -> None:
    provider.refuse = status
    with pytest.raises(JudgeError) as failed:
        submit(paths(busy), busy.scorer, quiet)
    assert failed.value.name == failure
    assert waiting(busy.scorer) == []
    assert SpendingBudget(busy.scorer.paths.state("judge")).figures("").day == pytest.approx(0)


def test_without_a_key_nothing_is_read_or_sent(
    busy: Bench, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(JudgeError) as failed:
        submit(paths(busy), busy.scorer, quiet)
    assert (failed.value.name, provider.requests) == ("no_key", [])


@pytest.mark.parametrize("content", ["", "[]", '{"batches": 5}', '{"batches": [5, {"id": "x"}]}', "\x00"])
def test_a_damaged_state_is_no_batch(busy: Bench, content: str) -> None:
    state = busy.config / "lcars" / "memory" / "grading"
    state.mkdir(parents=True)
    (state / "batches.json").write_text(content, encoding="utf-8")
    assert waiting(busy.scorer) == []


@pytest.mark.parametrize("content", ["", "[]", '{"batches": 5}', "\x00"])
def test_with_a_damaged_record_nothing_is_submitted(busy: Bench, provider: Provider, content: str) -> None:
    state = busy.config / "lcars" / "memory" / "grading"
    state.mkdir(parents=True)
    (state / "batches.json").write_text(content, encoding="utf-8")
    with pytest.raises(JudgeError) as failed:
        submit(paths(busy), busy.scorer, quiet)
    assert (failed.value.name, provider.batches) == ("no_state", {})


def sent_sessions(provider: Provider) -> list[str]:
    """Return the ids of all questions that the provider received."""
    return [request["custom_id"] for batch in provider.batches.values() for request in batch]


def test_a_failed_session_has_a_reason_and_is_not_submitted_again(busy: Bench, provider: Provider) -> None:
    scorer, all_paths = busy.scorer, paths(busy)
    submit(all_paths, scorer, quiet)
    names = sent_sessions(provider)
    provider.fails, provider.done = dict.fromkeys(names, "errored"), True
    provider.error = {
        "type": "invalid_request_error",
        "message": '"thinking.type.disabled" sk-leaked is not supported',
    }
    failed = collect(scorer).failed
    assert set(failed.values()) == {"errored: invalid_request_error; it refuses: thinking"}
    for _ in range(2):
        sent = submit(all_paths, scorer, quiet)
        assert (sent.sessions, sent.failed_before, sent.batches) == (0, 5, [])
    assert len(sent_sessions(provider)) == 5
    with open(all_paths[0], "a", encoding="utf-8") as file:
        file.write('{"type":"user","uuid":"new","message":{"content":"More"}}\n')
    assert submit(all_paths, scorer, quiet).sessions == 1
    again = submit(all_paths, scorer, quiet, again=True)
    assert (again.sessions, again.failed_before) == (4, 0)
    params = [request["params"] for request in provider.batches["msgbatch_3"]]
    assert all("thinking" not in request for request in params)  # the provider refused this parameter by name


def test_after_a_crash_before_the_id_is_recorded_nothing_is_sent_twice(
    busy: Bench, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(BaseException):
        """The process ends here."""

    def crash(*_: object) -> None:
        raise Crash

    scorer, all_paths = busy.scorer, paths(busy)
    with monkeypatch.context() as patch:
        patch.setattr(SubmittedBatches, "name", crash)
        with pytest.raises(Crash):
            submit(all_paths, scorer, quiet)
    assert [batch["id"] for batch in waiting(scorer)] == [""]
    assert submit(all_paths, scorer, quiet).sessions == 0
    assert len(collect(scorer).pending) == 1
    assert submit(all_paths, scorer, quiet).sessions == 0
    provider.done = True
    assert len(collect(scorer).rows) == 5
    assert (waiting(scorer), len(provider.batches)) == ([], 1)


@pytest.mark.parametrize("arrives", [True, False])
def test_a_batch_whose_response_was_lost_is_found(
    busy: Bench, provider: Provider, monkeypatch: pytest.MonkeyPatch, *, arrives: bool
) -> None:
    scorer, all_paths = busy.scorer, paths(busy)
    provider.loses_answer, provider.accepts = True, arrives
    with pytest.raises(JudgeError) as failed:
        submit(all_paths, scorer, quiet)
    assert (failed.value.name, "may have the batch" in failed.value.detail) == ("http_500", True)
    assert SpendingBudget(scorer.paths.state("judge")).figures("").day > 0.02
    provider.loses_answer, provider.done = False, True
    first = collect(scorer)
    assert len(first.rows) == (5 if arrives else 0)
    if arrives:
        return
    assert submit(all_paths, scorer, quiet).sessions == 0
    monkeypatch.setattr(batch_module, "_LISTING_SECONDS", -1)
    assert collect(scorer).pending == []
    assert SpendingBudget(scorer.paths.state("judge")).figures("").day == pytest.approx(0)
    assert submit(all_paths, scorer, quiet).sessions == 5


def test_an_unreachable_provider_has_no_batch(busy: Bench) -> None:
    busy.settings["judge"]["base_url"] = "http://127.0.0.1:9"
    with pytest.raises(JudgeError) as failed:
        submit(paths(busy), busy.scorer, quiet)
    assert (failed.value.name, waiting(busy.scorer)) == ("network", [])


def test_two_processes_submit_each_session_once(busy: Bench, provider: Provider) -> None:
    scorer, all_paths = busy.scorer, paths(busy)
    barrier = threading.Barrier(3)

    def run() -> None:
        barrier.wait()
        submit(all_paths, scorer, quiet)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(sent_sessions(provider)) == sorted(set(sent_sessions(provider)))
    assert len(sent_sessions(provider)) == 5
    provider.done = True
    assert len(collect(scorer).rows) == 5
    assert SpendingBudget(scorer.paths.state("judge")).figures("").day == pytest.approx(5 * 0.0015)


def test_only_one_process_collects_at_a_time(busy: Bench, provider: Provider) -> None:
    scorer = busy.scorer
    submit(paths(busy), scorer, quiet)
    provider.done = True
    with SubmittedBatches(scorer.paths).collecting():
        assert collect(scorer) == ([], {}, ["msgbatch_1"])
    assert len(collect(scorer).rows) == 5


def test_a_batch_that_the_provider_has_deleted_is_given_up(
    busy: Bench, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = busy.scorer
    submit(paths(busy), scorer, quiet)
    provider.batches.clear()
    assert collect(scorer).pending == ["msgbatch_1"]
    monkeypatch.setattr(batch_module, "_RETENTION_SECONDS", -1)
    assert set(collect(scorer).failed.values()) == {"expired: the batch has no answer to this question"}
    assert waiting(scorer) == []
