"""Chat completions: `POST {base}/chat/completions`, as OpenAI, OpenRouter, Ollama, vLLM and llama.cpp have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..access import Door
from ..outcome import Failed
from ..wire import Form, Text, count, exchange, field

if TYPE_CHECKING:
    from ...clock import Deadline
    from ..outcome import Outcome
    from ..question import Question
    from ..wire import Call

__all__ = ["DOOR", "answer"]

_BEARER = "authorization: Bearer %s"

DOOR = Door(
    base="https://api.openai.com/v1",
    base_variable="OPENAI_BASE_URL",
    keys=(("OPENAI_API_KEY", _BEARER),),
    custom=_BEARER,
    local_without_key=True,  # a server on this machine mostly asks for none
)
_FAILURES = {"length": "truncated", "content_filter": "refused"}


def _body(question: Question, model: str, most: int, plain: bool) -> dict[str, Any]:
    """The plain form is the old one: `max_tokens`, which new models refuse and old servers know alone."""
    rubric = question.rubric
    messages = [{"role": "system", "content": rubric.system}, {"role": "user", "content": question.message}]
    if plain:
        return {"model": model, "messages": messages, "max_tokens": most}
    schema = {"name": rubric.id, "strict": True, "schema": dict(rubric.schema)}
    return {
        "model": model,
        "messages": messages,
        "max_completion_tokens": most,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }


def _read(payload: dict[str, Any]) -> Text:
    choice = field(payload, "choices", 0)
    message = field(choice, "message")
    if not isinstance(message, dict):
        raise Failed("parse_error", "the answer holds no message")
    failure = _FAILURES.get(str(field(choice, "finish_reason")), "")
    if message.get("refusal"):
        failure = "refused"
    tokens = [count(field(payload, "usage", kind + "_tokens")) for kind in ("prompt", "completion")]
    text = message.get("content")
    return Text(text if isinstance(text, str) else "", failure, tokens[0], tokens[1])


_FORM = Form(lambda _model: "/chat/completions", (), _body, _read)


def answer(call: Call, deadline: Deadline, outcome: Outcome) -> None:
    """Fill the outcome of a call. Raises Failed."""
    exchange(_FORM, call, deadline, outcome)
