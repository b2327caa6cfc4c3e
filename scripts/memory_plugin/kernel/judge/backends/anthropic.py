"""The Messages API: `POST {base}/v1/messages`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..calls import ApiFormat, ModelText, exchange, token_count, value_at
from ..credentials import Endpoint
from ..errors import JudgeError
from ..models import EFFORT, SCHEMA, THINKING

if TYPE_CHECKING:
    from ...clock import Deadline
    from ..calls import CallOutcome, JudgeCall
    from ..models import RequestOptions
    from ..question import Question

_KEY, _BEARER = "x-api-key: %s", "authorization: Bearer %s"

# The client's own order: a gateway's token takes precedence over a key.
ENDPOINT = Endpoint(
    base="https://api.anthropic.com",
    base_variable="ANTHROPIC_BASE_URL",
    keys=(("ANTHROPIC_AUTH_TOKEN", _BEARER), ("ANTHROPIC_API_KEY", _KEY)),
    custom=_KEY,
    helper=(_KEY, _BEARER),
    headers_variable="ANTHROPIC_CUSTOM_HEADERS",
)
_FAILURES = {"refusal": "refused", "max_tokens": "truncated", "model_context_window_exceeded": "truncated"}
# The words that its errors use for the parts of a request.
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


def _body(question: Question, model: str, options: RequestOptions) -> dict[str, Any]:
    """Return the body of a request, without temperature, prefill and thinking budget, which newer models reject."""
    rubric = question.rubric
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": options.max_tokens(question),
        "system": rubric.system,
        "messages": [{"role": "user", "content": question.message}],
    }
    if options.thinking is not None:
        body["thinking"] = dict(options.thinking)
    output: dict[str, Any] = {}
    if options.effort is not None:
        output["effort"] = options.effort
    if options.structured:
        output["format"] = {"type": "json_schema", "schema": dict(rubric.schema)}
    if output:
        body["output_config"] = output
    return body


def _read(payload: dict[str, Any]) -> ModelText:
    blocks = payload.get("content")
    if payload.get("type") != "message" or not isinstance(blocks, list):
        raise JudgeError("parse_error", "the response is not a message")
    texts = [str(value_at(block, "text") or "") for block in blocks if value_at(block, "type") == "text"]
    failure = _FAILURES.get(str(payload.get("stop_reason")), "")
    uncached, created, read, tokens_out = (
        token_count(value_at(payload, "usage", name + "_tokens"))
        for name in ("input", "cache_creation_input", "cache_read_input", "output")
    )
    tokens_in = None if uncached is None else uncached + (created or 0) + (read or 0)
    return ModelText("\n".join(texts), failure, tokens_in, tokens_out)


FORMAT = ApiFormat(
    lambda _model: "/v1/messages", (("anthropic-version", "2023-06-01"),), _body, _read, _NAMES
)


def answer(call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Answer a call by filling in its outcome. Raises JudgeError."""
    exchange(FORMAT, call, deadline, outcome)
