"""generateContent: `POST {base}/v1beta/models/{model}:generateContent`; the key goes into a header, never into the URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..calls import ApiFormat, ModelText, exchange, token_count, value_at
from ..credentials import Endpoint
from ..errors import JudgeError
from ..models import SCHEMA, THINKING

if TYPE_CHECKING:
    from ...clock import Deadline
    from ..calls import CallOutcome, JudgeCall
    from ..models import RequestOptions
    from ..question import Question

_KEY = "x-goog-api-key: %s"

ENDPOINT = Endpoint(
    base="https://generativelanguage.googleapis.com",
    base_variable="GOOGLE_GEMINI_BASE_URL",
    keys=(("GOOGLE_API_KEY", _KEY), ("GEMINI_API_KEY", _KEY)),  # the order of the vendor's own library
    custom=_KEY,
)
_TRUNCATED = "MAX_TOKENS"
_REFUSED = frozenset(["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"])


def _path(model: str) -> str:
    return "/v1beta/models/%s:generateContent" % quote(model.removeprefix("models/"), safe="")


# The words that its errors use for the parts of a request.
_NAMES = (
    ("thinking", (THINKING,)),
    ("budget", (THINKING,)),
    ("responsejsonschema", (SCHEMA,)),
    ("response_json_schema", (SCHEMA,)),
    ("responsemimetype", (SCHEMA,)),
    ("response_mime_type", (SCHEMA,)),
    ("json mode", (SCHEMA,)),
    ("schema", (SCHEMA,)),
)


def _body(question: Question, model: str, options: RequestOptions) -> dict[str, Any]:  # noqa: ARG001 (the model is in the path)
    rubric = question.rubric
    config: dict[str, Any] = {"maxOutputTokens": options.max_tokens(question)}
    if options.structured:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = dict(rubric.schema)
    if options.thinking is not None:
        config["thinkingConfig"] = dict(options.thinking)
    return {
        "systemInstruction": {"parts": [{"text": rubric.system}]},
        "contents": [{"role": "user", "parts": [{"text": question.message}]}],
        "generationConfig": config,
    }


def _read(payload: dict[str, Any]) -> ModelText:
    usage = payload.get("usageMetadata")
    out = [token_count(value_at(usage, kind)) for kind in ("candidatesTokenCount", "thoughtsTokenCount")]
    tokens_out = None if out == [None, None] else sum(tokens or 0 for tokens in out)
    tokens_in = token_count(value_at(usage, "promptTokenCount"))
    reason = str(value_at(payload, "candidates", 0, "finishReason"))
    if value_at(payload, "promptFeedback", "blockReason") or reason in _REFUSED:
        return ModelText("", "refused", tokens_in, tokens_out)
    parts = value_at(payload, "candidates", 0, "content", "parts")
    if not isinstance(parts, list) and reason != _TRUNCATED:
        raise JudgeError("parse_error", "the response holds no text")
    texts = [str(value_at(part, "text") or "") for part in parts or () if not value_at(part, "thought")]
    return ModelText("".join(texts), "truncated" if reason == _TRUNCATED else "", tokens_in, tokens_out)


_FORMAT = ApiFormat(_path, (), _body, _read, _NAMES)


def answer(call: JudgeCall, deadline: Deadline, outcome: CallOutcome) -> None:
    """Answer a call by filling in its outcome. Raises JudgeError."""
    exchange(_FORMAT, call, deadline, outcome)
