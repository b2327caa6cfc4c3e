"""Requests against the types of the vendors' own libraries: `pip install -e .[test,sdk]`; skipped without them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from memory_plugin.kernel.context import Deadline
from tests.json_server import Response
from tests.kernel.judge.bench import Bench
from tests.kernel.judge.strict.plugin_questions import QUESTIONS
from tests.kernel.judge.strict.server import StrictServer
from tests.kernel.judge.test_strict_vendors import DEFAULTS, MODELS, judged, model_for

MakeBench = Callable[..., Bench]


def library(name: str) -> Any:  # noqa: ANN401 (another project's module)
    """Return a module of an SDK, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason="the extra `sdk` is not installed")


class Recorder(StrictServer):
    """A strict server that keeps what it was sent."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        super().__init__()

    def respond(self, method: str, path: str, headers: dict[str, str], body: Any) -> Response:  # noqa: ANN401
        """Keep the body and respond."""
        self.bodies.append(body)
        return super().respond(method, path, headers, body)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """Yield a recorder while the test runs."""
    with closing(Recorder()) as server:
        yield server


def concrete(value: Any) -> Any:  # noqa: ANN401
    """Return a validated value with its lazy parts read."""
    if isinstance(value, dict):
        return {name: concrete(child) for name, child in value.items()}
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return [concrete(child) for child in value]


def fits(body: dict[str, Any], kind: Any) -> None:  # noqa: ANN401
    """Fails unless a body is of a type, with no field that the type does not have, at any depth."""
    pydantic = library("pydantic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert concrete(pydantic.TypeAdapter(kind).validate_python(body)) == body


def checked(backend: str, body: dict[str, Any]) -> None:
    """Fails unless the vendor's library knows a body in every detail."""
    if backend == "anthropic":
        fits(body, library("anthropic.types.message_create_params").MessageCreateParamsNonStreaming)
    elif backend == "openai":
        fits(body, library("openai.types.chat.completion_create_params").CompletionCreateParamsNonStreaming)
    else:
        types = library("google.genai.types")
        assert set(body) == {"systemInstruction", "contents", "generationConfig"}
        types.Content.model_validate(body["systemInstruction"])
        for content in body["contents"]:
            types.Content.model_validate(content)
        config = types.GenerationConfig.model_validate(body["generationConfig"])
        assert config.model_dump(by_alias=True, exclude_none=True, mode="json") == body["generationConfig"]


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("backend", DEFAULTS)
def test_a_request_is_of_the_vendors_type(
    make_bench: MakeBench, recorder: Recorder, name: str, backend: str
) -> None:
    bench = judged(make_bench, backend, recorder.url, model_for(name, backend))
    assert bench.asker().ask(QUESTIONS[name], Deadline(20)).failure == ""
    (body,) = recorder.bodies
    checked(backend, body)


@pytest.mark.parametrize(("backend", "model"), MODELS)
def test_a_request_to_any_listed_model_is_of_the_vendors_type(
    make_bench: MakeBench, recorder: Recorder, backend: str, model: str
) -> None:
    judged(make_bench, backend, recorder.url, model).asker().ask(QUESTIONS["relevance"], Deadline(20))
    checked(backend, recorder.bodies[0])


@pytest.mark.parametrize("backend", DEFAULTS)
def test_a_field_that_no_vendor_knows_is_found(backend: str) -> None:
    bodies: dict[str, dict[str, Any]] = {
        "anthropic": {
            "model": "m",
            "max_tokens": 1,
            "messages": [{"role": "user", "content": "x", "novel": 1}],
        },
        "openai": {
            "model": "m",
            "messages": [{"role": "user", "content": "x"}],
            "response_format": {"type": "xml"},
        },
        "gemini": {"systemInstruction": {}, "contents": [], "generationConfig": {"maxTokens": 5}},
    }
    library({"anthropic": "anthropic", "openai": "openai", "gemini": "google.genai"}[backend])
    with pytest.raises((AssertionError, ValueError)):
        checked(backend, bodies[backend])
