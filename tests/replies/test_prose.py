"""Prose: folding to one spelling, words with their positions and levels, and what is masked."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.replies.prose import (
    BREAK,
    INSIDE,
    LINE,
    MASK,
    REPLY,
    SENTENCE,
    FoldedText,
    Prose,
    mask,
)


def test_fold_gives_one_spelling() -> None:
    cases = [
        ("You\u2019RE", "you're"),  # curly apostrophe
        ("e\u0301te\u0301", "ete"),  # combining marks
        ("Cer\u200btain\u00adly", "certainly"),  # zero width and soft hyphen
        ("a\u2014b\u2013c", "a\u2014b\u2014c"),  # dashes
        ("\u2705 ok", "  ok"),  # symbols
        ("\u597d\u3002", "\u597d."),  # Chinese letters stay, the full stop is folded
        ("a\r\nb", "a \nb"),  # line ends
        ("\u0130x", "\u0130x"),  # a capital that grows in lower case
        ("a\x00\x01b", "a  b"),  # our own marks in a text
    ]
    assert [(text, folded) for text, folded in cases if FoldedText(text).text != folded] == []


@given(st.text())
def test_every_folded_character_has_one_original(text: str) -> None:
    folded = FoldedText(text)
    assert len(folded.text) <= len(text)
    last = -1
    for at in range(len(folded.text)):
        start, end = folded.original_span(at, at + 1)
        assert last < start < end <= len(text)
        assert end - start == 1
        last = start


@given(st.text(alphabet="ab \u200b\u0301\u00adC", max_size=60))
def test_offsets_lead_to_the_same_letter_in_the_original(text: str) -> None:
    folded = FoldedText(text)
    assert [text[folded.original_offset(at)].lower() for at in range(len(folded.text))] == list(folded.text)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("one two", [REPLY, INSIDE]),
        ("one. two", [REPLY, SENTENCE]),
        ("one, two", [REPLY, INSIDE]),
        ("one.\ntwo", [REPLY, LINE]),
        ("one\ntwo", [REPLY, INSIDE]),
        ("one\n\ntwo", [REPLY, LINE]),
        ("one\n- two", [REPLY, LINE]),
        ("one\n# two", [REPLY, LINE]),
        ("**one!** two", [REPLY, SENTENCE]),
        ("one:\ntwo", [REPLY, LINE]),
    ],
)
def test_levels(text: str, levels: list[int]) -> None:
    prose = Prose(text)
    assert [prose.boundary(number) for number in range(len(prose))] == levels


def test_a_masked_passage_is_one_word() -> None:
    assert Prose("a `b c` d").words == ["a", BREAK, "d"]


def test_next_sign() -> None:
    cases = [
        ("one! x", "!"),
        ("**one**, x", ","),
        ("one", ""),
        ("one\nx", "\n"),
        ("one (x)", "("),
        ("one `x`", " "),
    ]
    assert [(text, sign) for text, sign in cases if Prose(text).next_sign(0) != sign] == []


@given(st.text(max_size=300))
def test_starts_are_in_order_and_match_the_words(text: str) -> None:
    prose = Prose(text)
    assert len(prose.words) == len(prose.starts) == len(prose)
    last = 0
    for number, (word, start) in enumerate(zip(prose.words, prose.starts)):
        end = prose.end(number)
        assert INSIDE <= prose.boundary(number) <= REPLY
        assert last <= start < end <= len(prose.masked)
        assert prose.masked[start:end] == word
        last = end
        prose.folded.original_span(start, end)


MASKED = [
    "```\ngreat!\n```",  # fenced
    "~~~~\ngreat!\n~~~\ngreat!\n~~~~",  # a longer fence
    "```python\ngreat!",  # a fence never closed
    "  ```\n  great!\n  ```",  # indented fence
    "say `great!` x",  # code in a line
    "say ``a ` great!`` x",  # code with a backtick inside
    "> great!",  # block quote
    "| great! | x |",  # table
    'it prints "great!" twice',  # straight quotes
    "it prints \u201cgreat!\u201d twice",  # curly quotes
    "it prints \u00abgreat!\u00bb twice",  # guillemets
    "\u300cgreat!\u300d",  # corner brackets
    "it prints 'great!' twice",  # single quotes
    "see https://x.y/great!",  # URL
    "see src/great!.py",  # path
    r"see C:\great!",  # Windows path
    "a\n**subject:** a talk\n\ngreat!\n\ncheers\nada",  # a letter from its subject on
    "a\nhi [name],\n\ngreat!\n\nbest regards,",  # a letter from its salutation on
    "a\nhello ada,\n\ngreat!\n\n### translation",  # a letter up to a heading
]
PROSE = [
    "great! `x",  # a backtick alone
    'a 6" pipe is great! 7" too',  # inches
    "don't say that's great!",  # apostrophes
    "the users' great! idea",  # possessive
    "```\nx\n```\ngreat!",  # after a fence
    "great! and/or x",  # two words with a slash
    "``` a ` b ``` great!",  # backticks that open no fence
    "a\nhi ada,\n\ngreat!\n\nthe best host is b.",  # a salutation without a closing
    "hi ada,\n\ngreat!\n\n## hosts",  # a salutation of the reply itself
]


def test_text_that_is_not_prose_is_masked() -> None:
    assert [text for text in MASKED if "great" in mask(text)] == []


def test_prose_is_not_masked() -> None:
    assert [text for text in PROSE if "great" not in mask(text)] == []


@given(st.text(alphabet="ab `~\"'>|\n\u201c\u201d/\\.", max_size=200))
def test_offsets_stay_the_same(text: str) -> None:
    masked = mask(text)
    assert len(masked) == len(text)
    assert all(new in (old, " ", MASK) for old, new in zip(text, masked))
    assert [at for at, c in enumerate(text) if c == "\n"] == [at for at, c in enumerate(masked) if c == "\n"]


@pytest.mark.parametrize("piece", ["`", "`` ` ``` ", '"', "'a ", "\u201c", "```\n", "a/b/c ", "> > ", "|"])
@pytest.mark.slow
def test_masking_takes_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        mask(text)
        return time.process_time() - start

    small, large = min(seconds(40_000) for _ in range(3)), seconds(400_000)
    assert large < 40 * small + 0.2
