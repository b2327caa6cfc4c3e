"""The Messages API: `POST {base}/v1/messages`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..access import Door
from ..outcome import Failed
from ..terms import EFFORT, SCHEMA, THINKING
from ..wire import Form, Text, count, exchange, field

if TYPE_CHECKING:
    from ...clock import Deadline
    from ..outcome import Outcome
    from ..question import Question
    from ..terms import Terms
    from ..wire import Call

__all__ = ["DOOR", "FORM", "answer"]

_KEY, _BEARER = "x-api-key: %s", "authorization: Bearer %s"

# The client's own order: a token for a gateway goes before a key.
DOOR = Door(
    base="https://api.anthropic.com",
    base_variable="ANTHROPIC_BASE_URL",
    keys=(("ANTHROPIC_AUTH_TOKEN", _BEARER), ("ANTHROPIC_API_KEY", _KEY)),
    custom=_KEY,
    helper=(_KEY, _BEARER),
    headers_variable="ANTHROPIC_CUSTOM_HEADERS",
)
_FAILURES = {"refusal": "refused", "max_tokens": "truncated", "model_context_window_exceeded": "truncated"}


# Words of its errors, and the parts of a request that they stand for.
_NAMES = (
    ("thinking", (THINKING,)),
    ("output_config", (EFFORT, SCHEMA)),
    ("output_config.effort", (EFFORT,)),
    ("effort", (EFFORT,)),
    ("output_config.format", (SCHEMA,)),
    ("output_format", (SCHEMA,)),
    ("schema", (SCHEMA,)),
    ("structured output", (SCHEMA,)),
)


def _body(question: Question, model: str, terms: Terms) -> dict[str, Any]:
    """Return a request without temperature, prefill and thinking budget: newer models refuse them."""
    rubric = question.rubric
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": terms.most_tokens(question),
        "system": rubric.system,
        "messages": [{"role": "user", "content": question.message}],
    }
    if terms.thinking is not None:
        body["thinking"] = dict(terms.thinking)
    output: dict[str, Any] = {}
    if terms.effort is not None:
        output["effort"] = terms.effort
    if terms.structured:
        output["format"] = {"type": "json_schema", "schema": dict(rubric.schema)}
    if output:
        body["output_config"] = output
    return body


def _read(payload: dict[str, Any]) -> Text:
    blocks = payload.get("content")
    if payload.get("type") != "message" or not isinstance(blocks, list):
        raise Failed("parse_error", "the answer is no message")
    texts = [str(field(block, "text") or "") for block in blocks if field(block, "type") == "text"]
    failure = _FAILURES.get(str(payload.get("stop_reason")), "")
    cached = (count(field(payload, "usage", "cache_%s_input_tokens" % kind)) for kind in ("creation", "read"))
    given = count(field(payload, "usage", "input_tokens"))
    tokens_in = None if given is None else given + sum(tokens or 0 for tokens in cached)
    return Text("\n".join(texts), failure, tokens_in, count(field(payload, "usage", "output_tokens")))


FORM = Form(lambda _model: "/v1/messages", (("anthropic-version", "2023-06-01"),), _body, _read, _NAMES)


def answer(call: Call, deadline: Deadline, outcome: Outcome) -> None:
    """Fill the outcome of a call. Raises Failed."""
    exchange(FORM, call, deadline, outcome)
