"""Signals of a reply: filler, density, words before the answer, and why a reply is not scored."""

from __future__ import annotations

import time
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import load_data
from tests.replies.builders import PADDED, PLAIN, filler_phrases, measure
from tests.rows import every

LEADS = load_data("replies", "preamble")["leads"]


def test_filler() -> None:
    cases = [
        ("Great! It works.", ["Great"]),  # an opener
        ("Done.\n\nPerfect! Next.", ["Perfect"]),  # an opener of a paragraph
        ("It works. Great.", []),  # not inside a paragraph
        ("Ensure that it works, uncertainly or not.", []),  # not inside a word
        ("A perfect square is great for it.", []),  # another sense
        ("Oh, great! Good catch!", ["great", "Good catch"]),  # one opener after another
        ("You\u2019re absolutely right!", ["You\u2019re absolutely right"]),  # a curly apostrophe
        ("Cer\u200btainly! x", ["Cer\u200btainly"]),  # zero width inside
        ("Avoid openers such as Great question! in replies.", []),  # a cue before it
        ('The phrase "Let me know if" is filler.', []),  # quoted
        ("```\nGreat question!\n```\nIt prints that.", []),  # code
        ("Which of the two should I delete?", []),  # a question that is needed
        ("Want me to commit this?", []),  # one named next step
        ("You're right, line 40 still used the old name.", []),  # a plain acknowledgement
        (
            "I hope this helps! Let me know how it goes!",
            ["I hope this helps", "Let me know how it goes"],
        ),  # two closers
    ]
    assert [(text, found) for text, found in cases if filler_phrases(text) != found] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("\u200b\u200b", "empty"),
        ("\U0001f680\U0001f680", "empty"),
        ("```\nx = 1\n```", "code_only"),
        ("Done.", "too_short"),
        (
            "\u4e0b\u9762\u7ed9\u51fa\u6539\u8fdb\u540e\u7684\u5b8c\u6574\u4ee3\u7801 Python " * 4,
            "other_script",
        ),
        (
            "\u0647\u0630\u0627 \u0646\u0635 \u0628\u0627\u0644\u0644\u063a\u0629 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 "
            * 4,
            "other_script",
        ),
        ("\u05d6\u05d4 \u05d8\u05e7\u05e1\u05d8 \u05d1\u05e2\u05d1\u05e8\u05d9\u05ea " * 5, "other_script"),
        ("\u042d\u0442\u043e \u0442\u0435\u043a\u0441\u0442 " * 8, "other_script"),
        ("Segue aqui uma explica\u00e7\u00e3o completa sobre esta fun\u00e7\u00e3o. " * 8, "other_language"),
        ("Der Port ist 80, und der Proxy fragt alle zehn Sekunden nach.", "other_language"),
        ("Voici le port : il est lu dans la configuration, et le serveur tourne.", "other_language"),
        ("Listo, el puerto es 80 y los datos se guardan en la tabla.", "other_language"),
        ("Die size, wafer map, MIT license, GPU clock, cache, bus width, yield.", ""),
        (PLAIN, ""),
    ],
)
def test_reason_for_no_density(text: str, why: str) -> None:
    signals = measure(text)
    assert signals.unscored == why
    assert (signals.density is None) == bool(why)


def test_density_is_content_words_over_words() -> None:
    assert measure("The port is open and the host runs a listener for it now").density == 0.385  # 5 of 13


def test_composed_and_decomposed_letters_score_the_same() -> None:
    text = PADDED + " The na\u00efve caf\u00e9 r\u00e9sum\u00e9 is there."
    composed, decomposed = (measure(unicodedata.normalize(form, text)) for form in ("NFC", "NFD"))
    assert composed.density == decomposed.density
    assert len(composed.matches) == len(decomposed.matches) == 3


def test_filler_inside_a_draft_does_not_count() -> None:
    letter = (
        "Here is the letter.\n\nDear Ms Ode,\n\nI hope this helps. Thank you for your patience.\n\nYours, Al"
    )
    assert filler_phrases(letter, drafting=True) == []
    assert filler_phrases(
        "Sure! Here it is.\n\nThank you for waiting.\n\nLet me know if it fits.", drafting=True
    ) == [
        "Sure",
        "Let me know if it fits",
    ]


def test_preamble() -> None:
    cases = [
        ("The port is 80.", 0),
        ("Perfect! The port is 80.", 1),
        ("You're absolutely right! The port is 80.", 3),
        ("Good question. Let me analyze what this test does. The port is 80.", 9),
        ("Sure! To create a link in Linux, you can use ln.", 7),
        ("## Summary\n\nHere is the plan:\n\n1. Stop.", 4),
        ("Done. Here's a summary of all changes:\n\n- a", 0),
        ("All 44 tests pass.", 0),
        ("Let me check the file.", 5),
        ("Here's how `x` is set in `y`:\n\n```\nz\n```", 7),
        ("Looking at the log, two hosts fail.", 4),
        ("", 0),
        ("```\nx\n```", 0),
    ]
    assert [(text, words) for text, words in cases if measure(text).preamble != words] == []


@pytest.mark.parametrize("lead", LEADS, ids=lambda lead: lead["id"])
def test_examples_of_a_lead(lead: dict[str, Any]) -> None:
    assert [text for text in lead["hit"] if measure(text).preamble == 0] == []
    assert [text for text in lead["miss"] if measure(text).preamble > 0] == []


@given(st.text(max_size=400))
def test_matches_are_ordered_and_disjoint_for_any_text(text: str) -> None:
    last = 0
    signals = measure(text)
    for match in signals.matches:
        assert last <= match.start < match.end <= len(text)
        last = match.end
    assert signals.preamble >= 0
    assert signals.density is None or 0 <= signals.density <= 1


@given(
    st.lists(
        st.sampled_from(
            [
                "Great! ",
                "let me know if ",
                "you're ",
                "absolutely right. ",
                "I hope ",
                "this helps ",
                "\n\n",
                "`x` ",
            ]
        ),
        max_size=40,
    )
)
def test_matches_never_overlap(parts: list[str]) -> None:
    matches = measure("".join(parts)).matches
    assert all(match.end <= following.start for match, following in zip(matches, matches[1:]))


HOSTILE = {
    "openers": "Great! ",
    "fences": "```\n",
    "nested quotes": "\"'\u201c ",
    "nested block quotes": "> > > ",
    "half phrases": "i am so sorry to ",
    "half offers": "if you have ",
    "zero width": "a\u200b",
    "marks": "e\u0301 ",
    "line feeds": "\n",
    "Chinese": "\u597d",
    "backticks": "`` ` ``` ",
}


def _processor_time(text: str) -> float:
    start = time.process_time()
    measure(text)
    return time.process_time() - start


@pytest.mark.parametrize(
    "piece", every(16, (pytest.param(piece, id=name) for name, piece in HOSTILE.items()))
)
def test_a_hostile_text_takes_time_in_proportion_to_its_length(piece: str) -> None:
    short, long = (piece * (size // len(piece)) for size in (12_500, 125_000))
    for _ in range(3):  # a machine with other work on it may disturb a round
        short_time, long_time = _processor_time(short), _processor_time(long)
        if long_time < 20 * short_time + 0.1:
            break
    assert long_time < 20 * short_time + 0.1
