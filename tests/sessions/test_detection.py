"""Patterns of signals: each matches its examples and nothing else, in linear time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from memory_plugin.kernel.data import load_data
from memory_plugin.sessions.detection import pattern

PATTERNS = load_data("sessions", "patterns")["patterns"]


@pytest.mark.parametrize("entry", PATTERNS, ids=lambda entry: str(entry["id"]))
def test_a_pattern_hits_and_misses_its_examples(entry: dict[str, Any]) -> None:
    compiled = pattern(entry["id"])
    assert [text for text in entry["hit"] if not compiled.search(text)] == []
    assert [text for text in entry["miss"] if compiled.search(text)] == []


@pytest.mark.parametrize("entry", PATTERNS, ids=lambda entry: str(entry["id"]))
@pytest.mark.parametrize("piece", ["a", "1 ", "[", "[x](", ".a", "it's ", "| ", "<b>\n", "the user ", "-- "])
def test_a_pattern_takes_linear_time(entry: dict[str, Any], piece: str) -> None:
    compiled = pattern(entry["id"])
    started = time.process_time()
    compiled.search(piece * (50_000 // len(piece)))
    assert time.process_time() - started < 10
