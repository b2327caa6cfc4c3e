"""What is left of an interview in its file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.interview import store as module
from memory_plugin.interview.store import OPEN, Interview, Store
from memory_plugin.kernel.sqlite import Connection, connect

TOPIC = "the merger that nobody knows of"


def as_sqlite_comes(*args: Any, **named: Any) -> Connection:  # noqa: ANN401 (handed on)
    """A connection that wipes nothing by itself: some systems build SQLite to do so, most do not."""
    connection: Connection = connect(*args, **named)
    connection.execute("PRAGMA secure_delete = OFF")
    return connection


def an_interview(identity: str) -> Interview:
    """An interview with a text in each of its columns."""
    text = '{"text": "%s"}' % TOPIC
    return Interview((identity, "p", "s", OPEN, TOPIC, 1, "t", "t", text, text, TOPIC, 0))


@pytest.mark.parametrize("others", [0, 1], ids=["the only one", "one of two"])
def test_a_discarded_interview_leaves_no_text_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    monkeypatch.setattr(module, "connect", as_sqlite_comes)
    with closing(Store(str(tmp_path))) as store:
        for number in range(others):
            other = Interview(("other%d" % number, "p", "s", OPEN, "x", 1, "t", "t", "{}", "{}", "x", 0))
            store.add(other, {}, {})
        interview = an_interview("i1")
        store.add(interview, {"text": TOPIC}, {"text": TOPIC})
        store.put(interview, {"text": TOPIC * 200}, {"text": TOPIC})
        assert TOPIC in held(tmp_path)
        store.forget("i1")
        assert TOPIC not in held(tmp_path)
        assert len(store.listed()) == others


def held(folder: Path) -> str:
    """All that the files of a folder hold."""
    return "".join(path.read_bytes().decode("latin-1") for path in sorted(folder.iterdir()))
