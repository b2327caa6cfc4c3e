"""Folding and splitting into sentences: invisible characters, code and quotations."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation.rule_matching import MAX_SENTENCE, READS, fold_text, split_sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("You\u2019ve got it", "You've got it", id="curly apostrophe"),
        pytest.param("k\u0456ll my\u200bself", "kill myself", id="look-alike and zero width"),
        pytest.param("\uff39\uff4f\uff55", "You", id="full width"),
        pytest.param("sui\u00adcide", "suicide", id="soft hyphen"),
        pytest.param(
            "\u043a\u043e\u0442 \u0441\u043f\u0438\u0442",
            "\u043a\u043e\u0442 \u0441\u043f\u0438\u0442",
            id="Russian stays Russian",
        ),
    ],
)
def test_one_spelling(text: str, expected: str) -> None:
    assert fold_text(text) == expected


@pytest.mark.parametrize(
    ("text", "reads", "expected"),
    [
        pytest.param("One. Two!\nThree", "sentences", ["One.", "Two!", "Three"], id="sentences"),
        pytest.param(
            'He said "no. never" once', "sentences", ['He said "_" once'], id="a quotation is replaced"
        ),
        pytest.param(
            '"Yes." You go.', "sentences", ['"_".', "You go."], id="a sentence ends within the quotation"
        ),
        pytest.param(
            'He said "no" once',
            "quotes",
            ['He said "no" once'],
            id="a quotation stays for rules that read quotations",
        ),
        pytest.param(
            'I ran `a b`, "no" `Say it now`',
            "code",
            ['I ran `a b`, "_" `_`'],
            id="code stays, prose in it is quoted",
        ),
        pytest.param("One. Two", "whole", ["One. Two"], id="a whole turn"),
        pytest.param("> quoted\nmine", "quotes", ["mine"], id="quoted lines are removed"),
        pytest.param("a\n```\ncode. code\n```\nb", "quotes", ["a", "b"], id="code is removed"),
        pytest.param(
            "it's don't 'really, it isn't so' yes", "sentences", ["it's don't \"_\" yes"], id="single quotes"
        ),
    ],
)
def test_split_sentences(text: str, reads: str, expected: list[str]) -> None:
    assert split_sentences(text, reads) == expected


@given(st.text(max_size=3000), st.sampled_from(READS))
def test_no_sentence_is_too_long(text: str, reads: str) -> None:
    assert all(0 < len(sentence) <= MAX_SENTENCE for sentence in split_sentences(text, reads))


@pytest.mark.parametrize("piece", ['"', "'", "`", "```\n", "> ", "a' ", ".", "\u201c"])
def test_hostile_text_is_split_in_time(piece: str) -> None:
    started = process_time()
    split_sentences(piece * (200_000 // len(piece)), "sentences")
    assert process_time() - started < 5
