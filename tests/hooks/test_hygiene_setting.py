"""The setting `hygiene.allow`, and an index whose texts were redacted under a different setting."""

from __future__ import annotations

import json
import os

import pytest

from memory_plugin.kernel import hygiene
from tests.project import Project
from tests.recall.store_files import no_threshold

CARD = "4111 1111 1111 1111"


@pytest.fixture
def planted(project: Project) -> Project:
    """Return a project with a memory that contains a card number, as an old store may."""
    no_threshold(project)
    name = project.save("The test card of the billing gateway", "Pay with CARD at the billing gateway.")
    path = project.cli("show", name, "--json").json["path"]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("CARD", CARD))
    assert project.cli("accept", "--all").returncode == 0
    return project


def allow(project: Project, *rules: str) -> None:
    """Allow these rules in the user's settings."""
    path = os.path.join(project.config, "settings.json")
    settings = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            settings = json.load(file)
    settings.setdefault("memory", {})["hygiene"] = {"allow": list(rules)}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(settings, file)


def recalled(project: Project) -> str:
    """Return what is injected on a prompt once the index is up to date."""
    assert project.cli("refresh").returncode == 0
    return project.prompt(
        "Which test card does the billing gateway take?", str(len(project.ledger("recalls")))
    ).context


def test_text_allowed_by_the_setting_is_indexed_and_redacted_again_when_disallowed(planted: Project) -> None:
    assert "[redacted:" in recalled(planted)
    allow(planted, "credit-card")
    assert CARD in recalled(planted)
    allow(planted)
    assert "[redacted:" in recalled(planted)


def test_a_prompt_never_gets_text_that_is_no_longer_allowed(planted: Project) -> None:
    allow(planted, "credit-card")
    assert CARD in recalled(planted)
    allow(planted)
    assert CARD not in planted.prompt("Which test card does the billing gateway take?", "p9").stdout


def test_the_rules_checksum_distinguishes_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hygiene, "_allowed", set())
    monkeypatch.setattr(hygiene, "_packs", [])
    marks = []
    for allowed, packs in (
        ([], []),
        (["email"], []),
        ([], ["email"]),
        (["email", "iban"], []),
        (["iban", "email"], []),
    ):
        hygiene.choose(allowed, packs)
        marks.append(hygiene.rules_checksum())
    assert marks[0] == 0
    assert len(set(marks)) == 4
    assert marks[3] == marks[4]
    assert max(marks) < 1 << 23
