"""Chat completions: `POST {base}/chat/completions`, the API of OpenAI, OpenRouter, Ollama, vLLM and llama.cpp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..calls import ApiFormat, ModelText, exchange, token_count, value_at
from ..credentials import Endpoint
from ..errors import JudgeError
from ..models import EFFORT, SCHEMA, TOKENS

if TYPE_CHECKING:
    from ...clock import Deadline
    from ..calls import CallOutcome, JudgeCall
    from ..models import RequestOptions
    from ..question import Question

_BEARER = "authorization: Bearer %s"

ENDPOINT = Endpoint(
    base="https://api.openai.com/v1",
    base_variable="OPENAI_BASE_URL",
    keys=(("OPENAI_API_KEY", _BEARER),),
    custom=_BEARER,
    local_without_key=True,  # most servers on this machine need none
)
_FAILURES = {"length": "truncated", "content_filter": "refused"}
# The words that the errors of its many servers use for the parts of a request.
_NAMES = (
    ("reasoning", (EFFORT,)),
    ("think", (EFFORT,)),
    ("response_format", (SCHEMA,)),
    ("schema", (SCHEMA,)),
    ("max_tokens", (TOKENS,)),
    ("max_completion_tokens", (TOKENS,)),
)
_MAX_NAME = 64


def _body(question: Question, model: str, options: RequestOptions) -> dict[str, Any]:
    rubric = question.rubric
    messages = [{"role": "system", "content": rubric.system}, {"role": "user", "content": question.message}]
    body: dict[str, Any] = {
        "model": model,
        "messages": messages,
        options.tokens_field: options.max_tokens(question),
    }
    if options.effort is not None:
        body["reasoning_effort"] = options.effort
    if options.structured:
        schema = {"name": _schema_name(rubric.id), "strict": True, "schema": dict(rubric.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _schema_name(identity: str) -> str:
    """Return a valid schema name for a rubric's id: letters, digits, `_` and `-`, at most 64 characters."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in identity)
    return name[:_MAX_NAME] or "reply"


def _read(payload: dict[str, Any]) -> ModelText:
    choice = value_at(payload, "choices", 0)
    message = value_at(choice, "message")
    if not isinstance(message, dict):
        raise JudgeError("parse_error", "the response holds no message")
    failure = _FAILURES.get(str(value_at(choice, "finish_reason")), "")
    if message.get("refusal"):
        failure = "refused"
    tokens = [token_count(value_at(payload, "usage", kind + "_tokens")) for kind in ("prompt", "completion")]
    text = message.get("content")
    return ModelText(text if isinstance(text, str) else "", failure, tokens[0], tokens[1])


_FORMAT = ApiFormat(lambda _model: "/chat/completions", (), _body, _read, _NAMES)


def answer(call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Answer a call by filling in its outcome. Raises JudgeError."""
    exchange(_FORMAT, call, deadline, outcome)
