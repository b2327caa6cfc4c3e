"""Confidence and pointer confidence: each model can keep a memory back, and none can bring it in alone."""

from __future__ import annotations

from math import log
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.fastjson import loads
from memory_plugin.recall.confidence import combine, wants_signals
from memory_plugin.recall.index_refresh import model as model_text
from memory_plugin.recall.query import Model
from tests.recall.test_signals import BILLING, MODEL, signals_of_match

SETTINGS = MODEL.confidence
ODDS = st.floats(-9, 9)
SHARES = st.floats(0.001, 0.999)


TWO_WORDS = {
    "missed": 0.5, "matched": log(1 + 2), "named": 0.0, "in_files": 1.0, "has_opening": 1.0, "opening_held": 0.0, "phrase": 0.0,
    "unasked": 0.0, "question": 0.0, "asks_what_holds": 0.0, "phrase_covered": 0.0, "title_covered": 0.6, "lacks_subject": 0.0,
    "lacks_known": 0.0, "best": 1.0, "shared": 2.0,
}  # fmt: skip


def combined(
    answers: float, wants: float, concerns: float, stands_out: float = 0.0, **changes: float
) -> tuple[float, float]:
    """Return confidence and pointer confidence for the outputs of the models, of a match with two words of a title."""
    outputs = {"answers": answers, "wants": wants, "concerns": concerns, "stands_out": stands_out}
    model: Any = SimpleNamespace(confidence=SETTINGS)
    return combine({**outputs, **TWO_WORDS, **changes}, model)


@given(answers=ODDS, wants=ODDS, concerns=SHARES)
def test_both_are_probabilities_and_a_pointer_needs_less(
    answers: float, wants: float, concerns: float
) -> None:
    confidence, pointer = combined(answers, wants, concerns)
    assert 0.0 <= confidence <= pointer <= 1.0


@given(answers=ODDS, wants=ODDS, concerns=SHARES, more=st.floats(0, 5))
def test_more_evidence_never_lowers_either(
    answers: float, wants: float, concerns: float, more: float
) -> None:
    before = combined(answers, wants, concerns)
    for after in (
        combined(answers + more, wants, concerns),
        combined(answers, wants + more, concerns),
        combined(answers, wants, min(0.9999, concerns * (1 + more))),
    ):
        assert after[0] >= before[0] - 1e-12
        assert after[1] >= before[1] - 1e-12


@pytest.mark.parametrize(
    ("answers", "wants", "concerns", "injected", "named"),
    [
        pytest.param(1.0, 3.0, 0.9, True, True, id="all say so"),
        pytest.param(-1.0, 3.0, 0.9, False, True, id="the memory is plausible"),
        pytest.param(-4.0, 3.0, 0.9, False, False, id="the memory is not"),
        pytest.param(-1.0, -1.0, 0.9, False, False, id="the prompt wants nothing"),
        pytest.param(3.0, -3.0, 0.9, False, False, id="a good match for a prompt that wants nothing"),
        pytest.param(3.0, 3.0, 0.001, False, True, id="a prompt about something else"),
    ],
)
def test_each_model_can_keep_a_memory_back(
    answers: float, wants: float, concerns: float, *, injected: bool, named: bool
) -> None:
    confidence, pointer = combined(answers, wants, concerns)
    assert (confidence >= 0.5, pointer >= 0.5) == (injected, named)


@pytest.mark.parametrize(
    ("answers", "concerns", "stands_out", "injected"),
    [
        pytest.param(-0.4, 0.95, 0.9, True, id="ahead of the others, and plausible"),
        pytest.param(-3.0, 0.95, 0.9, False, id="ahead, but the trees object"),
        pytest.param(-0.4, 0.2, 0.9, False, id="ahead in a store about something else"),
        pytest.param(-0.4, 0.95, 0.1, False, id="not ahead"),
    ],
)
def test_a_memory_that_stands_out_needs_less(
    answers: float, concerns: float, stands_out: float, *, injected: bool
) -> None:
    assert (combined(answers, 2.0, concerns, stands_out)[0] >= 0.5) is injected


@pytest.mark.parametrize(
    ("answers", "wants", "with_phrases", "plain"),
    [
        pytest.param(-0.1, 5.0, True, False, id="a wish, and a match that is a little weak"),
        pytest.param(0.5, 1.5, False, True, id="a match, and a wish that is a little weak"),
    ],
)
def test_phrases_ease_the_match_and_their_absence_the_wish(
    answers: float, wants: float, *, with_phrases: bool, plain: bool
) -> None:
    found = [combined(answers, wants, 0.95, unasked=unasked)[0] >= 0.5 for unasked in (0.0, 1.0)]
    assert found == [with_phrases, plain]


@pytest.mark.parametrize(
    ("named", "in_files", "injected"),
    [
        pytest.param(1.0, 1.0, True, id="its file"),
        pytest.param(1.0, 0.0, False, id="a name in its text"),
        pytest.param(0.0, 1.0, False, id="a word of its file"),
    ],
)
def test_a_memory_whose_file_is_named_needs_even_less(
    named: float, in_files: float, *, injected: bool
) -> None:
    assert (combined(-1.2, 0.0, 0.95, 0.9, named=named, in_files=in_files)[0] >= 0.5) is injected


