"""Two processes that change one file of the state folder: the second comes while the first has read and not yet written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, NamedTuple

import pytest

from memory_plugin.kernel import files
from memory_plugin.kernel.paths import Paths, StateChange, read_state, record_once, session_file
from memory_plugin.memories import grants
from memory_plugin.memories.grants import (
    MAX_SAVES,
    grant,
    record_saves,
    revoke,
    take_unshown_saves,
    use_saves,
)
from memory_plugin.replies import ReplyState, count_judged, reset_tuning_reminder

SECONDS = 0.2  # in which the second would be done if nothing made it wait


class Race(NamedTuple):
    """What comes before, the two changes, and what must be there afterwards."""

    before: Callable[[Paths], object]
    first: Callable[[Paths], object]
    second: Callable[[Paths], object]
    look: Callable[[Paths], object]
    expected: object


def grant_state(paths: Paths) -> dict[str, Any]:
    """Return the state of the grant."""
    return read_state(session_file(paths, "s", grants.PART))


def with_lines(paths: Paths) -> None:
    """Issue a grant, under which something was saved."""
    grant(paths, "s", "p", "")
    record_saves(paths, "s", ["one"])


def notices(paths: Paths) -> str:
    """Return the path of what the user was told in this project."""
    return paths.state("notices", "project.json")


def ask(paths: Paths) -> None:
    """Note a text that was asked about, as search phrases do."""
    with StateChange(notices(paths)) as state:
        state["asked"] = ["a text"]


def nothing(_: Paths) -> None:
    """Begin without a file."""


RACES = {
    "a line while others are taken": Race(
        with_lines,
        lambda paths: take_unshown_saves(paths, "s"),
        lambda paths: record_saves(paths, "s", ["two"]),
        lambda paths: grant_state(paths).get("unshown"),
        ["two"],
    ),
    "a save while lines are taken": Race(
        with_lines,
        lambda paths: take_unshown_saves(paths, "s"),
        lambda paths: use_saves(paths, "s", 1),
        lambda paths: grant_state(paths).get("left"),
        MAX_SAVES - 1,
    ),
    "a line while a grant ends": Race(
        with_lines,
        lambda paths: revoke(paths, "s"),
        lambda paths: record_saves(paths, "s", ["two"]),
        lambda paths: take_unshown_saves(paths, "s"),
        ["one", "two"],
    ),
    "a line while a grant begins": Race(
        nothing,
        lambda paths: grant(paths, "s", "p", ""),
        lambda paths: record_saves(paths, "s", ["two"]),
        lambda paths: (take_unshown_saves(paths, "s"), grant_state(paths)["left"]),
        (["two"], MAX_SAVES),
    ),
    "a mark while another is made": Race(
        nothing,
        lambda paths: record_once(notices(paths), "pending", "a"),
        ask,
        lambda paths: read_state(notices(paths)),
        {"pending": "a", "asked": ["a text"]},
    ),
    "a reply while another is counted": Race(
        nothing,
        lambda paths: ReplyState(paths, "s").count_reply("+"),
        lambda paths: ReplyState(paths, "s").count_reply("+-"),
        lambda paths: ReplyState(paths, "s").replies(),
        2,
    ),
    "a new start while a judged reply is counted": Race(
        count_judged,
        count_judged,
        reset_tuning_reminder,
        lambda paths: read_state(paths.state("tuning.json"))["judged"],
        0,
    ),
}


@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
def test_no_change_is_lost(paths: Paths, monkeypatch: pytest.MonkeyPatch, race: Race) -> None:
    monkeypatch.setattr("memory_plugin.kernel.transcript.was_typed", lambda *_: True)
    race.before(paths)
    second = Thread(target=race.second, args=(paths,))
    write = files.replace_file

    def late(path: str, data: bytes, **options: bool) -> None:
        if second.ident is None:
            second.start()
            second.join(SECONDS)
        write(path, data, **options)

    monkeypatch.setattr("memory_plugin.kernel.paths.replace_file", late)
    race.first(paths)
    second.join()
    assert race.look(paths) == race.expected


def test_an_error_in_a_change_changes_nothing_and_ends_its_lock(paths: Paths) -> None:
    path = notices(paths)
    assert record_once(path, "pending", "a")
    with suppress(RuntimeError), StateChange(path, 0.0) as state:
        state["pending"] = "b"
        raise RuntimeError
    assert not record_once(path, "pending", "a")
    with StateChange(path, 0.0) as state:
        state.clear()
    assert read_state(path) == {}
