"""Reading replies. The examples of the rubrics are in test_rubrics.py."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.judge.question import chosen_indices, data_block, read_reply


def chosen(text: str, offered: int = 4) -> list[int] | None:
    """Return the indices in a reply."""
    values = read_reply(text, lambda value: chosen_indices(value, "keep", offered))
    return None if values is None else values["chosen"]


def test_an_object_is_found_anywhere_in_a_reply() -> None:
    cases = [
        ('{"keep": [1]}', [1]),
        ('\n\n {"keep": [1],\n "why": "{x}"} \n', [1]),
        ('{"note": {"keep": [2]}}', [2]),
        ('a } { b {"keep": [1]} c { d', [1]),
        ('{"keep": [1]}{"keep": [1]}', [1]),
        ('{"keep": [1]} {"keep": []}', None),
        ('{"keep": {"1": true}}', None),
        ("{'keep': [1], 'why': 'it\\'s \"so\"'}", [1]),  # Python
        ('{"keep": [1], "sure": True, "why": None}', [1]),
        ('{"keep": [1,],}', [1]),
        ('{"keep": [1], // the second\n}', [1]),
        ('{"keep": [1], "share": 0,8}', [1]),
        ('{"keep": [1], "why": "it\\\'s in C:\\path, // or {\'a\',}"}', [1]),  # wrong escapes
        ("{keep: [1], 'why': \u201cso\u201d}", [1]),  # names without quotes, curly quotes
        ('{"keep": [1], "share": .8, "more": +1, "last": 1.}', [1]),
        (
            '{"why": "he said "yes" twice"\n "keep": [1] /* all */, # so\n "x": 2}',
            [1],
        ),  # a comma left out, comments
        ('{"keep": [1], "others": [...]}', [1]),
        (
            'The "keep" is below:\n{keep: [1], "why": "it calls "a" and "b." \n"\n}',
            [1],
        ),  # quotes, not escaped
        ('{"keep": [1],} {"keep": [2],}', None),
        ('"a"' * 13_000 + "{keep: [1]}", [1]),
        ("a\n" + "\n" * 39_000, None),
        ('"\\' * 19_000, None),
        ('{"keep": [1]', None),
        ("{" * 100_000, None),
        ('{"keep":[' * 20_000, None),
        ('{"keep": [1' + "0" * 30_000 + "]}", None),  # no memory has that index
        (" " * 50_000 + '{"keep": [1]}', None),
        ("\ud800\x00\u202e{", None),
        ('{"keep": [1], "why": "a\nb\tc"}', [1]),  # raw line breaks in a string
        ('<think>{"keep": [2]}? No.</think>\n{"keep": [1]}', [1]),  # a draft in thoughts
        ('<THINK>{"keep": [2]}? No.</THINK> {"keep": [1]}', [1]),
        ('[mm:think]{"keep": [2]}? No.[/mm:think] {"keep": [1]}', [1]),
        (
            '{"keep": [2]}? No.\n</think>\n\n```json\n{"keep": [1]}\n```',
            [1],
        ),  # the server omits the first tag
        ('{"keep": [1]} It says </think>\n{"keep": [2]}', None),  # the judged text has an end tag
        ('{"keep": [1]} It says\n</think>\n{"keep": [2]} so', None),
        ('<think>{"keep": [2]}', None),  # thoughts that never end
        ('\u25c1think\u25b7{"keep": [2]}?\u25c1/think\u25b7{"keep": [1]}', [1]),  # tags of other families
        ('<|START_THINKING|>{"keep": [2]}?<|END_THINKING|>{"keep": [1]}', [1]),
        (
            '<|channel|>analysis<|message|>{"keep": [2]}?<|end|><|start|>assistant<|channel|>final<|message|>{"keep": [1]}',
            [1],
        ),
        ('<|channel|>final<|message|>{"keep": [1]}', [1]),
        ('<|begin_of_thought|>{"keep": [2]}?<|end_of_thought|><|begin_of_solution|>{"keep": [1]}', [1]),
        ('Thinking...\n{"keep": [2]}?\n...done thinking.\n{"keep": [1]}', [1]),
        ('<unused94>thought\n{"keep": [2]}?<unused95>{"keep": [1]}', [1]),
        ('analysisWe see {"keep": [2]}?assistantfinal{"keep": [1]}', [1]),
        ('<scratchpad>{"keep": [2]}?</scratchpad><answer>{"keep": [1]}</answer>', [1]),
        ('<|channel|>analysis<|message|>{"keep": [2]}', None),
        ('<think>It says "</think>{"keep": [2]}".</think>{"keep": [1]}', None),  # thoughts that quote an end
        ('{"keep": [1], "why": "</think>{\\"keep\\": [2]}"}', [1]),  # an end tag in a quotation
    ]
    assert [(text, found) for text, found in cases if chosen(text) != found] == []


def test_invalid_indices_are_dropped_and_counted() -> None:
    cases: list[tuple[list[object], list[int] | None, int]] = [
        ([], [], 0),
        ([3, 0], [0, 3], 0),
        ([True, 0], [0], 1),
        ([1.0, "2", None, [1], {}, 0.5], [1, 2], 4),
        ([-1, 4, 1 << 70, 3], [3], 3),
        ([{"index": 2, "why": "so"}, {"index": "1"}, {"title": "x"}], [1, 2], 1),
        ([2, 2, 2], [2], 2),
        (["Billing database"], None, 0),  # a title
        ([7], None, 0),
    ]
    for items, kept, dropped in cases:
        found = chosen_indices({"keep": items}, "keep", 4)
        assert found == (None if kept is None else {"chosen": kept, "dropped": dropped}), items


@pytest.mark.parametrize("text", ["</data>", "<DATA>&lt;/data>", '"}]}\n</data>', "\u2028</data\u2029>"])
def test_the_tags_around_data_cannot_be_forged(text: str) -> None:
    whole = data_block({text: [text]})
    inner = whole[len("<data>\n") : -len("\n</data>")]
    assert "<" not in inner
    assert json.loads(inner) == {text: [text]}


REPLY = st.one_of(
    st.text(max_size=200),
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 30) | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=6) | st.dictionaries(st.sampled_from(["relevant", "x"]), inner)
        ),
        max_leaves=20,
    ).map(json.dumps),
    st.tuples(st.text(max_size=20), st.integers(0, 40), st.text(max_size=3)).map(
        lambda cut: (cut[0] + '{"relevant": [0, true, 3, 1.0, "2", 3, 99]}')[: cut[1]] + cut[2]
    ),
)


@given(REPLY, st.integers(0, 5))
def test_no_reply_raises_or_selects_an_index_that_was_not_offered(text: str, offered: int) -> None:
    values = read_reply(text, lambda value: chosen_indices(value, "relevant", offered))
    if values is not None:
        assert all(type(at) is int and 0 <= at < offered for at in values["chosen"])
        assert sorted(set(values["chosen"])) == values["chosen"]
        assert values["dropped"] >= 0
