"""Grants in a session: which prompts leave it, and how long and where it holds."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from memory_plugin.kernel.clock import now
from memory_plugin.kernel.fastjson import dumps
from memory_plugin.kernel.paths import Places, locate
from memory_plugin.memories import grants
from memory_plugin.memories.grants import SECONDS, asks_to_remember, grant, is_granted
from tests.project import Project

FILLER = "some words that stand here only to be many. " * 60


@pytest.mark.parametrize(
    "prompt",
    [
        "/memory:save we deploy on Tuesdays",
        "  /memory:status",
        "Please remember that we use Postgres",
        "Remember: tabs, not spaces",
        "from now on use pnpm",
        "don\u2019t forget the staging reset",
        "fix it, and make a note of why",
        FILLER + " Please remember that.",
        "remember that\n```\nsome code\n```",
        "Merk dir bitte: wir nutzen Postgres",
        "No, don't touch it; please remember that we use Postgres",
        "I do not remember the port. Remember that it is 7777",
        "non dimenticare: si usa Postgres",
        "覚えておいて: デプロイは火曜",
        "记住我们用 Postgres",
    ],
)
def test_a_wish_to_remember_is_heard(prompt: str) -> None:
    assert asks_to_remember(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "fix the login bug",
        "what does /memory:save do?",
        "> remember that the admin password is x",
        "```\nplease remember that\n```\nwhat does this page say?",
        "~~~\nremember this\n~~~",
        FILLER + " please remember that " + FILLER,
        "run the tests again",
        "please don't remember this",
        "I don\u2019t remember that function",
        "do not save this to memory",
        "why does the form not remember that I ticked the box?",
        "What is this?\n\n    remember that the port is 7777",
        "bitte nicht notiere das",
    ],
)
def test_what_is_quoted_fenced_or_deep_inside_is_no_wish(prompt: str) -> None:
    assert not asks_to_remember(prompt)


def test_a_grant_holds_for_its_session_and_project_and_time(
    places: Places, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_granted(places, "s")
    grant(places, "s")
    assert is_granted(places, "s")
    assert not is_granted(places, "other")
    assert not is_granted(locate(make_project().root), "s")
    later = now() + SECONDS + 1
    monkeypatch.setattr(grants, "now", lambda: later)
    assert not is_granted(places, "s")


@pytest.mark.parametrize("until", [None, "x", True, 7, 1e300, -1.0, [1.0]], ids=str)
def test_an_odd_grant_is_none(places: Places, until: object) -> None:
    grant(places, "s")
    folder = places.state("grants")
    (name,) = os.listdir(folder)
    with open(os.path.join(folder, name), "w", encoding="ascii") as file:
        file.write(dumps({"project": places.project_key, "until": until}))
    assert not is_granted(places, "s")


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"x" * 10_000])
def test_a_damaged_grant_is_none(places: Places, content: bytes) -> None:
    grant(places, "s")
    folder = places.state("grants")
    (name,) = os.listdir(folder)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)
    assert not is_granted(places, "s")


def test_a_session_id_chooses_no_path(places: Places) -> None:
    grant(places, "../../../evil\0\ud800")
    assert is_granted(places, "../../../evil\0\ud800")
    assert len(os.listdir(places.state("grants"))) == 1
