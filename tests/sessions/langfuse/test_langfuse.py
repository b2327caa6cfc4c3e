"""Scores reach Langfuse exactly once and none is lost, whatever happens to the server and the sender."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from memory_plugin.kernel.judge.question import JudgeError
from memory_plugin.sessions import langfuse as push_module
from memory_plugin.sessions import langfuse_client as client_module
from memory_plugin.sessions.langfuse import (
    STORED,
    Outbox,
    PushResult,
    ledger_scores,
    score_configs,
)
from memory_plugin.sessions.langfuse_client import LangfuseClient, find_access
from tests.sessions.bench import IDS, Bench, push_scores
from tests.sessions.grades import LEVELS, reply
from tests.sessions.langfuse.server import Langfuse

every_mode = pytest.mark.parametrize("langfuse", ["v4", "v3", "array"], indirect=True)


class Killed(BaseException):
    """An exception that none of our code catches."""


def outbox_of(bench: Bench) -> Outbox:
    """Return the outbox of a bench's server."""
    scorer = bench.scorer
    return Outbox(scorer.paths, find_access(scorer.paths, scorer.settings))


def waiting(bench: Bench) -> int:
    """Return how many scores of the ledger the server does not have, as far as is known."""
    return len(outbox_of(bench).missing(ledger_scores(bench.paths)))


def stored_scores(langfuse: Langfuse) -> Counter[tuple[str, str]]:
    """Return how often the server stored each score of each session."""
    return Counter((row["sessionId"], row["name"]) for row in langfuse.scores.values())


ALL_SCORES = Counter((identity, name) for identity in IDS[:2] for name in score_configs())


@every_mode
def test_fourteen_scores_arrive(graded: Bench, langfuse: Langfuse) -> None:
    assert push_scores(graded) == PushResult(14, 0, {})
    assert stored_scores(langfuse) == ALL_SCORES
    values = {row["name"]: row["value"] for row in langfuse.scores.values()}
    assert (values["goal_achievement"], values["tool_efficiency"], values["overall_quality"]) == (
        "complete",
        0.8,
        0.6233,
    )
    assert all(row["configId"].startswith("cfg-") for row in langfuse.scores.values())
    assert {row["number"] for row in langfuse.scores.values() if row["name"] in LEVELS} == {1, 2}
    assert isinstance(langfuse.posted()[-1], list) is (langfuse.mode == "array")
    assert len(langfuse.configs) == 7


def test_a_new_grade_of_the_same_sessions_counts(graded: Bench, langfuse: Langfuse) -> None:
    push_scores(graded)
    outbox = outbox_of(graded)
    outbox.scores = dict.fromkeys(outbox.scores, "an-earlier-grade stored")
    outbox.save()
    assert len(outbox.missing(ledger_scores(graded.paths))) == 14
    assert push_scores(graded) == PushResult(14, 0, {})


@every_mode
def test_a_second_run_sends_nothing(graded: Bench, langfuse: Langfuse) -> None:
    push_scores(graded)
    before = len(langfuse.posted())
    assert push_scores(graded) == PushResult(0, 0, {})
    assert len(langfuse.posted()) == before


@every_mode
def test_a_new_grade_updates_the_stored_scores(graded: Bench, langfuse: Langfuse) -> None:
    push_scores(graded)
    graded.script(reply(goal_achievement=0))
    path = graded.transcript(IDS[0])
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"type":"user","uuid":"new","message":{"content":"More"}}\n')
    graded.grade(path)
    assert push_scores(graded).pending == 0
    assert stored_scores(langfuse) == ALL_SCORES
    assert [row["value"] for row in langfuse.scores.values() if row["name"] == "goal_achievement"] == [
        "failed",
        "complete",
    ]


def kill_at(point: int, monkeypatch: pytest.MonkeyPatch, langfuse: Langfuse) -> None:
    """Kill the sender at its n-th step. Steps are before and after each request, and before and after each save."""
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == point:
            raise Killed

    send, save = LangfuseClient._send_once, Outbox.save

    def sending(self: LangfuseClient, method: str, path: str, body: bytes | None) -> Any:  # noqa: ANN401
        step()
        answer = send(self, method, path, body)
        step()
        return answer

    def saving(self: Outbox) -> None:
        step()
        save(self)
        step()

    monkeypatch.setattr(LangfuseClient, "_send_once", sending)
    monkeypatch.setattr(Outbox, "save", saving)


