"""The program `memory` behind a link on the PATH: the one in our marketplace is our own, so the client asks about its commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_plugin.hooks.tool_use import command_words


@pytest.mark.parametrize(
    ("known", "words"),
    [
        pytest.param('{"market": {"installLocation": "%s"}}', ["accept", "x"], id="the marketplace"),
        pytest.param('{"other": {"installLocation": "%s"}}', [], id="another marketplace"),
        pytest.param('{"market": "%s"}', [], id="another form"),
        pytest.param("%s", [], id="no JSON"),
    ],
)
def test_the_link_that_readme_makes_to_the_marketplace_is_our_own(
    known: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins, links = tmp_path / "plugins", tmp_path / "links"
    cached, clone = plugins / "cache" / "market" / "memory" / "1.0.0", plugins / "marketplaces" / "market"
    for folder in (cached, clone):
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "memory").write_text("#!/bin/sh\n", encoding="utf-8")
    links.mkdir()
    (links / "memory").symlink_to(clone / "bin" / "memory")
    (plugins / "known_marketplaces.json").write_text(known % clone, encoding="utf-8")
    monkeypatch.setattr(
        "memory_plugin.host.commands.own_script", lambda: str(cached / "scripts" / "memory.py")
    )
    monkeypatch.setenv("PATH", str(links))
    assert command_words("memory accept x") == words


def test_the_marketplaces_are_read_only_for_a_program_of_our_name(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr("memory_plugin.host.commands._in_marketplace", read.append)
    for line in ("cat memory.md", "pytest tests/memory", "python3 memory.py", "python3"):
        assert command_words(line) == []
    assert read == []
    assert command_words("tools/memory accept x") == []
    assert len(read) == 1
