"""The APIs through which models are asked: for each vendor its address, the form of a request, and how a response is read.

To add one, add it to `VENDORS`, a family with an empty prefix to `config/judges/models.json`, and its name to the choices of
`judge.backend` in `config/settings.schema.json`. `host` asks through Claude Code, and `scripted` answers from a file; they need no vendor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..fastjson import as_integer, as_text
from .models import Family
from .question import JudgeError, Question, Verdict, value_at

Body = dict[str, Any]
Header = tuple[str, str]  # its name and its value

HOST, SCRIPTED = "host", "scripted"
_PORTS = {"https": 443, "http": 80}
_MAX_URL = 2000  # characters
_KEY, _BEARER, _GOOGLE_KEY = ("x-api-key", "%s"), ("authorization", "Bearer %s"), ("x-goog-api-key", "%s")


class Address(NamedTuple):
    """A server, with the path prefix of all requests."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def local(self) -> bool:
        """Return whether the server is this machine."""
        numbers = self.host.split(".")
        v4 = len(numbers) == 4 and numbers[0] == "127" and all(n.isdigit() and int(n) < 256 for n in numbers)
        return v4 or self.host in ("localhost", "::1")

    @property
    def authority(self) -> str:
        """Return host and port as in a Host header."""
        host = "[%s]" % self.host if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else "%s:%d" % (host, self.port)


class Vendor(NamedTuple):
    """One vendor's API: its public address, the variable that overrides it, the variables that may hold a key, and its forms.

    `path` holds `%s` if the model is part of it. `keys` maps a variable to the header for its value (`%s`); the first variable that is set
    is used, and the variable in `judge.key_variable` has the last header. `helper` are the headers for a key from `apiKeyHelper`.
    `headers_variable` holds headers of the user's own. `body` builds a request; `read` fills in the text, the tokens that a response
    states, and the failure that it reports, and raises JudgeError `parse_error` for a response of another shape.
    """

    base: str
    path: str
    base_variable: str
    keys: Sequence[tuple[str, Header]]
    body: Callable[[Question, str, Family], Body]
    read: Callable[[Body, Verdict], None]
    headers: Sequence[Header] = ()
    local_without_key: bool = False
    helper: Sequence[Header] = ()
    headers_variable: str = ""


def _filled(fields: Body) -> Body:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value}


def _anthropic_body(question: Question, model: str, family: Family) -> Body:
    """Return the body of a request, without temperature, prefill and thinking budget, which newer models reject."""
    form = {"type": "json_schema", "schema": question.rubric.schema} if family.schema else None
    body: Body = {
        "model": model,
        "max_tokens": family.max_tokens(question),
        "system": question.rubric.system,
        "messages": [{"role": "user", "content": question.message}],
        "thinking": family.thinking,
        "output_config": _filled({"effort": family.effort, "format": form}),
    }
    return _filled(body)


_ANTHROPIC_STOPS = {
    "refusal": "refused", "max_tokens": "truncated", "model_context_window_exceeded": "truncated",
}  # fmt: skip


def _read_anthropic(payload: Body, verdict: Verdict) -> None:
    blocks = payload.get("content")
    if payload.get("type") != "message" or not isinstance(blocks, list):
        raise JudgeError("parse_error", "the response is not a message")
    texts = [str(value_at(block, "text") or "") for block in blocks if value_at(block, "type") == "text"]
    verdict.text = "\n".join(texts)
    verdict.failure = _ANTHROPIC_STOPS.get(str(payload.get("stop_reason")), "")
    verdict.tokens_in, verdict.tokens_out = anthropic_tokens(payload.get("usage"))