def test_two_words_without_the_heaviest_do_not_stand_out() -> None:
    assert combined(-0.4, 2.0, 0.95, 0.9, missed=1.0)[0] < 0.5


@pytest.mark.parametrize(
    ("changes", "injected"),
    [
        pytest.param({}, False, id="the title alone"),
        pytest.param({"opening_held": 1.0}, True, id="the first sentence, too"),
        pytest.param({"phrase": 1.0}, True, id="a phrase, too"),
        pytest.param({"has_opening": 0.0}, True, id="all that it says"),
        pytest.param({"question": 1.0}, True, id="a question"),
        pytest.param({"question": 1.0, "matched": log(1 + 1)}, False, id="a question with one word"),
        pytest.param({"missed": 0.9, "matched": log(1 + 1)}, False, id="one word"),
        pytest.param({"named": 1.0, "matched": log(1 + 1)}, True, id="one name"),
        pytest.param({"asks_what_holds": 1.0}, True, id="a wish to know"),
        pytest.param({"missed": 0.5}, True, id="the heaviest word"),
        pytest.param({"named": 1.0}, True, id="a name"),
        pytest.param({"matched": log(1 + 3)}, True, id="three words"),
    ],
)
def test_two_words_of_a_title_are_not_enough(changes: dict[str, float], *, injected: bool) -> None:
    assert (combined(2.0, 4.0, 0.95, **{"missed": 1.0, **changes})[0] >= 0.5) is injected


OTHER = {"lacks_subject": 1.0}


@pytest.mark.parametrize(
    ("changes", "injected", "named"),
    [
        pytest.param({}, True, True, id="the same subject"),
        pytest.param(OTHER, False, True, id="another subject, of which the store knows nothing"),
        pytest.param({**OTHER, "lacks_known": 2.0}, False, False, id="another memory has the subject"),
        pytest.param({**OTHER, "lacks_known": 0.5}, False, True, id="another memory has a lesser word"),
        pytest.param({"lacks_subject": 0.7, "lacks_known": 2.0}, True, True, id="the missing word is minor"),
        pytest.param({**OTHER, "named": 1.0}, True, True, id="a name"),
        pytest.param({**OTHER, "shared": 4.0}, True, True, id="more than a frame"),
        pytest.param({**OTHER, "phrase_covered": 0.5}, True, True, id="half of a phrase"),
        pytest.param({**OTHER, "title_covered": 0.1}, True, True, id="matched outside the title"),
        pytest.param({**OTHER, "title_covered": 0.3, "asks_what_holds": 1.0}, True, True, id="a question"),
    ],
)
def test_a_frame_without_the_subject_is_not_enough(
    changes: dict[str, float], *, injected: bool, named: bool
) -> None:
    confidence, pointer = combined(2.0, 4.0, 0.95, **changes)
    assert (confidence >= 0.5, pointer >= 0.5) == (injected, named)


def test_below_the_threshold_a_prompt_about_something_else_is_farther_from_it() -> None:
    near, far = combined(-0.5, 3.0, 0.9)[0], combined(-0.5, 3.0, 0.2)[0]
    assert far < near / 3


def test_no_match_wants_nothing_special() -> None:
    assert wants_signals({"words": 1.0}, []) == {
        "words": 1.0, "most_phrase": 0.0, "most_covered": 0.0, "most_strong": 0.0, "most_title_covered": 0.0, "most_soft": 0.0,
        "most_pairs": 0.0, "most_concerns": 0.0, "least_missed": 1.0, "first": 0.0, "second": 0.0, "third": 0.0, "together": 0.0,
    }  # fmt: skip


def _answers(**changes: float) -> float:
    signals = dict.fromkeys(MODEL.answers.signals, 0.0)
    signals.update(
        {
            name: value
            for name, value in signals_of_match(
                "bill databas", BILLING, title="bill databas", body="x"
            ).items()
            if name in signals
        }
    )
    return MODEL.answers.log_odds({**signals, **changes})


@pytest.mark.parametrize(
    "name",
    [
        "phrase",
        "phrase_covered",
        "covered",
        "title_covered",
        "opening_covered",
        "pairs",
        "named",
        "unlikely",
        "asks_what_holds",
    ],
)
def test_more_of_a_good_sign_never_makes_it_less_sure(name: str) -> None:
    values = [_answers(**{name: step / 4}) for step in range(41)]
    assert values == sorted(values)


@pytest.mark.parametrize("name", ["missed", "session", "chore"])
def test_more_of_a_bad_sign_never_makes_it_surer(name: str) -> None:
    values = [_answers(**{name: step / 4}) for step in range(41)]
    assert values == sorted(values, reverse=True)


def test_the_shipped_models_take_signals_that_exist() -> None:
    shared = {name for name in MODEL.wants.signals if not name.startswith(("most_", "least_"))} - {
        "first",
        "second",
        "third",
        "together",
    }
    known = set(signals_of_match("bill", BILLING[:1], title="bill")) | {
        "unlikely",
        "asked",
        "contrast",
        "known",
        "seen",
        "session",
        "words",
    }
    assert (set(MODEL.answers.signals) | shared) <= known | set(Model(loads(model_text())).intents)
