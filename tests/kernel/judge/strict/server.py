"""A server on loopback that is as strict as the vendors: single calls of three vendors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from tests.json_server import JsonServer, Response
from tests.kernel.judge.strict import vendors
from tests.kernel.judge.strict.vendors import Body, Refusal

Chat = Callable[[Body, dict[str, str]], Body]


class StrictServer(JsonServer):
    """`url` is its address; `refused` holds every refusal, `answered` every answer.

    `chat` answers chat completions: as OpenAI, unless told otherwise.  `unknown` names a field that the server does not know at all,
    whatever the model: what a gateway or an older server does.  `text` takes the place of every answer's text.
    """

    def __init__(self, chat: Chat = vendors.openai, unknown: str = "", text: str = "") -> None:
        self.refused: list[Body] = []
        self.answered: list[Body] = []
        self._chat = chat
        self._unknown = unknown
        self._text = text
        super().__init__()

    def respond(self, method: str, path: str, headers: dict[str, str], body: Any) -> Response:  # noqa: ANN401, ARG002 (JSON; every server has it)
        """Return the vendor's answer, or its refusal."""
        try:
            return 200, self._answer(path, headers, body), {}
        except Refusal as refusal:
            self.refused.append(refusal.body)
            return refusal.status, refusal.body, {}

    def _answer(self, path: str, headers: dict[str, str], body: Any) -> Body:  # noqa: ANN401
        if self._unknown and '"%s"' % self._unknown in json.dumps(body):
            raise self._does_not_know(path)
        if path == "/v1/messages":
            return self._kept(vendors.anthropic(body, headers))
        if path == "/v1/chat/completions":
            return self._kept(self._chat(body, headers))
        model, _, verb = unquote(path.removeprefix("/v1beta/models/")).partition(":")
        assert verb == "generateContent", path
        return self._kept(vendors.gemini(model, body, headers))

    def _does_not_know(self, path: str) -> Refusal:
        if path == "/v1/messages":
            return Refusal(
                400,
                {
                    "type": "error",
                    "error": {
                        "type": "invalid_request_error",
                        "message": "%s: Extra inputs are not permitted" % self._unknown,
                    },
                },
            )
        if path == "/v1/chat/completions":
            return Refusal(
                400,
                {
                    "error": {
                        "message": "Unknown parameter: '%s'." % self._unknown,
                        "param": self._unknown,
                        "code": "unknown_parameter",
                    }
                },
            )
        return Refusal(
            400,
            {"error": {"code": 400, "message": "Unknown name \"%s\" at 'generation_config'" % self._unknown}},
        )

    def _kept(self, answer: Body) -> Body:
        self.answered.append(answer)
        if self._text:
            if "content" in answer:
                answer["content"] = [{"type": "text", "text": self._text}]
            elif "choices" in answer:
                answer["choices"][0]["message"]["content"] = self._text
            else:
                answer["candidates"][0]["content"]["parts"] = [{"text": self._text}]
        return answer
