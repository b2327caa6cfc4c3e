"""Folding and splitting into sentences: invisible characters, code and quotations."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.evaluation.rule_matching import MAX_SENTENCE, READS, fold_text, split_sentences


def test_one_spelling() -> None:
    cases = [
        ("You\u2019ve got it", "You've got it"),  # curly apostrophe
        ("k\u0456ll my\u200bself", "kill myself"),  # look-alike and zero width
        ("\uff39\uff4f\uff55", "You"),  # full width
        ("sui\u00adcide", "suicide"),  # soft hyphen
        (
            "\u043a\u043e\u0442 \u0441\u043f\u0438\u0442",
            "\u043a\u043e\u0442 \u0441\u043f\u0438\u0442",
        ),  # Russian stays Russian
    ]
    assert [(text, expected) for text, expected in cases if fold_text(text) != expected] == []


def test_split_sentences() -> None:
    cases = [
        ("One. Two!\nThree", "sentences", ["One.", "Two!", "Three"]),  # sentences
        ('He said "no. never" once', "sentences", ['He said "_" once']),  # a quotation is replaced
        ('"Yes." You go.', "sentences", ['"_".', "You go."]),  # a sentence ends within the quotation
        (
            'He said "no" once',
            "quotes",
            ['He said "no" once'],
        ),  # a quotation stays for rules that read quotations
        (
            'I ran `a b`, "no" `Say it now`',
            "code",
            ['I ran `a b`, "_" `_`'],
        ),  # code stays, prose in it is quoted
        ("One. Two", "whole", ["One. Two"]),  # a whole turn
        ("> quoted\nmine", "quotes", ["mine"]),  # quoted lines are removed
        ("a\n```\ncode. code\n```\nb", "quotes", ["a", "b"]),  # code is removed
        ("it's don't 'really, it isn't so' yes", "sentences", ["it's don't \"_\" yes"]),  # single quotes
    ]
    assert [
        (text, reads, expected) for text, reads, expected in cases if split_sentences(text, reads) != expected
    ] == []


@given(st.text(max_size=3000), st.sampled_from(READS))
def test_no_sentence_is_too_long(text: str, reads: str) -> None:
    assert all(0 < len(sentence) <= MAX_SENTENCE for sentence in split_sentences(text, reads))


@pytest.mark.parametrize("piece", ['"', "'", "`", "```\n", "> ", "a' ", ".", "\u201c"])
def test_hostile_text_is_split_in_time(piece: str) -> None:
    started = process_time()
    split_sentences(piece * (200_000 // len(piece)), "sentences")
    assert process_time() - started < 5