def anthropic_tokens(usage: object) -> tuple[int | None, int | None]:
    """Return the tokens in and out of a message's usage; None for what it does not state."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    uncached, created, read, tokens_out = (_tokens(value_at(usage, name)) for name in names)
    return None if uncached is None else uncached + (created or 0) + (read or 0), tokens_out


def _openai_body(question: Question, model: str, family: Family) -> Body:
    rubric = question.rubric
    schema = {"name": "reply", "strict": True, "schema": rubric.schema}
    body: Body = {
        "model": model,
        "messages": [
            {"role": "system", "content": rubric.system},
            {"role": "user", "content": question.message},
        ],
        family.tokens: family.max_tokens(question),
        "reasoning_effort": family.effort,
        "response_format": {"type": "json_schema", "json_schema": schema} if family.schema else None,
    }
    return _filled(body)


def _read_openai(payload: Body, verdict: Verdict) -> None:
    choice = value_at(payload, "choices", 0)
    message = value_at(choice, "message")
    if not isinstance(message, dict):
        raise JudgeError("parse_error", "the response holds no message")
    stops = {"length": "truncated", "content_filter": "refused"}
    stop = stops.get(str(value_at(choice, "finish_reason")), "")
    verdict.text = as_text(message.get("content"))
    verdict.failure = "refused" if message.get("refusal") else stop
    tokens = (_tokens(value_at(payload, "usage", kind + "_tokens")) for kind in ("prompt", "completion"))
    verdict.tokens_in, verdict.tokens_out = tokens


def _gemini_body(question: Question, model: str, family: Family) -> Body:  # noqa: ARG001 (the model is in the path)
    config: Body = {
        "maxOutputTokens": family.max_tokens(question),
        "responseMimeType": "application/json" if family.schema else "",
        "responseJsonSchema": question.rubric.schema if family.schema else None,
        "thinkingConfig": family.thinking,
    }
    return {
        "systemInstruction": {"parts": [{"text": question.rubric.system}]},
        "contents": [{"role": "user", "parts": [{"text": question.message}]}],
        "generationConfig": _filled(config),
    }


_GEMINI_REFUSALS = frozenset(["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"])


def _read_gemini(payload: Body, verdict: Verdict) -> None:
    usage, reason = payload.get("usageMetadata"), str(value_at(payload, "candidates", 0, "finishReason"))
    out = [_tokens(value_at(usage, kind)) for kind in ("candidatesTokenCount", "thoughtsTokenCount")]
    verdict.tokens_out = None if out == [None, None] else sum(tokens or 0 for tokens in out)
    verdict.tokens_in = _tokens(value_at(usage, "promptTokenCount"))
    verdict.failure = "truncated" if reason == "MAX_TOKENS" else ""
    if value_at(payload, "promptFeedback", "blockReason") or reason in _GEMINI_REFUSALS:
        verdict.failure = "refused"
    parts = value_at(payload, "candidates", 0, "content", "parts")
    if not isinstance(parts, list) and not verdict.failure:
        raise JudgeError("parse_error", "the response holds no text")
    texts = [str(value_at(part, "text") or "") for part in parts or () if not value_at(part, "thought")]
    verdict.text = "".join(texts)


def _tokens(value: object) -> int | None:
    """Return a number of tokens; None for any other value."""
    tokens = as_integer(value)
    return tokens if tokens is not None and 0 <= tokens < 1 << 40 else None


VENDORS = {
    "anthropic": Vendor(
        base="https://api.anthropic.com",
        path="/v1/messages",
        base_variable="ANTHROPIC_BASE_URL",
        # Claude Code's order: a gateway's token takes precedence over a key.
        keys=(("ANTHROPIC_AUTH_TOKEN", _BEARER), ("ANTHROPIC_API_KEY", _KEY)),
        body=_anthropic_body,
        read=_read_anthropic,
        headers=(("anthropic-version", "2023-06-01"),),
        helper=(_KEY, _BEARER),
        headers_variable="ANTHROPIC_CUSTOM_HEADERS",
    ),
    # Chat completions: also of OpenRouter, Ollama, vLLM and llama.cpp.
    "openai": Vendor(
        base="https://api.openai.com/v1",
        path="/chat/completions",
        base_variable="OPENAI_BASE_URL",
        keys=(("OPENAI_API_KEY", _BEARER),),
        body=_openai_body,
        read=_read_openai,
        local_without_key=True,  # most servers on this machine need none
    ),
    "gemini": Vendor(
        base="https://generativelanguage.googleapis.com",
        path="/v1beta/models/%s:generateContent",
        base_variable="GOOGLE_GEMINI_BASE_URL",
        # The order of the vendor's own library.
        keys=(("GOOGLE_API_KEY", _GOOGLE_KEY), ("GEMINI_API_KEY", _GOOGLE_KEY)),
        body=_gemini_body,
        read=_read_gemini,
    ),
}
BACKENDS = (*VENDORS, HOST, SCRIPTED)


def parse_address(url: str) -> Address | None:
    """Return the address in a URL, or None unless it is `https://`, or `http://` to this machine, without user and query."""
    address = split_url(url) if "@" not in url else None
    return address if address is not None and (address.scheme == "https" or address.local) else None


def split_url(url: str) -> Address | None:
    """Return the address in any URL; None if it has none."""
    if len(url) > _MAX_URL or not (url.isascii() and url.isprintable()) or any(c in url for c in ' \\?#"<>'):
        return None
    try:
        parts = urlsplit(url)
        port = _PORTS.get(parts.scheme, 0) if parts.port is None else parts.port
    except ValueError:  # a port that is no number, brackets that are not closed
        return None
    if parts.scheme not in _PORTS or not parts.hostname or not port:
        return None
    return Address(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))
