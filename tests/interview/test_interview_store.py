"""Interviews on the disk: nothing of a deleted one is left, and of two answers at the same time one is refused."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory_plugin.interview import interview_store as module
from memory_plugin.interview import pipeline
from memory_plugin.interview.interview_store import NEW, OPEN, Interview, InterviewError, InterviewStore
from memory_plugin.kernel.sqlite import Connection, open_database
from tests.interview.respondents import setup_for

TOPIC = "the merger that nobody knows of"


def connect_without_secure_delete(*args: Any, **named: Any) -> Connection:  # noqa: ANN401 (passed on)
    """Return a connection as most systems build SQLite, because a few build it with secure_delete on."""
    connection: Connection = open_database(*args, **named)
    connection.execute("PRAGMA secure_delete = OFF")
    return connection


def interview_about_topic(identity: str) -> Interview:
    """Return an interview with TOPIC in each column of text."""
    text = '{"text": "%s"}' % TOPIC
    return Interview((identity, "p", "s", OPEN, TOPIC, "t", "t", text, text, NEW))


@pytest.mark.parametrize("others", [0, 1], ids=["the only one", "one of two"])
def test_a_discarded_interview_leaves_no_text_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    monkeypatch.setattr(module, "open_database", connect_without_secure_delete)
    with closing(InterviewStore(str(tmp_path), "p", "")) as store:
        for number in range(others):
            other = Interview(("other%d" % number, "p", "s", OPEN, "x", "t", "t", "{}", "{}", NEW))
            store.save(other, ({}, {"stop": False}))
        interview = interview_about_topic("i1")
        store.save(interview, ({"text": TOPIC}, {"why": TOPIC, "stop": False}))
        store.save(interview, ({"text": TOPIC * 200}, {"why": TOPIC, "stop": False}))
        assert TOPIC in content_of_files(tmp_path)
        store.delete(interview)
        assert TOPIC not in content_of_files(tmp_path)
        assert len(store.overview()) == others


def content_of_files(folder: Path) -> str:
    """Return the content of all files in a folder."""
    return "".join(path.read_bytes().decode("latin-1") for path in sorted(folder.iterdir()))


def test_of_two_answers_at_once_one_is_refused(store: InterviewStore) -> None:
    interview, _ = pipeline.start(store, setup_for(), {})
    first, second = store.find(interview.id), store.find(interview.id)
    pipeline.answer(store, first, {"answer": "it is for clerks"})
    with pytest.raises(InterviewError, match="another answer came first"):
        pipeline.answer(store, second, {"answer": "it is for auditors"})
    assert [turn["answer"] for turn in store.find(interview.id).state["turns"]] == ["it is for clerks"]


def test_an_answer_with_five_thousand_concepts_takes_less_than_three_seconds(store: InterviewStore) -> None:
    interview, _ = pipeline.start(store, setup_for(), {})
    state: Any = interview.state
    for index in range(5000):
        state["nodes"].append(
            {
                "id": "n%d" % (index + 1), "label": "concept %d" % index, "type": "goal" if index % 2 else "behaviour",
                "stance": index % 3 - 1, "confidence": 0.8, "mentions": 1 + index % 2,
                "turns": [1], "quotes": [], "superseded_by": "", "elements": ["goal"],
            }
        )  # fmt: skip
        if index % 7:
            state["edges"].append([index - 1, index, "leads_to", 1])
    store.save(interview)
    started = time.process_time()
    decision = pipeline.answer(
        store, store.find(interview.id), {"answer": "the concept number 17 matters most"}
    )
    assert time.process_time() - started < 3
    assert decision["stop"] is False


def test_the_stored_events_give_the_same_decisions(store: InterviewStore) -> None:
    interview, _ = pipeline.start(store, setup_for(), {"users": "README"})
    for words in ("it is for clerks", "no idea", "because nobody should wait"):
        pipeline.answer(store, interview, {"answer": words})
    (started, first), *later = store.events(interview.id)
    state, decision = pipeline.begin(interview.setup, started["covered"])
    assert decision == first
    for event, stored in later:
        assert pipeline.apply_event(state, interview.setup, event) == stored
    assert state == store.find(interview.id).state
