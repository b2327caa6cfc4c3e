"""The block: full texts, then titles, within the budget as the host counts it; and the receipt for the user."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.recall.decision import Budget, estimated_tokens, pointer_line, receipt, render
from memory_plugin.recall.ranking import Hit
from tests.recall import memories


def hit(text: str, title: str = "title", name: str = "id") -> Hit:
    """Return a hit that would inject this text."""
    return memories.hit("key", 1.0, title=title, text=text, name=name)


def units(text: str) -> int:
    """Return the length in JavaScript."""
    return len(text.encode("utf-16-le")) // 2


def test_nothing_makes_no_block() -> None:
    assert render([], [], with_header=True) == ""


def test_a_block_has_the_header_once() -> None:
    hits = [hit("<memory>one</memory>"), hit("<memory>two</memory>")]
    first, later = render(hits, [], with_header=True), render(hits, [], with_header=False)
    assert first.startswith("<memory-context>\n")
    assert first.endswith("\n<memory>one</memory>\n<memory>two</memory>\n</memory-context>")
    assert "Follow a constraint or preference" in first
    assert later == "<memory-context>\n<memory>one</memory>\n<memory>two</memory>\n</memory-context>"


def test_pointers_come_after_the_full_texts() -> None:
    pointers = ["staging-reset: Staging is reset every night at 03:00", "Other"]
    assert render([hit("<memory>one</memory>")], pointers, with_header=False) == (
        "<memory-context>\n<memory>one</memory>\n<memory-titles>\nPossibly related: memory show ID or TITLE\n"
        "staging-reset: Staging is reset every night at 03:00\nOther\n</memory-titles>\n</memory-context>"
    )


@pytest.mark.parametrize(
    ("title", "line"),
    [
        ("</memory-titles><memory id='x'>", "id: &lt;/memory-titles>&lt;memory id='x'>"),
        ("one\nother-id: forged\r\u2028line", "id: one other-id: forged line"),
        ("a && b > c < d", "id: a && b > c < d"),
    ],
    ids=["tags", "lines", "command"],
)
def test_a_title_can_forge_neither_a_tag_nor_a_line(title: str, line: str) -> None:
    assert pointer_line(hit("", title))[0] == line


TITLE = "Rotate the tokens"
POINTERS: dict[str, tuple[str, str, tuple[str, bool]]] = {
    "title and first sentence": ("Every quarter. Then tell ops.", "id", ("id: Rotate the tokens. Every quarter.", False)),
    "all that it says": ("Every quarter", "id", ("id: Rotate the tokens. Every quarter", True)),
    "the id begins the title": ("Every quarter", "rotate-the", ("Rotate the tokens. Every quarter", True)),
    "several lines": ("Every quarter\nTell ops", "id", ("id: Rotate the tokens. Every quarter", False)),
    "a text that repeats the title": ("Rotate the tokens each month. Tell ops.", "id", ("id: Rotate the tokens each month.", False)),
    "the title alone": (TITLE, "id", ("id: Rotate the tokens", True)),
    "files": ("Every quarter\nFiles: a.py", "id", ("id: Rotate the tokens. Every quarter", False)),
    "more": ("Every quarter\nMore: memory show ID", "id", ("id: Rotate the tokens. Every quarter", False)),
    "cut at a word": ("word " * 60, "id", ("id: Rotate the tokens. " + "word " * 35 + "\u2026", False)),
}  # fmt: skip


@pytest.mark.parametrize("name", POINTERS)
def test_a_pointer_says_its_point(name: str) -> None:
    text, identity, expected = POINTERS[name]
    lines = [text] if text.startswith(TITLE) else [TITLE, text]
    line, is_all = pointer_line(hit("\n".join(["<memory>", *lines, "</memory>"]), TITLE, identity))
    assert (line, is_all) == (expected[0].replace(" \u2026", "\u2026"), expected[1])


def test_a_title_that_the_catalog_lists_is_not_said_again() -> None:
    told = hit("<memory>\nRotate the tokens\nEvery quarter\n</memory>", TITLE)
    assert pointer_line(told, is_listed=True)[0] == "id: Every quarter"
    assert pointer_line(hit("", TITLE), is_listed=True)[0] == "id: Rotate the tokens"


def test_a_memory_that_does_not_fit_is_omitted_and_the_next_may_fit() -> None:
    budget = Budget(400, 9000, with_header=True)
    assert [budget.take(text) for text in ("a" * 400, "b" * 4000, "c" * 400)] == [True, False, True]


def test_the_header_takes_room_only_where_it_is_rendered() -> None:
    text = "a" * 380
    assert not Budget(110, 9000, with_header=True).take(text)
    assert Budget(110, 9000, with_header=False).take(text)


@given(
    texts=st.lists(st.text(max_size=1200), max_size=6),
    titles=st.lists(st.text(max_size=120), max_size=6),
    tokens=st.integers(min_value=100, max_value=2500),
    characters=st.integers(min_value=500, max_value=9500),
    with_header=st.booleans(),
)
def test_the_block_never_exceeds_the_budget(
    texts: list[str], titles: list[str], tokens: int, characters: int, with_header: bool
) -> None:
    budget = Budget(tokens, characters, with_header=with_header)
    full = [one for one in map(hit, texts) if budget.take(one.injection_text)]
    pointed = [
        line for line in (pointer_line(hit("", title))[0] for title in titles) if budget.take_pointer(line)
    ]
    text = render(full, pointed, with_header=with_header)
    assert units(text) <= characters
    assert estimated_tokens(text) <= tokens + len(texts) + len(titles) + 1


@pytest.mark.parametrize("text", ["\U0001f600" * 5000, "\U00020000" * 5000])
def test_the_length_counts_as_the_host_counts(text: str) -> None:
    assert not Budget(100_000, 9500, with_header=True).take(text)


@pytest.mark.parametrize(
    ("text", "least", "most"), [("", 1, 1), ("word " * 100, 100, 140), ("計" * 100, 60, 120)]
)
def test_tokens_are_estimated_by_script(text: str, least: int, most: int) -> None:
    assert least <= estimated_tokens(text) <= most


LONG = "Every migration of the billing database needs a second pair of eyes before it is applied"
RECEIPTS = {
    "one": (["A b"], [], "injected", 'memory: showed Claude "A b"'),
    "one, long": ([LONG], [], "injected", 'memory: showed Claude "%s"' % LONG),
    "two": (["A", "B"], [], "injected", 'memory: showed Claude "A" and "B"'),
    "two, one long": (
        [LONG, LONG],
        [],
        "injected",
        'memory: showed Claude "Every migration of the billing database needs a\u2026" and "%s"'
        % "Every migration of the billing database needs a\u2026",
    ),
    "two that fit": ([LONG, "B"], [], "injected", 'memory: showed Claude "%s" and "B"' % LONG),
    "four": (["A", "B", "C", "D"], [], "injected", 'memory: showed Claude "A", "B" and 2 more'),
    "pointers are not said": ([], ["P"], "injected", ""),
    "pointers": ([], ["P"], "all", 'memory: showed Claude the title "P"'),
    "both": (["A"], ["P", "Q"], "all", 'memory: showed Claude "A" and the titles "P" and "Q"'),
    "off": (["A"], ["P"], "off", ""),
    "an unknown choice": (["A"], ["P"], "", ""),
    "nothing": ([], [], "all", ""),
    "control characters": (
        ["\x1b[31mred\x07\nline\u202e"],
        [],
        "injected",
        'memory: showed Claude "[31mred line"',
    ),
    "quotes": (['say "hi"'], [], "injected", "memory: showed Claude \"say 'hi'\""),
}


@pytest.mark.parametrize("name", RECEIPTS)
def test_the_receipt_is_one_short_line(name: str) -> None:
    full, pointed, which, line = RECEIPTS[name]
    said = receipt([hit("", title) for title in full], [hit("", title) for title in pointed], which)
    assert said == line
    assert said.isprintable()
