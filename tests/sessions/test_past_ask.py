"""Whether a prompt asks about the past is told by its form, in six languages, and its dates are resolved."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

import pytest

from memory_plugin.recall.gate import load_gate
from memory_plugin.sessions.past_ask import COMMAND, CONTINUE, OPEN, STOP, ask_of, may_ask
from tests.project import PLUGIN_ROOT, posix

with open(os.path.join(PLUGIN_ROOT, "config", "sessions", "past_words.json"), encoding="utf-8") as _file:
    ASKS = json.load(_file)["asks"]
with open(os.path.join(PLUGIN_ROOT, "config", "recall", "gate.json"), encoding="utf-8") as _file:
    HINTS = json.load(_file)["past"]
NOW = 1791460800.0  # Thursday, 8 October 2026, 12:00 UTC


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("text", ASKS["hit"], ids=ascii)
def test_a_prompt_that_asks(text: str) -> None:
    assert load_gate().may_ask_about_past(text)
    assert may_ask(text)


def test_a_prompt_that_does_not_ask() -> None:
    assert [text for text in ASKS["miss"] if may_ask(text)] == []


def test_a_hint_of_the_past() -> None:
    assert [text for text in HINTS["hit"] if not load_gate().may_ask_about_past(text)] == []


def test_no_hint_of_the_past() -> None:
    cases = [*HINTS["miss"], "/memory:search what did we do", "did we " + "x" * 600]
    assert [text for text in cases if load_gate().may_ask_about_past(text)] == []


@pytest.mark.parametrize(
    ("text", "asks", "kind", "subject"),
    [
        ("where did we leave off with the crane?", True, STOP, ["crane"]),
        ("wo hatten wir gestern aufgehört", True, STOP, []),
        ("what was I working on?", True, STOP, []),
        ("what is still missing for the crane?", True, OPEN, ["crane"]),
        ("continue with the crane", True, CONTINUE, ["crane"]),
        ("which command did we run to calibrate the crane", True, COMMAND, ["run", "calibrate", "crane"]),
        ("grease the crane like last time", True, "about", ["grease", "crane"]),
        ('add a "where did we stop" button', False, "about", ["add", "button"]),
        ("should the crane have stopped earlier in the test", False, "about", None),
        ("did the crane test pass? run it again", False, "about", None),
    ],
)
def test_form_kind_and_subject(text: str, asks: bool, kind: str, subject: list[str] | None) -> None:
    ask = ask_of(text, NOW)
    assert (may_ask(text), ask.kind) == (asks, kind)
    assert subject is None or ask.subject == subject


@posix("Windows has no tzset")
@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what did we do yesterday", "2026-10-07", "2026-10-08"),
        ("was haben wir vorgestern gemacht", "2026-10-06", "2026-10-07"),
        ("what did we do last week", "2026-09-28", "2026-10-05"),
        ("qué hicimos la semana pasada", "2026-09-28", "2026-10-05"),
        ("what did we do on monday", "2026-10-05", "2026-10-06"),
        ("what did we do last wednesday", "2026-09-30", "2026-10-01"),
        ("am mittwoch vor einer woche haben wir was gemacht", "2026-09-30", "2026-10-01"),
        ("what did we do three days ago", "2026-10-05", "2026-10-06"),
        ("what did we do last month", "2026-09-01", "2026-10-01"),
        ("what did we do in november", "2025-11-01", "2025-12-02"),
        ("at the end of september we moved it, where", "2026-09-01", "2026-10-02"),
        ("on monday and wednesday we did something", "2026-10-05", "2026-10-08"),
        ("on a accéléré quoi lundi dernier", "2026-10-05", "2026-10-06"),
        ("was war am 3. oktober", "2026-10-03", "2026-10-04"),
        ("what did we do on 2026-09-14", "2026-09-14", "2026-09-15"),
    ],
)
def test_a_time_is_resolved(text: str, since: str, until: str) -> None:
    window = ask_of(text, NOW).window
    assert window is not None
    assert [time.strftime("%Y-%m-%d", time.gmtime(moment)) for moment in window] == [since, until]
