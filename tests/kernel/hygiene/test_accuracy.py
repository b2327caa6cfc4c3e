"""Counting hits and false alarms of the rules on their own examples."""

from __future__ import annotations

import pytest

from memory_plugin.kernel import hygiene_choice
from memory_plugin.kernel.hygiene import accuracy as measured
from memory_plugin.kernel.hygiene.accuracy import Accuracy, accuracy
from memory_plugin.kernel.hygiene.scanner import Finding

TABLES = {
    "first.json": {"rules": [{"kind": "email", "hit": ["a@", ["b", "@"], "c@"], "miss": ["d@", "e@", "f@"]}]},
    "second.json": {
        "rules": [
            {"kind": "email", "hit": ["a@", "b", "c#"], "miss": ["d@", "e", "f#"]},
            {"hit": ["g#"], "miss": []},
        ]
    },
}


def fake_scan(text: str, _kinds: object, _place: str) -> list[Finding]:
    """Find an e-mail address in a text with an at sign, and a secret in one with a number sign."""
    kinds = {"@": "e" + "mail", "#": "secret"}
    return [Finding(kind, "rule", 0, 1, "redact") for sign, kind in kinds.items() if sign in text]


def test_each_kind_is_counted_over_all_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "files", lambda: tuple(TABLES))
    monkeypatch.setattr(measured, "table", TABLES.get)
    monkeypatch.setattr(measured, "scan", fake_scan)
    assert accuracy() == [Accuracy("email", 6, 4, 6, 4), Accuracy("secret", 1, 1, 0, 0)]
    assert accuracy()[0].precision == 0.5
    assert accuracy()[0].recall == pytest.approx(4 / 6)


def test_nothing_found_is_no_false_alarm() -> None:
    nothing = Accuracy("email", 0, 0, 3, 0)
    assert (nothing.precision, nothing.recall) == (1.0, 1.0)


def test_all_packs_are_measured_and_the_user_s_choice_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []

    def noted() -> list[Accuracy]:
        seen.append(hygiene_choice.chosen_packs())
        return []

    monkeypatch.setattr(measured, "_measured", noted)
    assert accuracy() == []
    assert seen == [("national-ids",)]
    assert hygiene_choice.chosen_packs() == ()
