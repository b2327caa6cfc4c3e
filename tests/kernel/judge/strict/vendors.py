"""What three vendors refuse, and what their models do with the tokens, as their pages said on 2026-11-22.

Written from the vendors' documentation, not from the plugin's table of models: a mistake there must show here.

https://platform.claude.com/docs/en/models/haiku-5-5/migration-guide, .../sonnet-5-5/whats-new-sonnet-5-5, .../opus-5-5/whats-new-opus-5-5
https://developers.openai.com/api/docs/guides/reasoning, .../api-reference/chat/create
https://ai.google.dev/gemini-api/docs/thinking, https://docs.ollama.com/api/openai-compatibility
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from tests.kernel.judge.strict.schemas import problem, reply_to

Body = dict[str, Any]
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
# Tokens that thinking takes by level, more than a small maximum leaves room for.
_THOUGHT = {"none": 0, "minimal": 100, "low": 800, "medium": 2000, "high": 4000, "xhigh": 8000, "max": 16000}
_SCHEMA_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class Refusal(Exception):
    """A status and the vendor's error body."""

    def __init__(self, status: int, body: Body) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


class Claude(NamedTuple):
    """Which `thinking.type` a model takes, what it does without one, whether it takes effort, and its default effort."""

    kinds: tuple[str, ...]
    thinks: bool
    effort: str  # empty: refuses the parameter
    sampling: bool = False


CLAUDE = {
    "claude-haiku-4-5": Claude(("enabled", "disabled"), False, "", True),
    "claude-haiku-4-5-20251001": Claude(("enabled", "disabled"), False, "", True),
    "claude-sonnet-4-5": Claude(("enabled", "disabled"), False, "", True),
    "claude-sonnet-4-6": Claude(("enabled", "disabled", "adaptive"), False, "high", True),
    "claude-opus-4-8": Claude(("disabled", "adaptive"), False, "high"),
    "claude-sonnet-5": Claude(("disabled", "adaptive"), True, "high"),
    "claude-opus-5": Claude(("disabled", "adaptive"), True, "high"),
    "claude-haiku-5-5": Claude(("disabled", "adaptive"), True, "medium"),
    "claude-sonnet-5-5": Claude(("between_tools", "adaptive"), True, "high"),
    "claude-opus-5-5": Claude(("adaptive",), True, "medium"),
    "claude-fable-5-1": Claude(("adaptive",), True, "high"),
}
_CLAUDE_FIELDS = {"model", "max_tokens", "system", "messages", "thinking", "output_config", "temperature", "top_p", "top_k",
                  "metadata", "stop_sequences", "stream", "tools", "tool_choice", "service_tier"}  # fmt: skip

# Accepted efforts, and the default one.  None: no reasoning, and no such parameter.
GPT: dict[str, tuple[tuple[str, ...], str] | None] = {
    "gpt-6-luna": (("none", "low", "medium", "high", "xhigh", "max"), "medium"),
    "gpt-6-sol": (("none", "low", "medium", "high", "xhigh", "max"), "medium"),
    "gpt-6.1-sol": (("low", "medium", "high", "xhigh", "max"), "medium"),
    "gpt-6.1-terra": (("low", "medium", "high", "xhigh", "max"), "medium"),
    "gpt-5.6-luna": (("none", "low", "medium", "high", "xhigh", "max"), "medium"),
    "gpt-5.4-nano": (("none", "low", "medium", "high", "xhigh"), "none"),
    "gpt-5-mini": (("minimal", "low", "medium", "high"), "medium"),
    "gpt-7-unlisted": (("low", "medium", "high"), "medium"),
    "gpt-4o-mini": None,
    "gpt-4.1-mini": None,
}
_GPT_FIELDS = {"model", "messages", "max_tokens", "max_completion_tokens", "reasoning_effort", "response_format", "temperature",
               "top_p", "n", "seed", "stop", "stream", "store", "metadata", "user"}  # fmt: skip

