"""Tickets: each is valid once, for the words, the project and the session that the dialog was about, and for a short time."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from memory_plugin.kernel.context import now
from memory_plugin.kernel.paths import Paths, locate
from memory_plugin.memories import tickets
from memory_plugin.memories.tickets import SECONDS, end_tickets, issue_ticket, take_ticket
from tests.project import Project

WORDS = ["accept", "--group", "g1"]


def issued(paths: Paths) -> str:
    """Return the number of a new ticket."""
    return issue_ticket(paths, "s", {"words": WORDS, "project": paths.project_key})


def test_a_ticket_is_valid_once(paths: Paths) -> None:
    number = issued(paths)
    assert [take_ticket(paths, "s", number, WORDS) for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("session", "words"),
    [("other", WORDS), ("s", [*WORDS, "--json"]), ("s", WORDS[:1]), ("s", ["accept --group g1"])],
    ids=["another session", "more words", "fewer words", "the same words, joined"],
)
def test_a_ticket_is_for_one_session_and_exact_words(paths: Paths, session: str, words: list[str]) -> None:
    assert take_ticket(paths, session, issued(paths), words) is False


def test_a_ticket_is_for_one_project(paths: Paths, make_project: Callable[..., Project]) -> None:
    assert take_ticket(locate(make_project().root), "s", issued(paths), WORDS) is False


@pytest.mark.parametrize("number", ["", "0" * 16, "../x", "\udc80"])
def test_a_guessed_number_is_no_ticket(paths: Paths, number: str) -> None:
    issued(paths)
    assert take_ticket(paths, "s", number, WORDS) is False


@pytest.mark.parametrize("seconds", [-1.0, SECONDS + 1], ids=["before it was issued", "too late"])
def test_a_ticket_ends_with_its_time(paths: Paths, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    number, moment = issued(paths), now() + seconds
    monkeypatch.setattr(tickets, "now", lambda: moment)
    assert take_ticket(paths, "s", number, WORDS) is False


def test_all_tickets_of_a_session_end_together(paths: Paths) -> None:
    end_tickets(paths, "s")
    first, second = issued(paths), issued(paths)
    other = issue_ticket(paths, "other", {"words": WORDS, "project": paths.project_key})
    end_tickets(paths, "s")
    assert [take_ticket(paths, "s", number, WORDS) for number in (first, second)] == [False, False]
    assert take_ticket(paths, "other", other, WORDS)


def test_a_ticket_s_file_does_not_hold_its_number(paths: Paths) -> None:
    number, folder = issued(paths), paths.state(tickets.FOLDER)
    (name,) = os.listdir(folder)
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        assert number not in name + file.read()
    assert os.stat(os.path.join(folder, name)).st_mode & 0o777 == 0o600
