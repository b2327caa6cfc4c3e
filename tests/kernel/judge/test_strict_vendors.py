"""Every question to every vendor in every format, by a server as strict as theirs: nothing is refused, cut off or empty."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.judge.question import read_reply
from memory_plugin.kernel.paths import data_path
from tests.kernel.judge.bench import Bench
from tests.kernel.judge.strict import vendors
from tests.kernel.judge.strict.plugin_questions import QUESTIONS
from tests.kernel.judge.strict.schemas import problem, reply_to
from tests.kernel.judge.strict.server import StrictServer
from tests.kernel.judge.strict.vendors import Refusal

MakeBench = Callable[..., Bench]
DEFAULTS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna", "gemini": "gemini-3.5-flash-lite"}
BASE = {"anthropic": "", "openai": "/v1", "gemini": ""}
CAPS = {"session_usd": 50, "day_usd": 100}
# The field of structured output, which a server may not know.
STRUCTURE = {"anthropic": "output_config", "openai": "response_format", "gemini": "responseJsonSchema"}
SESSIONS = "claude-sonnet-5-5"


def model_for(name: str, backend: str) -> str:
    """Return the default model of a question at a vendor."""
    return SESSIONS if (name, backend) == ("sessions/score", "anthropic") else DEFAULTS[backend]


def judged(make_bench: MakeBench, backend: str, url: str, model: str) -> Bench:
    """Return a bench whose judge is that model at a server."""
    bench = make_bench(backend, url + BASE[backend], caps=CAPS)
    bench.retrieval["model"] = model
    return bench


def test_every_rubric_is_asked_here() -> None:
    found = []
    for folder, _, names in os.walk(data_path("judges", "rubrics")):
        found += [
            os.path.relpath(os.path.join(folder, name[:-5]), data_path("judges", "rubrics")) for name in names
        ]
    assert set(found) <= set(QUESTIONS)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("vendor", DEFAULTS)
def test_a_schema_is_one_that_the_vendor_takes(name: str, vendor: str) -> None:
    schema = dict(QUESTIONS[name].rubric.schema)
    assert problem(schema, vendor) == ""
    for nulls in (False, True):
        assert read_reply(json.dumps(reply_to(schema, nulls=nulls)), QUESTIONS[name].read) is not None


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("backend", DEFAULTS)
def test_a_single_call(make_bench: MakeBench, name: str, backend: str) -> None:
    with closing(StrictServer()) as server:
        bench = judged(make_bench, backend, server.url, model_for(name, backend))
        verdict = bench.asker().ask(QUESTIONS[name], Deadline(20))
        assert (server.refused, verdict.failure) == ([], "")
    assert verdict.values
    assert verdict.cost is not None


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("backend", DEFAULTS)
def test_a_server_that_knows_no_structured_output(make_bench: MakeBench, name: str, backend: str) -> None:
    """The second request leaves out what was named, and nothing else: the model still does not think, or has room for it."""
    text = "Here it is:\n```json\n%s\n```" % json.dumps(reply_to(dict(QUESTIONS[name].rubric.schema)))
    with closing(StrictServer(unknown=STRUCTURE[backend], text=text)) as server:
        bench = judged(make_bench, backend, server.url, model_for(name, backend))
        verdict = bench.asker().ask(QUESTIONS[name], Deadline(20))
        assert (len(server.refused), verdict.failure) == (1, "")
        assert all("max_tokens" not in json.dumps(answer).lower() for answer in server.answered)
    assert verdict.values


MODELS = [
    *(("anthropic", model) for model in vendors.CLAUDE),
    *(("openai", model) for model in vendors.GPT),
    *(("gemini", model) for model in vendors.GEMINI),
]


@pytest.mark.parametrize(("backend", "model"), MODELS)
@pytest.mark.parametrize("name", ["check", "relevance", "replies/grade", "evaluate-honesty"])
@pytest.mark.slow
def test_every_model_that_the_vendors_list(
    make_bench: MakeBench, backend: str, model: str, name: str
) -> None:
    with closing(StrictServer()) as server:
        verdict = judged(make_bench, backend, server.url, model).asker().ask(QUESTIONS[name], Deadline(20))
        assert (server.refused, verdict.failure) == ([], "")
    assert verdict.values


@pytest.mark.parametrize(
    ("name", "model"),
    [*((name, "gemma3:4b") for name in QUESTIONS), ("relevance", "qwen3:4b"), ("relevance", "llama3.2:3b")],
)
@pytest.mark.parametrize("chat", [vendors.ollama, vendors.vllm])
def test_a_model_on_this_machine(
    make_bench: MakeBench, name: str, model: str, chat: Callable[..., Any]
) -> None:
    with closing(StrictServer(chat=chat)) as server:
        bench = judged(make_bench, "openai", server.url, model)
        bench.env = {}
        verdict = bench.asker().ask(QUESTIONS[name], Deadline(20))
        assert verdict.failure == ""
        assert len(server.refused) == (model.startswith("qwen3") and chat is vendors.vllm)
    assert verdict.values


MESSAGE = {"model": "claude-haiku-5-5", "max_tokens": 256, "messages": [{"role": "user", "content": "x"}]}
CHAT = {"model": "gpt-6-luna", "messages": [{"role": "user", "content": "x"}], "max_completion_tokens": 256}
CONTENT = {"contents": [{"role": "user", "parts": [{"text": "x"}]}]}
HEADERS = {
    "x-api-key": "k",
    "anthropic-version": "2023-06-01",
    "authorization": "Bearer k",
    "x-goog-api-key": "k",
}
OPEN_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}


def json_schema(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a response format of chat completions."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def level(**config: object) -> dict[str, Any]:
    """Return a request of generateContent with a thinking configuration."""
    return {**CONTENT, "generationConfig": {"thinkingConfig": config}}


# What the plugin sent before, and what else the vendors refuse: the strict server must not take it.
WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "sonnet 5.5 with thinking disabled": ("", {**MESSAGE, "model": SESSIONS, "thinking": {"type": "disabled"}}, "between_tools"),
    "sonnet 5.5 between tools at effort max": (
        "",
        {**MESSAGE, "model": SESSIONS, "thinking": {"type": "between_tools"}, "output_config": {"effort": "max"}},
        "effort",
    ),
    "opus 5.5 with thinking disabled": ("", {**MESSAGE, "model": "claude-opus-5-5", "thinking": {"type": "disabled"}}, "not supported"),
    "haiku 4.5 with effort": ("", {**MESSAGE, "model": "claude-haiku-4-5", "output_config": {"effort": "low"}}, "effort"),
    "haiku 5.5 with a temperature": ("", {**MESSAGE, "temperature": 0}, "temperature"),
    "a prefill": ("", {**MESSAGE, "messages": [*MESSAGE["messages"], {"role": "assistant", "content": "{"}]}, "prefill"),  # type: ignore[misc]
    "max_tokens for a GPT": ("chat", {**CHAT, "max_tokens": 5}, "max_completion_tokens"),
    "effort minimal for luna": ("chat", {**CHAT, "reasoning_effort": "minimal"}, "reasoning_effort"),
    "effort for gpt-4o-mini": ("chat", {**CHAT, "model": "gpt-4o-mini", "reasoning_effort": "none"}, "reasoning_effort"),
    "a slash in a schema's name": ("chat", {**CHAT, "response_format": json_schema("a/b", {})}, "name"),
    "an optional key": ("chat", {**CHAT, "response_format": json_schema("a", OPEN_SCHEMA)}, "required"),
    "no budget for flash-lite": ("gemini-3.5-flash-lite", level(thinkingBudget=0), "Budget 0"),
    "minimal for 3.8": ("gemini-3.8-flash", level(thinkingLevel="MINIMAL"), "Thinking level"),
    "a level for 2.5": ("gemini-2.5-flash-lite", level(thinkingLevel="MINIMAL"), "Thinking level"),
    "both of them": ("gemini-2.5-flash-lite", level(thinkingLevel="LOW", thinkingBudget=0), "only one"),
}  # fmt: skip


def answered(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return what the strict vendor answers."""
    if kind == "":
        return vendors.anthropic(body, HEADERS)
    return vendors.openai(body, HEADERS) if kind == "chat" else vendors.gemini(kind, body, HEADERS)


@pytest.mark.parametrize("name", WRONG)
def test_the_strict_server_is_strict(name: str) -> None:
    kind, body, word = WRONG[name]
    with pytest.raises(Refusal) as refusal:
        answered(kind, body)
    assert refusal.value.status == 400
    assert word in json.dumps(refusal.value.body)


@pytest.mark.parametrize(
    ("kind", "body", "sign"),
    [
        ("", MESSAGE, '"stop_reason": "max_tokens"'),
        ("chat", CHAT, '"finish_reason": "length"'),
        (
            "gemini-3.8-flash",
            {**CONTENT, "generationConfig": {"maxOutputTokens": 256}},
            '"finishReason": "MAX_TOKENS"',
        ),
    ],
)
def test_thinking_that_was_not_switched_off_eats_the_answer(
    kind: str, body: dict[str, Any], sign: str
) -> None:
    text = json.dumps(answered(kind, body))
    assert sign in text
    assert "Sure!" not in text
