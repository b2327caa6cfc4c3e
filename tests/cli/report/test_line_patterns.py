"""The patterns that read ledger lines without a parser find exactly what a parser would."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.cli.report.line_patterns import (
    RECALL_CONTEXT,
    RECALL_LINE,
    RECALL_MEMORIES,
    SCORE_LINE,
    ScoreRow,
    match_lines,
    parse_elements,
)
from memory_plugin.kernel.fastjson import dumps
from tests.cli.report.month import HOSTILE
from tests.cli.report.records import CANDIDATE, RECALL, SCORE, with_space


def assert_recall_groups(groups: tuple[str, ...], row: dict[str, Any]) -> None:
    """Compare the groups of a line with the record that it holds."""
    day, session, context, nearest, memories, ms = groups
    context_match, memories_match = RECALL_CONTEXT.fullmatch(context), RECALL_MEMORIES.fullmatch(memories)
    assert context_match is not None
    assert memories_match is not None
    assert [day, session, *context_match.groups()] == [
        row["time"][:10],
        *(row[name] for name in ("session", "project", "outcome", "reason")),
    ]
    injected, pointed, tokens = memories_match.groups()
    assert (parse_elements(injected), parse_elements(pointed)) == (row["injected"], row["pointed"])
    assert (int(tokens), float(ms)) == (row["tokens"], row["ms"])
    assert nearest == (row["candidates"][0]["key"] if row["candidates"] else "")


def assert_score_groups(groups: tuple[str, ...], row: dict[str, Any]) -> None:
    """Compare the groups of a line with the record that it holds."""
    score = ScoreRow._make(groups)
    names = ("session", "project", "id", "model")
    assert [getattr(score, name) for name in names] == [row[name] for name in names]
    assert score.day == row["time"][:10]
    assert (int(score.padding), float(score.density)) == (row["padding_count"], row["density"])
    assert parse_elements(score.drift) == row["drift"]
    assert score.matches.split('"')[1::2] == [rule for *_, rule in row["matches"]]


def test_groups_equal_the_parsed_record() -> None:
    for row in (RECALL, {**RECALL, "candidates": []}, {**RECALL, "candidates": [CANDIDATE] * 5}):
        ((_, rows),) = match_lines([dumps(row)], RECALL_LINE)
        assert_recall_groups(rows[0], row)
    ((_, rows),) = match_lines([dumps(SCORE) + "\r"], SCORE_LINE)
    assert_score_groups(rows[0], SCORE)


texts = st.text(max_size=12) | st.sampled_from(['","injected":["x', '],"pointed":[', "\\", '"', "}", HOSTILE])
drawn_fields = st.tuples(texts, texts, texts, texts, st.integers(0, 300))


def truncated_lines(rows: list[dict[str, Any]], cuts: list[int]) -> list[str]:
    """Return the lines of records, some truncated as by a crash; such a line may seem to continue in the next one."""
    lines = [dumps(row) for row in rows]
    return [line[:-cut] if cut % 3 == 0 and cut else line for line, cut in zip(lines, cuts)]


@given(st.lists(drawn_fields, min_size=1, max_size=4))
def test_matched_lines_never_differ_from_the_parser(drawn: list[tuple[str, str, str, str, int]]) -> None:
    recalls = [
        {
            **RECALL,
            "session": session,
            "reason": reason,
            "injected": [key],
            "prompt_id": prompt_id,
            "candidates": [{**CANDIDATE, "key": key}] * (cut % 4),
        }
        for session, reason, key, prompt_id, cut in drawn
    ]
    scores = [
        {**SCORE, "session": session, "model": model, "matches": [[0, 1, rule]], "drift": [category]}
        for session, model, rule, category, _ in drawn
    ]
    cuts = [cut for *_, cut in drawn]
    for records, pattern in ((recalls, RECALL_LINE), (scores, SCORE_LINE)):
        lines = truncated_lines(records, cuts)
        position = 0
        for run, rows in match_lines(lines, pattern):
            assert run == lines[position : position + len(run)]
            for line, record, groups in zip(run, records[position:], rows):
                assert line == dumps(record)
                (assert_recall_groups if pattern is RECALL_LINE else assert_score_groups)(groups, record)
            position += len(run)
        assert position == len(lines)


def test_lines_that_do_not_match_keep_their_place() -> None:
    lines = [
        dumps(RECALL),
        with_space(RECALL),
        dumps(RECALL),
        dumps(RECALL),
        "{",
        dumps({**RECALL, "project": "\\"}),
    ]
    runs = [(run, len(rows)) for run, rows in match_lines(lines, RECALL_LINE)]
    assert runs == [(lines[:1], 1), (lines[1:2], 0), (lines[2:4], 2), (lines[4:5], 0), (lines[5:], 0)]