@pytest.mark.slow
def test_a_sender_killed_at_any_point_loses_and_repeats_no_score(
    graded: Bench, langfuse: Langfuse, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Wherever the sender is killed, the next run leaves every score on the server exactly once."""
    folder = graded.config / "lcars" / "memory" / "langfuse"
    point, finished = 0, False
    while not finished:
        point += 1
        langfuse.scores.clear()
        langfuse.configs.clear()
        for path in folder.glob("*.json"):
            path.unlink()
        with pytest.MonkeyPatch.context() as patch:
            kill_at(point, patch, langfuse)
            try:
                push_scores(graded)
                finished = True
            except Killed:
                pass
        push_scores(graded)
        assert stored_scores(langfuse) == ALL_SCORES, point
        assert waiting(graded) == 0
        assert len(langfuse.configs) == 7
    assert point > 25


@every_mode
def test_a_sender_killed_several_times_loses_no_score(graded: Bench, langfuse: Langfuse) -> None:
    for point in (7, 11, 13):
        with pytest.MonkeyPatch.context() as patch:
            kill_at(point, patch, langfuse)
            with pytest.raises(Killed):
                push_scores(graded)
    push_scores(graded)
    assert stored_scores(langfuse) == ALL_SCORES


def test_the_sender_waits_for_scores_that_are_stored_later(graded: Bench, langfuse: Langfuse) -> None:
    langfuse.lag = 1
    assert push_scores(graded, looks=(0.0, 0.0, 0.0)).pending == 0


def test_scores_stored_much_later_stay_pending_and_are_stored_once(graded: Bench, langfuse: Langfuse) -> None:
    langfuse.lag = 3
    assert push_scores(graded, looks=(0.0,)).pending == 14
    assert push_scores(graded, looks=(0.0,)) == PushResult(14, 0, {})
    assert stored_scores(langfuse) == ALL_SCORES


def test_what_was_sent_before_a_rate_limit_is_confirmed(
    graded: Bench, langfuse: Langfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_module, "_PER_REQUEST", 2)
    langfuse.before = lambda *_: (429, {}, {"retry-after": "3600"}) if len(langfuse.posted()) > 4 else None
    with pytest.raises(JudgeError, match="rate_limited"):
        push_scores(graded)
    assert waiting(graded) == 10


@every_mode
def test_scores_dropped_after_a_200_are_noticed(graded: Bench, langfuse: Langfuse) -> None:
    """A config was archived: the server answers 200 and drops its scores until the configs are looked up again."""
    push_scores(graded)
    langfuse.scores.clear()
    langfuse.configs[0]["isArchived"] = True
    outbox = outbox_of(graded)
    outbox.scores.clear()
    outbox.save()
    first = push_scores(graded)
    assert (first.confirmed, first.pending) == (12, 2)
    assert push_scores(graded) == PushResult(2, 0, {})
    assert len(langfuse.configs) == 8


def test_scores_that_are_never_stored_stay_pending(graded: Bench, langfuse: Langfuse) -> None:
    langfuse.stores = False
    assert [push_scores(graded).pending for _ in range(2)] == [14, 14]


@every_mode
def test_a_score_that_is_refused_does_not_stop_the_others(
    graded: Bench, langfuse: Langfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_scores(graded)
    good = next(ledger_scores(graded.paths))
    no_name, no_subject = {**good, "id": "no name", "name": ""}, {**good, "id": "no subject", "sessionId": ""}
    scores = [no_name, {**good, "id": "fine"}, no_subject]
    monkeypatch.setattr(push_module, "ledger_scores", lambda _: scores)
    result = push_scores(graded, looks=(0.0,))
    assert outbox_of(graded).scores["fine"].endswith(" " + STORED)
    if langfuse.mode == "array":  # 207 tells how many were refused, not which
        assert result.pending == 2
    else:
        assert set(result.refused) == {"no name", "no subject"}


@pytest.mark.parametrize("named", ["7", "0"])
def test_the_sender_waits_after_429_if_the_deadline_allows_it(
    graded: Bench, langfuse: Langfuse, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(client_module, "sleep", waits.append)
    requests = 0

    def limited(*_: object) -> Any:  # noqa: ANN401
        nonlocal requests
        requests += 1
        return (429, {"message": "slow down"}, {"retry-after": named}) if requests % 5 == 0 else None

    langfuse.before = limited
    assert push_scores(graded, seconds=100).confirmed == 14
    assert set(waits) == {float(named)}


def test_429_beyond_the_deadline_keeps_scores_pending_and_sends_nothing_before_its_time(
    graded: Bench, langfuse: Langfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    langfuse.before = lambda *_: (429, {}, {"retry-after": "3600"}) if len(langfuse.posted()) > 4 else None
    with pytest.raises(JudgeError, match="rate_limited"):
        push_scores(graded)
    requests = len(langfuse.seen)
    with pytest.raises(JudgeError, match="rate_limited"):
        push_scores(graded)
    assert len(langfuse.seen) == requests
    langfuse.before = lambda *_: None
    monkeypatch.setattr(push_module, "now", lambda: outbox_of(graded).not_before + 1)
    push_scores(graded)
    assert stored_scores(langfuse) == ALL_SCORES


@pytest.mark.parametrize(
    ("status", "name"),
    [(401, "http_401"), (403, "http_403"), (302, "redirect"), (500, "http_500"), (0, "network")],
)
def test_a_failed_push_is_named_and_nothing_is_lost(
    graded: Bench, langfuse: Langfuse, monkeypatch: pytest.MonkeyPatch, status: int, name: str
) -> None:
    monkeypatch.setattr(client_module, "sleep", lambda _: None)
    langfuse.before = lambda *_: (status, {}, {"location": "https://elsewhere.example/"})
    with pytest.raises(JudgeError) as error:
        push_scores(graded)
    assert error.value.name == name
    assert waiting(graded) == 14
    langfuse.before = lambda *_: None
    assert push_scores(graded).confirmed == 14


def test_a_full_disk_stops_before_anything_is_sent(
    graded: Bench, langfuse: Langfuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(push_module, "write_state", full)
    with pytest.raises(OSError, match="No space"):
        push_scores(graded)
    assert langfuse.seen == []


@pytest.mark.parametrize(
    "content",
    [
        b'{"scores": {"a": {}, "b": 1}, "server": [], "configs": {"a": 1}, "not_before": "x"}',
        *(pytest.param(content, marks=pytest.mark.slow) for content in (b"{", b"", b"[]", b"\xff")),
    ],
)
def test_with_a_damaged_outbox_scores_are_sent_again(
    graded: Bench, langfuse: Langfuse, content: bytes
) -> None:
    push_scores(graded)
    (path,) = (graded.config / "lcars" / "memory" / "langfuse").glob("*.json")
    path.write_bytes(content)
    assert push_scores(graded).confirmed == 14
    assert stored_scores(langfuse) == ALL_SCORES


def test_a_server_that_was_probed_wrongly_is_probed_again(graded: Bench, langfuse: Langfuse) -> None:
    outbox = outbox_of(graded)
    with outbox.locked():
        outbox.server = {"scores": "legacy", "sessions": "legacy"}
        outbox.save()
    with pytest.raises(JudgeError):
        push_scores(graded)
    assert push_scores(graded).pending == 0
    assert stored_scores(langfuse) == ALL_SCORES


@every_mode
@pytest.mark.parametrize("strange", ["no object", {}], ids=["text", "empty object"])
def test_a_proxys_200_does_not_teach_the_form_of_scores(
    graded: Bench, langfuse: Langfuse, strange: object
) -> None:
    """It once did, and the server then refused every score for good."""
    langfuse.before = lambda method, path, _: (
        (200, strange, {}) if method == "POST" and path.endswith("/scores") else None
    )
    with suppress(JudgeError):
        push_scores(graded)
    langfuse.before = lambda *_: None
    while waiting(graded):
        push_scores(graded)
    assert stored_scores(langfuse) == ALL_SCORES
