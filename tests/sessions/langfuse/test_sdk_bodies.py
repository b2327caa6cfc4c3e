"""Request bodies fit the models of Langfuse's own library. Skipped unless it is installed: `pip install -e .[test,sdk]`."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from memory_plugin.sessions.langfuse import Body, score_bodies, score_configs
from memory_plugin.sessions.rows import latest_rows
from tests.sessions.bench import Bench


def models() -> Any:  # noqa: ANN401 (another project's module)
    """Return the module with the models of Langfuse's API."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("langfuse.api", reason="the extra `sdk` is not installed")


def assert_fits(model: Any, body: Body) -> None:  # noqa: ANN401
    """Fail unless a model accepts a body and has all its fields; Langfuse's models would let unknown fields pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        core = pytest.importorskip(
            "langfuse.api.core.pydantic_utilities", reason="the extra `sdk` is not installed"
        )
        parsed = core.parse_obj_as(model, body)
    assert not getattr(parsed, "model_extra", None), parsed.model_extra


def scores(graded: Bench) -> list[Body]:
    """Return the scores of one graded session."""
    scorer = graded.scorer
    return score_bodies(next(iter(latest_rows(scorer.paths).values())))


def test_scores_fit_langfuses_model(graded: Bench) -> None:
    sent = scores(graded)
    assert len(sent) == 7
    for body in sent:
        assert_fits(models().CreateScoreRequest, {**body, "configId": "c1"})


def test_configs_fit_langfuses_model() -> None:
    for name, config in score_configs().items():
        assert config["name"] == name
        assert_fits(models().CreateScoreConfigRequest, config)


def test_a_field_that_langfuse_does_not_know_is_found(graded: Bench) -> None:
    with pytest.raises((AssertionError, ValueError)):
        assert_fits(models().CreateScoreRequest, {**scores(graded)[0], "novel": 1})
