"""Records that a report reads without a parser: what it takes from a line is what a parser would read."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.cli.report.quick_rows import CONTEXT, RECALL_LINE, SCORE_LINE, TOLD, ScoreRow, quick_rows
from memory_plugin.cli.report.quick_rows import texts as inside_texts
from memory_plugin.kernel.fastjson import dumps
from tests.cli.report.month import HOSTILE
from tests.cli.report.records import CANDIDATE, RECALL, SCORE, changed


def assert_is_recall(found: tuple[str, ...], row: dict[str, Any]) -> None:
    """Compare the groups of a line with the record that it holds."""
    day, session, context, nearest, told, took = found
    parts, lists = CONTEXT.fullmatch(context), TOLD.fullmatch(told)
    assert parts is not None
    assert lists is not None
    assert [day, session, *parts.groups()] == [
        row["time"][:10],
        *(row[name] for name in ("session", "project", "outcome", "reason")),
    ]
    assert (inside_texts(lists[1]), inside_texts(lists[2])) == (row["injected"], row["pointed"])
    assert (int(lists[3]), float(took)) == (row["tokens"], row["ms"])
    assert nearest == (row["candidates"][0]["key"] if row["candidates"] else "")


def assert_is_score(found: tuple[str, ...], row: dict[str, Any]) -> None:
    """Compare the groups of a line with the record that it holds."""
    quick = ScoreRow._make(found)
    names = ("session", "project", "id", "model")
    assert [getattr(quick, name) for name in names] == [row[name] for name in names]
    assert quick.day == row["time"][:10]
    assert (int(quick.padding), float(quick.density)) == (row["padding_count"], row["density"])
    assert inside_texts(quick.drift) == row["drift"]
    assert quick.matches.split('"')[1::2] == [rule for *_, rule in row["matches"]]


def test_a_quick_row_is_what_the_parser_reads() -> None:
    for row in (RECALL, {**RECALL, "candidates": []}, {**RECALL, "candidates": [CANDIDATE] * 5}):
        ((_, found),) = quick_rows([dumps(row)], RECALL_LINE)
        assert_is_recall(found[0], row)
    ((_, found),) = quick_rows([dumps(SCORE) + "\r"], SCORE_LINE)
    assert_is_score(found[0], SCORE)


texts = st.text(max_size=12) | st.sampled_from(['","injected":["x', '],"pointed":[', "\\", '"', "}", HOSTILE])
pieces = st.tuples(texts, texts, texts, texts, st.integers(0, 300))


def lines_of(rows: list[dict[str, Any]], cuts: list[int]) -> list[str]:
    """Return the lines of records, some of them cut short: a crash leaves such, and they may seem to go on in the next line."""
    lines = [dumps(row) for row in rows]
    return [line[:-cut] if cut % 3 == 0 and cut else line for line, cut in zip(lines, cuts)]


@given(st.lists(pieces, min_size=1, max_size=4))
def test_a_quick_row_never_differs_from_the_parser(made: list[tuple[str, str, str, str, int]]) -> None:
    recalls = [
        {
            **RECALL,
            "session": one,
            "reason": two,
            "injected": [three],
            "prompt_id": four,
            "candidates": [{**CANDIDATE, "key": three}] * (cut % 4),
        }
        for one, two, three, four, cut in made
    ]
    scores = [
        {**SCORE, "session": one, "model": two, "matches": [[0, 1, three]], "drift": [four]}
        for one, two, three, four, _ in made
    ]
    cuts = [cut for *_, cut in made]
    for rows, form in ((recalls, RECALL_LINE), (scores, SCORE_LINE)):
        lines = lines_of(rows, cuts)
        at = 0
        for part, groups in quick_rows(lines, form):
            assert part == lines[at : at + len(part)]
            for line, row, found in zip(part, rows[at:], groups):
                assert line == dumps(row)
                (assert_is_recall if form is RECALL_LINE else assert_is_score)(found, row)
            at += len(part)
        assert at == len(lines)


def test_lines_of_another_form_keep_their_place() -> None:
    lines = [
        dumps(RECALL),
        changed(RECALL),
        dumps(RECALL),
        dumps(RECALL),
        "{",
        dumps({**RECALL, "project": "\\"}),
    ]
    found = [(part, len(rows)) for part, rows in quick_rows(lines, RECALL_LINE)]
    assert found == [(lines[:1], 1), (lines[1:2], 0), (lines[2:4], 2), (lines[4:5], 0), (lines[5:], 0)]
