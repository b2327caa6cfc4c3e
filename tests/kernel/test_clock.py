"""The one format of times, and deadlines, which never grow."""

from __future__ import annotations

import re

import pytest

from memory_plugin.kernel import context
from memory_plugin.kernel.context import Deadline, iso, now, now_iso


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (951782400.9, "2000-02-29T00:00:00Z"),
        (4102444799, "2099-12-31T23:59:59Z"),
    ],
)
def test_times_are_utc_in_whole_seconds(seconds: float, text: str) -> None:
    assert iso(seconds) == text


def test_the_present_is_written_the_same_way() -> None:
    before, text, after = now(), now_iso(), now()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text)
    assert iso(before) <= text <= iso(after)


def test_a_deadline_runs_out_and_never_below_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    present = [100.0]
    monkeypatch.setattr(context, "monotonic", lambda: present[0])
    deadline = Deadline(2.0)
    assert (deadline.remaining(), deadline.elapsed_ms()) == (2.0, 0.0)
    present[0] = 101.2345
    assert deadline.remaining() == pytest.approx(0.7655)
    assert deadline.elapsed_ms() == 1234.5
    present[0] = 200.0
    assert deadline.remaining() == 0.0


def test_a_part_of_a_deadline_never_outlasts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "monotonic", lambda: 100.0)
    assert Deadline(2.0).within(0.5).remaining() == 0.5
    assert Deadline(2.0).within(9.0).remaining() == 2.0