# Accepted levels and the default one, or the accepted budgets.
GEMINI: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "gemini-3.5-flash-lite": ("level", ("MINIMAL", "LOW", "MEDIUM", "HIGH"), "MINIMAL"),
    "gemini-3.5-flash": ("level", ("MINIMAL", "LOW", "MEDIUM", "HIGH"), "MEDIUM"),
    "gemini-3.8-flash": ("level", ("LOW", "MEDIUM", "HIGH"), "MEDIUM"),
    "gemini-3.1-pro-preview": ("level", ("LOW", "MEDIUM", "HIGH"), "HIGH"),
    "gemini-4-argon": ("level", ("LOW", "MEDIUM", "HIGH"), "HIGH"),
    "gemini-2.5-flash-lite": ("budget", (0, 24576), "LOW"),
}


def anthropic(body: Body, headers: dict[str, str]) -> Body:  # noqa: C901 (one check after the other)
    """Return a message for a request to the Messages API. Raises Refusal."""

    def refuse(message: str, status: int = 400, kind: str = "invalid_request_error") -> Refusal:
        return Refusal(
            status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
        )

    if not (headers.get("x-api-key") or headers.get("authorization")):
        raise refuse("x-api-key header is required", 401, "authentication_error")
    if headers.get("anthropic-version") not in ("2023-06-01", "2026-10-21"):
        raise refuse("anthropic-version: header is required")
    for name in sorted(set(body) - _CLAUDE_FIELDS):
        raise refuse("%s: Extra inputs are not permitted" % name)
    model = CLAUDE.get(body.get("model", ""))
    if model is None:
        raise refuse("model: %s" % body.get("model"), 404, "not_found_error")
    max_output, messages = body.get("max_tokens"), body.get("messages")
    if not isinstance(max_output, int) or isinstance(max_output, bool) or not 1 <= max_output <= 64_000:
        raise refuse("max_tokens: Input should be a valid integer from 1 to 64000")
    if not isinstance(messages, list) or not messages or messages[0].get("role") != "user":
        raise refuse("messages: first message must use the user role")
    if messages[-1].get("role") != "user":
        raise refuse(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    if not model.sampling and {"temperature", "top_p", "top_k"} & set(body):
        raise refuse("`temperature`, `top_p` and `top_k` are not supported for this model")
    output = body.get("output_config", {})
    for name in sorted(set(output) - {"effort", "format"}):
        raise refuse("output_config.%s: Extra inputs are not permitted" % name)
    effort = output.get("effort", model.effort or "high")
    if "effort" in output and (not model.effort or effort not in _EFFORTS[2:]):
        raise refuse("output_config.effort: This model does not support the effort parameter.")
    thinking = _claude_thinks(body.get("thinking"), model, effort, refuse)
    schema = output.get("format", {}).get("schema") if "format" in output else None
    if "format" in output:
        complaint = (
            "type must be json_schema"
            if output["format"].get("type") != "json_schema"
            else problem(schema, "anthropic")
        )
        if complaint or set(output["format"]) != {"type", "schema"}:
            raise refuse("output_config.format.schema: Invalid schema: %s" % complaint)
    text, cut = _written(schema, max_output, thinking, more=1.3)
    content: list[Body] = [{"type": "thinking", "thinking": "", "signature": "x"}] if thinking else []
    content += [{"type": "text", "text": text}] if text else []
    spent = min(max_output, thinking + _tokens(text, 1.3))
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
        "stop_reason": "max_tokens" if cut else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": _tokens(json.dumps(body), 1.3), "output_tokens": spent},
    }  # fmt: skip


def _claude_thinks(thinking: Any, model: Claude, effort: str, refuse: Any) -> int:  # noqa: ANN401
    """Return the tokens that the model thinks. Raises Refusal."""
    if thinking is None:
        return _THOUGHT[effort] if model.thinks else 0
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in model.kinds:
        if kind == "disabled" and "between_tools" in model.kinds:
            raise refuse('To turn thinking off on this model, send "thinking": {"type": "between_tools"}.')
        raise refuse(
            '"thinking.type.%s" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to'
            " control thinking behavior." % kind
        )
    if set(thinking) != {"type"}:
        raise refuse("thinking: Extra inputs are not permitted")
    if kind in ("disabled", "between_tools") and model.effort and effort in ("xhigh", "max"):
        raise refuse("thinking.type.%s requires output_config.effort of high or lower" % kind)
    # Between tools the model writes notes; without tools there are none, and a few tokens are the worst that is assumed here.
    return {"disabled": 0, "between_tools": 300}.get(str(kind), _THOUGHT[effort])


