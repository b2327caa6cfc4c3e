"""The campaigns count each kind of broken promise."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.campaigns import faults, fuzzing
from tests.campaigns.injection import Injector
from tests.campaigns.tally import Tally
from tests.campaigns.world import FORGED_MARK, SECRET, Outcome, World, ask, build

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build(str(tmp_path_factory.mktemp("campaign")))


@pytest.mark.parametrize(
    ("outcome", "promise"),
    [
        (Outcome(1, b"", b""), "exit"),
        (Outcome(0, b"", b"Traceback (most recent call last):"), "traceback"),
        (Outcome(0, b"{}{}", b""), "output"),
        (Outcome(0, ('{"a":"%s"}' % FORGED_MARK).encode(), b""), "trust"),
        (Outcome(0, ('{"a":"%s"}' % SECRET).encode(), b""), "secret"),
    ],
)
def test_a_broken_promise_is_counted(world: World, outcome: Outcome, promise: str) -> None:
    world.reset("ready")
    tally = Tally("t", 60)
    world.check(tally, ask("s"), outcome, "a run")
    assert dict(tally.broken) == {promise: 1}


def test_a_torn_record_and_a_secret_at_rest_are_counted(world: World) -> None:
    world.reset("ready")
    tally = Tally("t", 60)
    world.project.write(".claude/memory/decisions/torn.json", '{"title": ')
    with open(os.path.join(world.project.state, "events.jsonl"), "a", encoding="utf-8") as file:
        file.write('{"a": "%s"}\n{"torn\n' % SECRET)
    world.check_files(tally, "a run")
    assert dict(tally.broken) == {"record": 2, "secret": 1}


def test_a_lost_memory_is_counted(world: World) -> None:
    world.reset("first")
    tally = Tally("t", 60)
    world.check_recovery(tally, "a run")
    assert tally.broken["record"] == 1


def test_a_fault_happens_at_its_site(world: World) -> None:
    sites = faults.trace_calls(world, "ready", ask("s"))
    assert "kernel/files.py:_write_once:write" in sites
    world.reset("ready")
    log = os.open(os.path.join(world.folder, "met"), os.O_RDWR | os.O_CREAT | os.O_APPEND)
    before = len(world.project.ledger("recalls"))
    injector = Injector(log, "kernel/files.py:_write_once:write", 1, "short")
    outcome = world.run(ask("s"), injector.install)
    assert (outcome.code, os.pread(log, 9, 0)) == (0, b"!\n")
    os.close(log)
    assert len(world.project.ledger("recalls")) == before, "the half-written line is removed"


@pytest.mark.slow  # CI also runs the short form of each campaign
@pytest.mark.parametrize("campaign", [faults.run_faults, faults.run_kills, fuzzing.run_fuzzing])
def test_a_campaign_runs_and_finds_nothing(world: World, campaign: faults.Campaign) -> None:
    tally = Tally("t", 3)
    campaign(world, tally, random.Random(7), thorough=False)
    assert tally.runs > 0
    assert dict(tally.broken) == {}, tally.examples
    assert tally.kills <= tally.runs


def test_a_parser_that_raises_is_reported(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: fuzzing.InputGenerator) -> None:
        raise IndexError

    monkeypatch.setitem(fuzzing.TARGETS, "markdown", (broken, ()))
    assert "IndexError" in fuzzing.try_input("markdown", fuzzing.InputGenerator(random.Random(1)))


def test_a_run_that_hangs_is_counted(world: World, tmp_path: Path) -> None:
    tally = Tally("t", 60)
    world.reset("ready")
    child = world.start(ask("s"), lambda: __import__("time").sleep(30))
    world.check(tally, ask("s"), world.wait(child, seconds=0.3), "a run")
    assert tally.broken["hang"] == 1
