"""Both confidences: made of three answers, each of which can keep a memory back, and none of which can push one forward alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.native import loads
from memory_plugin.recall.confidence import both, wants_signals
from memory_plugin.recall.index.config import model as model_text
from memory_plugin.recall.model import Model
from tests.recall.test_signals import BILLING, MODEL, said

SETTINGS = MODEL.confidence
ODDS = st.floats(-9, 9)
SHARES = st.floats(0.001, 0.999)


@given(answers=ODDS, wants=ODDS, concerns=SHARES)
def test_both_are_shares_and_a_pointer_is_easier(answers: float, wants: float, concerns: float) -> None:
    confidence, pointer = both(answers, wants, concerns, SETTINGS)
    assert 0.0 <= confidence <= pointer <= 1.0


@given(answers=ODDS, wants=ODDS, concerns=SHARES, more=st.floats(0, 5))
def test_more_evidence_never_lowers_either(answers: float, wants: float, concerns: float, more: float) -> None:
    before = both(answers, wants, concerns, SETTINGS)
    for after in (
        both(answers + more, wants, concerns, SETTINGS),
        both(answers, wants + more, concerns, SETTINGS),
        both(answers, wants, min(0.9999, concerns * (1 + more)), SETTINGS),
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
def test_each_answer_can_keep_a_memory_back(answers: float, wants: float, concerns: float, *, injected: bool, named: bool) -> None:
    confidence, pointer = both(answers, wants, concerns, SETTINGS)
    assert (confidence >= 0.5, pointer >= 0.5) == (injected, named)


def test_below_the_threshold_a_prompt_about_something_else_is_farther_from_it() -> None:
    near, far = both(-0.5, 3.0, 0.9, SETTINGS)[0], both(-0.5, 3.0, 0.2, SETTINGS)[0]
    assert far < near / 3


def test_no_match_wants_nothing_special() -> None:
    assert wants_signals({"words": 1.0}, []) == {
        "words": 1.0, "most_phrase": 0.0, "most_covered": 0.0, "most_strong": 0.0, "most_title_covered": 0.0, "most_soft": 0.0,
        "most_pairs": 0.0, "most_concerns": 0.0, "least_missed": 1.0, "first": 0.0, "second": 0.0, "third": 0.0, "together": 0.0,
    }  # fmt: skip


def _answers(**changes: float) -> float:
    signals = dict.fromkeys(MODEL.answers.signals, 0.0)
    signals.update({name: value for name, value in said("bill databas", BILLING, title="bill databas", body="x").items() if name in signals})
    return MODEL.answers.log_odds({**signals, **changes})


@pytest.mark.parametrize("name", ["phrase", "phrase_covered", "covered", "title_covered", "pairs", "named", "unlikely", "asks_what_holds"])
def test_more_of_a_good_sign_never_makes_it_less_sure(name: str) -> None:
    values = [_answers(**{name: step / 4}) for step in range(41)]
    assert values == sorted(values)


@pytest.mark.parametrize("name", ["missed", "session", "chore"])
def test_more_of_a_bad_sign_never_makes_it_surer(name: str) -> None:
    values = [_answers(**{name: step / 4}) for step in range(41)]
    assert values == sorted(values, reverse=True)


def test_the_shipped_models_take_signals_that_exist() -> None:
    shared = {name for name in MODEL.wants.signals if not name.startswith(("most_", "least_"))} - {"first", "second", "third", "together"}
    known = set(said("bill", BILLING[:1], title="bill")) | {"unlikely", "asked", "contrast", "known", "seen", "session", "words"}
    assert (set(MODEL.answers.signals) | shared) <= known | set(Model(**loads(model_text())).intents)  # type: ignore[arg-type]
