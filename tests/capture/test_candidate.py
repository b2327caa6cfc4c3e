"""The file of candidates: bounded, redacted, never proposed again once dropped, and readable whatever the file contains."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memory_plugin.capture.candidate import (
    CONTRADICTED,
    COVERED,
    MAX_OPEN,
    Candidate,
    CandidateFile,
    CandidateSet,
    Finding,
    Origin,
    candidate_from_json,
    compare,
    new_candidate,
)
from memory_plugin.kernel import paths as state_files
from memory_plugin.kernel.files import ReadFailed
from memory_plugin.kernel.paths import Paths, load_data, read_state, write_state
from memory_plugin.memories.record import categories, new_memory, parse_memory

RULE = Finding("", "correction", "preference", "use-not", 0.8)


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home" / ".claude"))
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return Paths(str(tmp_path / "project"))


def made(text: str, *, strength: float = 0.8, session: str = "s1", kind: str = "correction") -> Candidate:
    found = new_candidate(
        RULE._replace(text=text, strength=strength, kind=kind), Origin(session, 3, "2026-01-02T03:04:05Z")
    )
    assert found is not None
    return found


def add(paths: Paths, *found: Candidate) -> None:
    """Save candidates of the project."""
    with CandidateFile(paths).change() as candidates:
        candidates.add(found)


def opened(*found: Candidate) -> CandidateSet:
    candidates = CandidateSet({})
    candidates.add(found)
    return candidates


def test_candidates_survive_a_round_trip(paths: Paths) -> None:
    one = made("no, use pnpm not npm")
    file = CandidateFile(paths)
    add(paths, one)
    assert file.load().open == [one]
    assert candidate_from_json(json.loads(json.dumps(one.to_json()))) == one


def test_introductory_words_are_known() -> None:
    entry = load_data("capture", "statements")["introduction"]
    assert [text for text in entry["hit"] if made(text).title.casefold() == text.casefold()] == []
    assert [text for text in entry["miss"] if made(text).title.casefold() != text.casefold()] == []


def test_a_title_omits_introductory_words() -> None:
    cases = [
        ("no, use pnpm here", "Use pnpm here"),  # a no that leads
        ("no emojis in code", "No emojis in code"),  # a no that says it
        ("again: no inline styles", "No inline styles"),  # said again
        ("heads up: the fixtures are generated", "The fixtures are generated"),  # announced
        ("important files live in lib", "Important files live in lib"),  # a word of its own
    ]
    assert [(quote, title) for quote, title in cases if made(quote).title != title] == []


def test_the_weakest_candidates_are_dropped_first() -> None:
    candidates = opened(
        *(
            made("word%s goes here" % ("abcdefghij"[n % 10] * (n // 10 + 3)), strength=n / 100)
            for n in range(30)
        )
    )
    assert len(candidates.open) == MAX_OPEN
    assert min(one.strength for one in candidates.open) == pytest.approx(0.1)


def test_a_dropped_candidate_never_returns_and_its_text_is_deleted(paths: Paths) -> None:
    one = made("no, use pnpm not npm")
    add(paths, one)
    with CandidateFile(paths).change() as candidates:
        candidates.close([one.id])
    add(paths, made("use pnpm, not npm please"))
    assert CandidateFile(paths).load().open == []
    with open(CandidateFile(paths).path, encoding="utf-8") as text:
        assert "pnpm" not in text.read()


def test_similar_corrections_from_two_sessions_become_one_repeated() -> None:
    candidates = opened(
        made("we never mock the database here"), made("never mock the database", session="s2")
    )
    (one,) = candidates.open
    assert (one.kind, one.sessions) == ("repeated", ("s1", "s2"))


def test_old_candidates_are_dropped() -> None:
    one = made("no, use pnpm not npm")._replace(found="2020-01-01T00:00:00Z")
    assert CandidateSet({"open": [one.to_json()]}).open == []


def test_covered_candidates_are_removed_and_contradictions_marked() -> None:
    covered, opposed = made("use pnpm, not npm"), made("never mock the database")
    candidates = opened(covered, opposed)
    candidates.settle({covered.id: None, opposed.id: "mock-everything"})
    assert [(one.id, one.contradicts) for one in candidates.open] == [(opposed.id, "mock-everything")]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[1]", id="a list"),
        pytest.param(b'{"open": 3, "closed": {}}', id="wrong types"),
        pytest.param(b'{"open": [{"id": "c-0"}, 1, null, {"origin": {}}]}', id="damaged entries"),
        pytest.param(b"\xff\xfe", id="no text"),
    ],
)
def test_a_damaged_file_counts_as_empty_and_is_replaced(paths: Paths, content: bytes) -> None:
    os.makedirs(os.path.dirname(CandidateFile(paths).path))
    with open(CandidateFile(paths).path, "wb") as file:
        file.write(content)
    assert CandidateFile(paths).load().open == []
    add(paths, made("use pnpm, not npm"))
    assert len(CandidateFile(paths).load().open) == 1


def test_a_candidate_contains_no_secret_or_private_text() -> None:
    one = made(
        "always use the key ghp_Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb7c for <private>our bank</private> deploys"
    )
    assert "ghp_" not in json.dumps(one.to_json())
    assert "bank" not in json.dumps(one.to_json())


def test_clear_forgets_everything(paths: Paths) -> None:
    file = CandidateFile(paths)
    add(paths, made("use pnpm, not npm"))
    with file.change() as candidates:
        assert candidates.clear() == 1
    assert file.load().to_json() == {"schema": 1, "open": [], "closed": []}


@pytest.mark.parametrize(
    ("quote", "title", "body", "result"),
    [
        ("no, use pnpm not npm", "Use pnpm", "Use pnpm, not npm, in all packages.", COVERED),
        ("use npm, not pnpm", "Use pnpm", "Use pnpm, not npm, in all packages.", CONTRADICTED),
        (
            "never mock the database",
            "Database in tests",
            "Never mock the database; start the container.",
            COVERED,
        ),
        ("always mock the database", "Never mock the database", "Start the container.", CONTRADICTED),
        ("staging is reset at 3", "Use pnpm", "Use pnpm, not npm.", ""),
        ("never mock the database", "Mock servers", "The mock server listens on 8080.", ""),
    ],
)
def test_compare(quote: str, title: str, body: str, result: str) -> None:
    category = categories()["preference"]
    memory = parse_memory(new_memory(category, "m", title, {"value": body}, {}), "m", category)
    assert compare(made(quote), memory) == result


@pytest.mark.parametrize(
    "change",
    [
        {"new_field": 1},
        {"origin": {}},
        {"origin": "x"},
        {"sessions": None},
        {"found": 5},
        {"strength": "high"},
    ],
    ids=str,
)
def test_one_entry_that_cannot_be_read_costs_neither_the_others_nor_the_rejections(
    paths: Paths, change: dict[str, object]
) -> None:
    kept, odd, rejected = (
        made(text) for text in ("Always use pnpm.", "Never squash merges.", "Sign every tag.")
    )
    file = CandidateFile(paths)
    with file.change() as state:
        state.add([kept, odd, rejected])
        state.close([rejected.id])
    data = read_state(file.path)
    data["open"] = [{**entry, **change} if entry["id"] == odd.id else entry for entry in data["open"]]
    write_state(file.path, {**data, "closed": [5, *data["closed"]]})
    with file.change() as state:
        state.add([rejected])
        assert [one.id for one in state.open] == [kept.id]
    assert file.load().closed == [rejected.id]


def test_a_file_that_cannot_be_read_now_is_not_replaced(
    paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected = made("Sign every tag.")
    file = CandidateFile(paths)
    with file.change() as state:
        state.add([rejected])
        state.close([rejected.id])

    def fails(*_: object) -> None:
        raise ReadFailed(file.path, "an error of the disk")

    with monkeypatch.context() as patch:
        patch.setattr(state_files, "read_regular", fails)
        with pytest.raises(ReadFailed), file.change():
            pass
    assert file.load().closed == [rejected.id]


def test_a_damaged_file_is_kept_under_another_name(paths: Paths) -> None:
    file = CandidateFile(paths)
    os.makedirs(os.path.dirname(file.path))
    with open(file.path, "w", encoding="utf-8") as damaged:
        damaged.write('{"closed": ["c-0123456789"')
    with file.change() as state:
        state.add([made("Sign every tag.")])
    with open(file.path + ".damaged", encoding="utf-8") as damaged:
        assert "c-0123456789" in damaged.read()
