"""Chat completions: `POST {base}/chat/completions`, as OpenAI, OpenRouter, Ollama, vLLM and llama.cpp have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..access import Door
from ..outcome import Failed
from ..terms import EFFORT, SCHEMA, TOKENS
from ..wire import Form, Text, count, exchange, field

if TYPE_CHECKING:
    from ...clock import Deadline
    from ..outcome import Outcome
    from ..question import Question
    from ..terms import Terms
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


# Words of the errors of its many servers, and the parts of a request that they stand for.
_NAMES = (
    ("reasoning", (EFFORT,)),
    ("think", (EFFORT,)),
    ("response_format", (SCHEMA,)),
    ("schema", (SCHEMA,)),
    ("max_tokens", (TOKENS,)),
    ("max_completion_tokens", (TOKENS,)),
)
_LONGEST_NAME = 64


def _body(question: Question, model: str, terms: Terms) -> dict[str, Any]:
    rubric = question.rubric
    messages = [{"role": "system", "content": rubric.system}, {"role": "user", "content": question.message}]
    body: dict[str, Any] = {
        "model": model,
        "messages": messages,
        terms.tokens_field: terms.most_tokens(question),
    }
    if terms.effort is not None:
        body["reasoning_effort"] = terms.effort
    if terms.structured:
        schema = {"name": _schema_name(rubric.id), "strict": True, "schema": dict(rubric.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _schema_name(identity: str) -> str:
    """Return a rubric's id as a schema may be called: letters, digits, `_` and `-`, at most 64 of them."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in identity)
    return kept[:_LONGEST_NAME] or "reply"


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


_FORM = Form(lambda _model: "/chat/completions", (), _body, _read, _NAMES)


def answer(call: Call, deadline: Deadline, outcome: Outcome) -> None:
    """Fill the outcome of a call. Raises Failed."""
    exchange(_FORM, call, deadline, outcome)