def openai(body: Body, headers: dict[str, str]) -> Body:
    """Return a completion for a request to OpenAI's chat completions. Raises Refusal."""

    def refuse(message: str, param: str | None, code: str | None, status: int = 400) -> Refusal:
        error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
        return Refusal(status, {"error": error})

    if not headers.get("authorization", "").startswith("Bearer "):
        raise refuse("You didn't provide an API key.", None, None, 401)
    for name in sorted(set(body) - _GPT_FIELDS):
        raise refuse("Unrecognized request argument supplied: %s" % name, None, None)
    if body.get("model") not in GPT:
        raise refuse("The model does not exist", None, "model_not_found", 404)
    reasoning = GPT[body["model"]]
    if reasoning is not None and "max_tokens" in body:
        message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        raise refuse(message, "max_tokens", "unsupported_parameter")
    if reasoning is not None and body.get("temperature", 1) != 1:
        raise refuse("Unsupported value: 'temperature'", "temperature", "unsupported_value")
    thinking = 0
    if reasoning is None and "reasoning_effort" in body:
        raise refuse(
            "Unrecognized request argument supplied: reasoning_effort",
            "reasoning_effort",
            "unknown_parameter",
        )
    if reasoning is not None:
        effort = body.get("reasoning_effort", reasoning[1])
        if effort not in reasoning[0]:
            message = "Unsupported value: 'reasoning_effort' does not support '%s' with this model." % effort
            raise refuse(message, "reasoning_effort", "unsupported_value")
        thinking = _THOUGHT[effort]
    schema = _openai_schema(body, refuse)
    max_output: int = body.get("max_completion_tokens") or body.get("max_tokens") or 128_000
    return _completion(body, schema, max_output, thinking)


def _openai_schema(body: Body, refuse: Any) -> Body | None:  # noqa: ANN401
    """Return the schema of the answer. Raises Refusal."""
    form = body.get("response_format")
    if form is None:
        return None
    schema_field = form.get("json_schema", {})
    if form.get("type") != "json_schema" or set(schema_field) - {"name", "schema", "strict", "description"}:
        raise refuse("Invalid value for 'response_format'.", "response_format", "invalid_value")
    if not _SCHEMA_NAME.match(str(schema_field.get("name", ""))):
        message = (
            "Invalid 'response_format.json_schema.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
        )
        raise refuse(message, "response_format.json_schema.name", "invalid_value")
    complaint = problem(schema_field.get("schema"), "openai") if schema_field.get("strict") else ""
    if complaint:
        message = "Invalid schema for response_format '%s': %s" % (schema_field["name"], complaint)
        raise refuse(message, "response_format", None)
    schema: Body = schema_field["schema"]
    return schema


def _completion(body: Body, schema: Body | None, max_output: int, thinking: int) -> Body:
    text, cut = _written(schema, max_output, thinking)
    out = min(max_output, thinking + _tokens(text))
    usage = {"prompt_tokens": _tokens(json.dumps(body)), "completion_tokens": out}
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "length" if cut else "stop"}
    return {
        "id": "c1",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [choice],
        "usage": usage,
    }


def ollama(body: Body, headers: dict[str, str]) -> Body:
    """Return a completion of Ollama: it reads `max_tokens` and `reasoning_effort`, not `max_completion_tokens`. Raises Refusal."""
    del headers
    effort = body.get("reasoning_effort")
    if effort not in (None, "none", "low", "medium", "high"):
        error = {
            "message": "invalid reasoning value: '%s'" % effort,
            "type": "invalid_request_error",
            "param": None,
        }
        raise Refusal(400, {"error": {**error, "code": None}})
    thinks = body["model"].startswith("qwen3") and effort != "none"
    form = body.get("response_format") or {}
    schema = form.get("json_schema", {}).get("schema")
    if "max_tokens" not in body:
        raise AssertionError("an answer of Ollama without max_tokens has no end")
    return _completion(body, schema, body["max_tokens"], 1500 if thinks else 0)


