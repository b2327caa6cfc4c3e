"""Tickets: each is valid once, for the words, the project and the session that the dialog was about, and for a short time."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from memory_plugin.kernel.context import now
from memory_plugin.kernel.paths import Paths
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
    assert take_ticket(Paths(make_project().root), "s", issued(paths), WORDS) is False


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


def test_a_ticket_that_a_command_uses_while_all_end_is_no_error(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, files_of = issued(paths), tickets._files

    def with_use(paths: Paths, start: str) -> list[str]:
        found = files_of(paths, start)
        assert take_ticket(paths, "s", number, WORDS)
        return found

    monkeypatch.setattr(tickets, "_files", with_use)
    end_tickets(paths, "s")


def test_an_error_after_the_first_was_taken_does_not_lose_it(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        assert take_ticket(paths, "s", issued(paths), WORDS)
    removed: list[str] = []

    def remove_one(path: str) -> bool:
        removed.append(path)
        if len(removed) > 1:
            raise PermissionError(path)
        return True

    monkeypatch.setattr(tickets, "remove_file", remove_one)
    monkeypatch.setattr("memory_plugin.kernel.transcript.who_allowed", lambda *_: "user")
    monkeypatch.setattr("memory_plugin.kernel.transcript.PERSON", "user")
    allowed, lines = tickets.settle(paths, "s")
    assert ([command["words"] for command in allowed], lines) == ([WORDS], [])
    with pytest.raises(PermissionError):
        tickets.settle(paths, "s")
