"""The README's picture shows what the real client shows."""

from __future__ import annotations

import pytest

from tests.client.sandbox import Sandbox
from tests.docs.pages import page

picture = pytest.importorskip("tests.client.picture", reason="needs rich", exc_type=ImportError)
pytestmark = [pytest.mark.client, pytest.mark.terminal]


def test_both_pictures_have_the_words_of_the_clients_screen(sandbox: Sandbox) -> None:
    """If not, `python3 -m tests.client.picture` draws them again."""
    words = picture.words_of(picture.drawn(picture.screen(sandbox), picture.THEMES["dark"]))
    assert {"showed", "Claude"} <= set(words)
    for name in picture.THEMES:
        with open(picture.path_of(name), encoding="utf-8") as file:
            assert picture.words_of(file.read()) == words, name
        assert "docs/images/recall-%s.svg" % name in page("README.md")
