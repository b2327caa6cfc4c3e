"""Records of ledgers: their fields have the types that the plugin writes, whatever a line contains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_plugin.kernel.judge.asking import CALLS
from memory_plugin.kernel.records import Form, Records, ledger_names
from memory_plugin.recall.recall_rows import RECALLS
from memory_plugin.replies.rows import SCORES
from memory_plugin.sessions.rows import SESSIONS

ODD: tuple[object, ...] = (
    5,
    -1,
    1e300,
    True,
    None,
    "text",
    [],
    ["text", 7],
    {},
    {"a": -1},
    [[1, 2]],
    [["a"]],
    [{}],
    [{"key": 5}],
)
# A field of each kind, and what remains of it.
KINDS = [
    ("recalls", "reason", ["text"]),
    ("recalls", "injected", [[], ["text"]]),
    ("recalls", "tokens", [5]),
    ("recalls", "ms", [5, None]),
    ("recalls", "candidates", [[]]),
    ("recalls", "judge", [{}, {"a": -1}]),
    ("scores", "threshold", [5]),
    ("scores", "matches", [[]]),
    ("scores", "missed", [[], [[1, 2]]]),
    ("scores", "levels", [{}]),
    ("sessions", "dimensions", [{}, {"a": -1}]),
    ("judge-calls", "cost_usd", [5, None]),
]


FORMS: dict[str, Form] = {form.name: form for form in (RECALLS, SCORES, SESSIONS, CALLS)}


def write(folder: Path, name: str, *rows: object) -> Records:
    with open(folder / (name + ".jsonl"), "a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    ledger = name.partition(".")[0]
    return Records(str(folder), FORMS.get(ledger) or Form(ledger, {}))


@pytest.mark.parametrize(("ledger", "field", "expected"), KINDS, ids=[kind[1] for kind in KINDS])
def test_a_field_of_another_type_is_missing(
    tmp_path: Path, ledger: str, field: str, expected: list[object]
) -> None:
    rows = list(write(tmp_path, ledger, *({field: value, "other": value} for value in ODD)))
    assert [row["other"] for row in rows] == list(ODD), "a field that nothing reads stays as it is"
    left = [row[field] for row in rows if field in row]
    assert [value for index, value in enumerate(left) if value not in left[:index]] == expected


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        ({"key": "a", "confidence": "high", "shift": -0.2}, [{"key": "a", "shift": -0.2}]),
        ({"confidence": 0.5}, []),
        (["a"], []),
    ],
    ids=["a wrong field", "no key", "no object"],
)
def test_a_candidate_has_a_key_and_fields_of_their_types(
    tmp_path: Path, candidate: object, expected: object
) -> None:
    (row,) = write(tmp_path, "recalls", {"candidates": [candidate]})
    assert row["candidates"] == expected


@pytest.mark.parametrize(
    ("pair", "stays"),
    [
        ([True, False], True),
        ([True, None], True),
        ([None, None], True),
        ([True], False),
        ([1, 0], False),
        ("yes", False),
    ],
)
def test_the_votes_of_judges_are_pairs(tmp_path: Path, pair: object, stays: bool) -> None:
    (row,) = write(tmp_path, "recalls", {"judge": {"verdicts": {"a": pair}}})
    assert row["judge"]["verdicts"] == ({"a": pair} if stays else {})


def test_parts_are_read_oldest_first(tmp_path: Path) -> None:
    for number, name in enumerate(
        ("recalls.3", "recalls.2", "recalls.1", "recalls", "recalls.old", "recalls2")
    ):
        write(tmp_path, name, {"number": number})
    assert [row["number"] for row in Records(str(tmp_path), Form("recalls", {}))] == [0, 1, 2, 3]
    assert ledger_names(str(tmp_path)) == ["recalls", "recalls2"]


def test_a_period_and_a_project_select_records(tmp_path: Path) -> None:
    rows = [{"time": "2026-01-0%d" % day, "project": "shop" if day % 2 else "other"} for day in range(1, 7)]
    write(tmp_path, "recalls", *rows, {"project": "shop"}, {"time": 5, "project": "shop"})
    found = Records(str(tmp_path), Form("recalls", {}), "2026-01-02", "2026-01-06", "shop")
    assert [row["time"] for row in found] == ["2026-01-03", "2026-01-05"]
    assert len(list(Records(str(tmp_path), Form("recalls", {})))) == 8


def test_the_tail_holds_whole_lines(tmp_path: Path) -> None:
    write(tmp_path, "recalls", *({"number": number} for number in range(10)))
    tail = [row["number"] for row in Records(str(tmp_path), Form("recalls", {}), tail=40)]
    assert tail == [8, 9]
    assert len(list(Records(str(tmp_path), Form("recalls", {}), tail=4000))) == 10


def test_a_file_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    (tmp_path / "recalls.1.jsonl").symlink_to("/dev/null")
    records = write(tmp_path, "recalls", {"number": 1})
    assert ([row["number"] for row in records], records.skipped) == ([1], 1)
    assert list(Records(str(tmp_path / "none"), Form("recalls", {}))) == []


@pytest.mark.parametrize("bug", [TypeError, ValueError, KeyError])
def test_a_bug_of_a_check_is_no_damaged_line(tmp_path: Path, bug: type[Exception]) -> None:
    def fail(_: object) -> object:
        raise bug("a bug")

    (tmp_path / "book.jsonl").write_text('{"time": "2026", "a": 1}\n', encoding="utf-8")
    with pytest.raises(bug, match="a bug"):
        list(Records(str(tmp_path), Form("book", {"a": fail})))