def vllm(body: Body, headers: dict[str, str]) -> Body:
    """Return a completion of a server that checks enumerations strictly and does not know effort `none`. Raises Refusal."""
    if body.get("reasoning_effort") == "none":
        message = "1 validation error: {'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'input': 'none'}"
        raise Refusal(
            400, {"error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}}
        )
    return ollama({**body, "reasoning_effort": "none"}, headers)


def gemini(model: str, body: Body, headers: dict[str, str]) -> Body:
    """Return an answer of generateContent. Raises Refusal."""

    def refuse(message: str, status: int = 400, name: str = "INVALID_ARGUMENT") -> Refusal:
        return Refusal(status, {"error": {"code": status, "message": message, "status": name}})

    if not headers.get("x-goog-api-key"):
        raise refuse("Method doesn't allow unregistered callers.", 403, "PERMISSION_DENIED")
    if model not in GEMINI:
        raise refuse("models/%s is not found for API version v1beta" % model, 404, "NOT_FOUND")
    known_fields = {
        "contents",
        "systemInstruction",
        "generationConfig",
        "safetySettings",
        "tools",
        "toolConfig",
        "cachedContent",
    }
    for name in sorted(set(body) - known_fields):
        raise refuse('Invalid JSON payload received. Unknown name "%s": Cannot find field.' % name)
    if [turn.get("role") for turn in body["contents"]][-1] != "user":
        raise refuse("The last turn must be the user's")
    config = body.get("generationConfig", {})
    known_fields = {
        "maxOutputTokens",
        "responseMimeType",
        "responseJsonSchema",
        "responseSchema",
        "thinkingConfig",
        "temperature",
        "seed",
    }
    for name in sorted(set(config) - known_fields):
        raise refuse(
            "Invalid JSON payload received. Unknown name \"%s\" at 'generation_config': Cannot find field."
            % name
        )
    schema = config.get("responseJsonSchema")
    if schema is not None and config.get("responseMimeType") != "application/json":
        raise refuse("response_json_schema requires response_mime_type application/json")
    complaint = problem(schema, "gemini") if schema is not None else ""
    if complaint:
        raise refuse("Invalid value at 'generation_config.response_json_schema': %s" % complaint)
    thinking = _gemini_thinks(config.get("thinkingConfig", {}), *GEMINI[model], refuse)
    max_output = config.get("maxOutputTokens", 65_536)
    text, cut = _written(schema, max_output, thinking)
    candidate: Body = {
        "finishReason": "MAX_TOKENS" if cut else "STOP",
        "index": 0,
        "content": {"role": "model"},
    }
    if text:
        candidate["content"]["parts"] = [{"text": text}]
    usage = {
        "promptTokenCount": _tokens(json.dumps(body)),
        "candidatesTokenCount": _tokens(text),
        "thoughtsTokenCount": min(max_output, thinking),
    }
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": model}


def _gemini_thinks(schema_field: Body, kind: str, allowed: tuple[Any, ...], default: str, refuse: Any) -> int:  # noqa: ANN401
    """Return the tokens that the model thinks. Raises Refusal."""
    if set(schema_field) - {"thinkingLevel", "thinkingBudget", "includeThoughts"} or len(schema_field) > 1:
        raise refuse("thinking_config: only one of thinking_level and thinking_budget may be set")
    if kind == "level":
        if schema_field.get("thinkingBudget") == 0:
            raise refuse("Budget 0 is invalid. This model only works in thinking mode.")
        level = schema_field.get("thinkingLevel", default)
        if level not in allowed:
            raise refuse("Thinking level %s is not supported for this model." % level)
        return _THOUGHT[level.lower()]
    if "thinkingLevel" in schema_field:
        raise refuse("Thinking level is not supported for this model.")
    budget = schema_field.get("thinkingBudget", -1)
    if budget != -1 and not allowed[0] <= budget <= allowed[1]:
        raise refuse("The thinking budget %s is invalid." % budget)
    return _THOUGHT[default.lower()] if budget == -1 else int(budget)


def _tokens(text: str, more: float = 1.0) -> int:
    return int(len(text) / 4 * more) + 1


def _written(schema: Body | None, max_output: int, thinking: int, more: float = 1.0) -> tuple[str, bool]:
    """Return the answer's text as far as the tokens last, and whether they did not."""
    text = json.dumps(reply_to(schema)) if schema is not None else "Sure! Here is what you asked for: {}"
    room = max_output - thinking
    if room >= _tokens(text, more):
        return text, False
    return (text[: max(0, int(room * 4 / more))] if room > 0 else ""), True
